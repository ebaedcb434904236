import { splitCertificates } from '../../api/meta/authority.ts';
import { type KeyPair, lifeOf, type NamedLife } from './certificate-facts.ts';
import { ensurePair, isFresh, readPair, writePair } from './held-certificates.ts';

const AUTHORITY = 'front-proxy-ca';
const CLIENT = 'front-proxy-client';

/** The name in the certificate, which extension servers are told to accept alone. */
export const frontProxyName = 'front-proxy-client';

export interface FrontProxyOptions {
  readonly dir: string;
  readonly now: () => Date;
}

/**
 * With what the server shows extension servers that it is the one that speaks for users: a client certificate, and an
 * authority that signs nothing else, since what that signs is believed to be any user. The authority before counts on
 * until the next one.
 */
export class FrontProxy {
  readonly #options: FrontProxyOptions;
  #authority: string;
  #pair: KeyPair;
  readonly #observers = new Set<() => void>();

  private constructor(options: FrontProxyOptions, authority: string, pair: KeyPair) {
    this.#options = options;
    this.#authority = authority;
    this.#pair = pair;
  }

  /** Reads what is there; makes what is missing or near its end. The folder must be there. */
  static async open(options: FrontProxyOptions): Promise<FrontProxy> {
    const { authority, pair } = await ensureBoth(options);
    return new FrontProxy(options, authority, pair);
  }

  /** The authorities that extension servers are to believe (PEM), the one that signs first. */
  get authority(): string {
    return this.#authority;
  }

  get pair(): KeyPair {
    return this.#pair;
  }

  /** When each of them ends. */
  ends(): readonly NamedLife[] {
    return [
      { name: AUTHORITY, ...lifeOf(firstOf(this.#authority)) },
      { name: CLIENT, ...lifeOf(this.#pair.certificate) },
    ];
  }

  /** Calls `observer` after each change; the returned function ends that. */
  observe(observer: () => void): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  /** Makes anew what ends soon; gives the names. */
  async renewDue(): Promise<readonly string[]> {
    const { authority, pair } = await ensureBoth(this.#options);
    const renewed = [
      ...(authority === this.#authority ? [] : [AUTHORITY]),
      ...(pair.certificate === this.#pair.certificate ? [] : [CLIENT]),
    ];
    this.#authority = authority;
    this.#pair = pair;
    if (renewed.length > 0) for (const observer of this.#observers) observer();
    return renewed;
  }
}

async function ensureBoth({ dir, now }: FrontProxyOptions): Promise<{ readonly authority: string; readonly pair: KeyPair }> {
  const at = now();
  const known = await readPair(dir, AUTHORITY);
  const authority =
    known && isFresh(firstPair(known), at) ? known : await writePair(dir, AUTHORITY, await nextAuthority(known, at));
  const subject = { commonName: frontProxyName, organizations: [] };
  const pair = await ensurePair(dir, CLIENT, { signer: firstPair(authority), subject, hosts: undefined }, at);
  return { authority: authority.certificate, pair };
}

async function nextAuthority(before: KeyPair | undefined, now: Date): Promise<KeyPair> {
  const { createAuthority } = await import('./certificates.ts');
  const made = await createAuthority('berth-front-proxy-ca', now);
  return before ? { ...made, certificate: made.certificate + firstOf(before.certificate) } : made;
}

const firstOf = (certificates: string): string => splitCertificates(certificates)[0] ?? '';
const firstPair = ({ certificate, key }: KeyPair): KeyPair => ({ certificate: firstOf(certificate), key });
