import { X509Certificate } from 'node:crypto';
import { createBackoff } from '../../client/backoff.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { HeldCertificate } from './held-certificate.ts';
import type { NodeCertificate } from './request-certificate.ts';

export interface RenewalOptions {
  readonly held: HeldCertificate;
  /** Gets a new certificate, as the node that this is. */
  readonly request: (signal: AbortSignal) => Promise<NodeCertificate>;
  readonly clock: Clock;
  /** From 0 to below 1: nodes that joined together do not renew together. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** Kubernetes' figures: renewed after 70 to 90 % of its life. */
const earliest = 0.7;
const spread = 0.2;
/** At least between two renewals, also when a clock is so wrong that the new certificate seems old. */
const restMs = 60_000;
/** The server may be away for long; there is time enough. */
const retry = { initialMs: 5_000, maxMs: 10 * 60_000 };

/** When a certificate is to be renewed, in ms since 1970. Pure. */
export function renewalTime({ certificate }: NodeCertificate, random: number): number {
  const { validFrom, validTo } = new X509Certificate(certificate);
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  return from + (to - from) * (earliest + spread * random);
}

/** Renews the certificate before it ends, again and again, until the signal aborts. Never rejects: what fails is tried again. */
export async function runRenewal({ held, request, clock, random, logger }: RenewalOptions, signal: AbortSignal): Promise<void> {
  for (let leastMs = 0; !signal.aborted; leastMs = restMs) {
    await pause(Math.max(leastMs, renewalTime(held.current(), random()) - clock.now()), signal, clock);
    const backoff = createBackoff({ ...retry, random });
    for (let isDone = false; !isDone && !signal.aborted; ) {
      try {
        await held.replace(await request(signal));
        isDone = true;
        logger.info({ until: new X509Certificate(held.current().certificate).validTo }, "renewed the node's certificate");
      } catch (err) {
        if (signal.aborted) return;
        logger.warn({ err }, "cannot renew the node's certificate: trying again");
        await pause(backoff.next(), signal, clock);
      }
    }
  }
}
