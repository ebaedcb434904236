import type { X509Certificate } from 'node:crypto';

/** How much of its lifetime is left when its user is warned. */
const noticedAtRest = 0.1;

/**
 * What is to be said of a context's own certificate: that it ends soon, or has ended;
 * undefined when there is nothing to say. Pure.
 */
export function certificateNotice(context: string, cert: string | undefined, now: number): string | undefined {
  if (cert === undefined) return undefined;
  const life = lifeOf(cert);
  if (life === undefined) return undefined;
  const { validFrom, validTo } = life;
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  if (to - now > noticedAtRest * (to - from)) return undefined;
  const when = to <= now ? `ended on ${validTo}` : `ends in ${Math.ceil((to - now) / 86_400_000)} days`;
  return `the certificate in the context "${context}" ${when}: "berth up" on the server's machine writes a new one for its administrator, "berth create user" makes one for others`;
}

/** Undefined for what is no certificate: connecting says so. */
function lifeOf(cert: string): Pick<X509Certificate, 'validFrom' | 'validTo'> | undefined {
  try {
    // Loaded here: a command over a local socket does without.
    return new (process.getBuiltinModule('node:crypto').X509Certificate)(cert);
  } catch {
    // See above.
    return undefined;
  }
}
