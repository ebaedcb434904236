import { X509Certificate } from 'node:crypto';
import { authorityHash, splitCertificates } from '../../api/meta/authority.ts';
import type { Histogram, MetricsRegistry } from '../../api/metrics/index.ts';
import { apiserverMetrics } from '../metrics.ts';

/** A certificate with which a client connected. Times in ms since 1970. */
export interface SeenCertificate {
  readonly user: string;
  readonly endsAt: number;
  /** Of the authority that signed it; empty when none of those that count did. */
  readonly authorityHash: string;
  readonly seenAt: number;
}

export interface PresentedCertificate {
  readonly user: string;
  /** DER. */
  readonly raw: Buffer | undefined;
  readonly endsAt: number;
}

export interface ClientCertificatesOptions {
  /** The authorities that count (PEM). */
  readonly trusted: () => string;
  /** In ms since 1970. */
  readonly now: () => number;
  readonly metrics: MetricsRegistry;
  readonly most?: number;
}

/** More users than that connect to no cluster of this size; the one not seen for longest is forgotten. */
const MOST = 10_000;

/** With which certificates clients have connected since the server started, the last of each user. */
export class ClientCertificates {
  readonly #seen = new Map<string, SeenCertificate>();
  readonly #options: ClientCertificatesOptions;
  readonly #lives: Histogram;

  constructor(options: ClientCertificatesOptions) {
    this.#options = options;
    this.#lives = options.metrics.histogram(apiserverMetrics.clientCertificates).with();
  }

  /** Called once for each connection. */
  note({ user, raw, endsAt }: PresentedCertificate): void {
    const { now, most = MOST } = this.#options;
    const seenAt = now();
    this.#lives.observe((endsAt - seenAt) / 1_000);
    this.#seen.delete(user);
    this.#seen.set(user, { user, endsAt, authorityHash: raw ? this.#signedBy(raw) : '', seenAt });
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size <= most) break;
      this.#seen.delete(oldest);
    }
  }

  list(): readonly SeenCertificate[] {
    return [...this.#seen.values()];
  }

  #signedBy(raw: Buffer): string {
    const certificate = new X509Certificate(raw);
    const authorities = splitCertificates(this.#options.trusted()).map((each) => new X509Certificate(each));
    const signer = authorities.find(({ publicKey }) => certificate.verify(publicKey));
    return signer === undefined ? '' : authorityHash(signer);
  }
}
