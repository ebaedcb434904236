import type { Logger } from 'pino';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import { apiserverMetrics } from '../metrics.ts';
import { pause, type StorageClock, systemStorageClock } from '../storage/clock.ts';
import type { NamedLife } from './certificate-facts.ts';

interface Ending {
  ends(): readonly NamedLife[];
}

export interface CertificateRenewalOptions {
  readonly certificates: Ending & { renewDue(): Promise<readonly string[]> };
  readonly clock?: StorageClock;
  readonly log: Logger;
}

/** Looked at so often, not waited for until it is due: clocks jump, machines sleep and get other addresses. */
const everyMs = 3_600_000;

/** Below this remaining lifetime, a warning is logged once a day. */
const noticedAtRest = 0.1;
const noticeMs = 24 * 3_600_000;

/** When the server's own certificates end, as a metric; the returned function ends that. */
export function measureCertificates(metrics: MetricsRegistry, certificates: Ending): () => void {
  return metrics.read(apiserverMetrics.certificateEnds, () =>
    certificates.ends().map(({ name, endsAt }) => ({ labels: [name], value: endsAt / 1_000 })),
  );
}

/**
 * Renews the server's own certificates before they end, until the signal aborts. Connections that are open stay; what
 * fails is tried again.
 */
export async function runCertificateRenewal(
  { certificates, clock = systemStorageClock, log }: CertificateRenewalOptions,
  signal: AbortSignal,
): Promise<void> {
  let noticedAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    await pause(everyMs, clock, signal);
    if (signal.aborted) return;
    try {
      const renewed = await certificates.renewDue();
      if (renewed.length > 0) log.info({ renewed }, "renewed the server's own certificates");
    } catch (error) {
      log.error({ err: error }, "cannot renew the server's own certificates: trying again in an hour");
    }
    if (clock.now() - noticedAt < noticeMs) continue;
    const ending = describeEnding(certificates.ends(), clock.now());
    if (ending.length === 0) continue;
    noticedAt = clock.now();
    for (const { name, text } of ending) log.warn({ certificate: name }, text);
  }
}

/** Those with less than a tenth of their life left, in words. Pure. */
export function describeEnding(ends: readonly NamedLife[], now: number): { readonly name: string; readonly text: string }[] {
  return ends
    .filter(({ beganAt, endsAt }) => endsAt - now < noticedAtRest * (endsAt - beganAt))
    .map(({ name, endsAt }) => {
      const when = `${endsAt <= now ? 'ended' : 'ends'} on ${new Date(endsAt).toISOString()}`;
      const what = name === 'ca' ? "the cluster's authority" : `the certificate "${name}"`;
      const advice = name === 'ca' ? 'put a new one in its place: berth certs renew --ca' : 'it could not be renewed, see above';
      return { name, text: `${what} ${when}: ${advice}` };
    });
}
