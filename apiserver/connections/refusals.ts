import type { Logger } from 'pino';
import type { Counter, MetricsRegistry } from '../../api/metrics/index.ts';
import { apiserverMetrics } from '../metrics.ts';

/** Why a connection was refused or ended, in the words of the metric, and as a sentence of the log. */
export const refusalReasons = {
  'peer-limit': 'too many connections from one address: the oldest that had not said who it is was closed, or the new one',
  'total-limit': 'too many connections: the oldest that had not said who it is was closed, or the new one',
  'connection-rate':
    'an address opens connections faster than the server takes them: they wait, and those that waited for long were closed',
  'handshake-timeout': 'a client did not finish its TLS handshake in time',
  plaintext: 'a client spoke HTTP without TLS to this port: it takes TLS only',
  'tls-version': 'a client offered only TLS versions that are refused here (--tls-min-version)',
  tls: 'a TLS handshake failed',
  'not-http2': 'a client spoke another protocol than HTTP/2 over TLS: it takes gRPC only',
  'preface-timeout': 'a client finished its TLS handshake and did not begin with HTTP in time',
  flood:
    'a client sent more than it may: floods of PING, SETTINGS or headers, more streams than it was told, or a hundred broken requests',
  'reset-flood': 'a client opened and reset streams faster than it may: its connection was closed',
  protocol: 'a client broke the rules of HTTP/2',
  'stream-limit': 'too many streams on connections that have not authenticated: the connection with the most of them was closed',
  'request-limit': 'too many requests that have not arrived in whole: the connection with the most of them was closed',
  'request-timeout': 'a request did not arrive in time: it was ended',
  'request-memory': 'requests that had not arrived in whole took too much memory: the connection with most of it was closed',
} as const;

export type RefusalReason = keyof typeof refusalReasons;

/** Of each reason one line, and after that one a minute at most. */
const SILENCE_MS = 60_000;

/** Counts what the listener refuses, and tells of it: once, not once for each of ten thousand. */
export class Refusals {
  readonly #counters: Readonly<Record<RefusalReason, Counter>>;
  readonly #silent = new Map<RefusalReason, { until: number; more: number }>();
  readonly #log: Pick<Logger, 'warn'>;
  readonly #now: () => number;

  constructor({
    metrics,
    log,
    now,
  }: { readonly metrics: MetricsRegistry; readonly log: Pick<Logger, 'warn'>; readonly now: () => number }) {
    const counter = metrics.counter(apiserverMetrics.connectionsRefused);
    const reasons = Object.keys(refusalReasons) as RefusalReason[];
    this.#counters = Object.fromEntries(reasons.map((reason) => [reason, counter.with(reason)])) as Record<
      RefusalReason,
      Counter
    >;
    this.#log = log;
    this.#now = now;
  }

  note(reason: RefusalReason, peer: string, detail?: string): void {
    this.#counters[reason].inc();
    const now = this.#now();
    const silent = this.#silent.get(reason);
    if (silent && now < silent.until) {
      silent.more++;
      return;
    }
    this.#silent.set(reason, { until: now + SILENCE_MS, more: 0 });
    const more = silent?.more ? { andSince: silent.more } : {};
    this.#log.warn({ reason, peer, ...(detail && { detail }), ...more }, refusalReasons[reason]);
  }
}
