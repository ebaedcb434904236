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
  /** Asks which authorities count (PEM), the one that signs first; undefined from a server that does not tell. */
  readonly authorities: (signal: AbortSignal) => Promise<string | undefined>;
  /** Called when the certificate could not be renewed. */
  readonly onFailure?: (failure: RenewalFailure) => void;
  readonly clock: Clock;
  /** From 0 to below 1: nodes that joined together do not renew together. */
  readonly random: () => number;
  readonly logger: Logger;
}

export interface RenewalFailure {
  /** How long the certificate is good still, and the part of its life that this is. */
  readonly leftMs: number;
  readonly leftOfLife: number;
  readonly error: unknown;
}

/** Kubernetes' figures: renewed after 70 to 90 % of its life. */
const earliest = 0.7;
const spread = 0.2;
/** At least between two renewals, also when a clock is so wrong that the new certificate seems old. */
const restMs = 60_000;
/** The server may be away for long; there is time enough. */
const retry = { initialMs: 5_000, maxMs: 10 * 60_000 };
/**
 * The interval for reading the trusted authorities: the call is cheap, and both are trusted for a long time during a
 * rotation.
 */
const lookMs = 5 * 60_000;
const firstLookMs = 30_000;

interface Life {
  readonly from: number;
  readonly to: number;
}

function lifeOf({ certificate }: NodeCertificate): Life {
  const { validFrom, validTo } = new X509Certificate(certificate);
  return { from: Date.parse(validFrom), to: Date.parse(validTo) };
}

/** When a certificate is to be renewed, in ms since 1970. Pure. */
export function renewalTime(certificate: NodeCertificate, random: number): number {
  const { from, to } = lifeOf(certificate);
  return from + (to - from) * (earliest + spread * random);
}

/**
 * Renews the certificate before it ends, and at once when another authority signs now, again and again, until the
 * signal aborts; follows which authorities count. Never rejects: what fails is tried again.
 */
export async function runRenewal(options: RenewalOptions, signal: AbortSignal): Promise<void> {
  const { held, request, clock, random, logger, onFailure } = options;
  const backoff = createBackoff({ ...retry, random });
  let dueAt = renewalTime(held.current(), random());
  let waitMs = Math.min(firstLookMs * random(), dueAt - clock.now());
  for (;;) {
    await pause(Math.max(0, waitMs), signal, clock);
    if (signal.aborted) return;
    await followAuthorities(options, signal);
    let leastMs = 0;
    if (clock.now() >= dueAt || !isOfTheSigner(held)) {
      try {
        await held.replace(await request(signal));
        dueAt = renewalTime(held.current(), random());
        backoff.reset();
        leastMs = restMs;
        logger.info({ until: new X509Certificate(held.current().certificate).validTo }, "renewed the node's certificate");
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error }, "cannot renew the node's certificate: trying again");
        onFailure?.({ ...leftOf(held.current(), clock.now()), error });
        waitMs = backoff.next();
        continue;
      }
    }
    waitMs = Math.max(leastMs, Math.min(lookMs, dueAt - clock.now()));
  }
}

/** How long a certificate is good still. Pure. */
export function leftOf(certificate: NodeCertificate, now: number): { readonly leftMs: number; readonly leftOfLife: number } {
  const { from, to } = lifeOf(certificate);
  return { leftMs: to - now, leftOfLife: (to - now) / (to - from) };
}

async function followAuthorities({ held, authorities, logger }: RenewalOptions, signal: AbortSignal): Promise<void> {
  try {
    const told = await authorities(signal);
    if (told === undefined || told === held.current().ca) return;
    await held.trust(told);
    logger.info({}, "took over the cluster's authorities as they are now");
  } catch (err) {
    if (!signal.aborted) logger.debug({ err }, "cannot ask for the cluster's authorities: asking again");
  }
}

/** Whether the authority that signs now signed it. */
function isOfTheSigner(held: HeldCertificate): boolean {
  const { certificate, ca } = held.current();
  return new X509Certificate(certificate).verify(new X509Certificate(ca).publicKey);
}
