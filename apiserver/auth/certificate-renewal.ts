import type { Logger } from 'pino';
import { pause, type StorageClock, systemStorageClock } from '../storage/clock.ts';
import type { HeldCertificates } from './held-certificates.ts';

export interface CertificateRenewalOptions {
  readonly certificates: Pick<HeldCertificates, 'renewDue'>;
  readonly clock?: StorageClock;
  readonly log: Logger;
}

/** Looked at so often, not waited for until it is due: clocks jump, machines sleep and get other addresses. */
const everyMs = 3_600_000;

/** Renews the server's own certificates before they end, until the signal aborts. Connections that are open stay; what fails is tried again. */
export async function runCertificateRenewal(
  { certificates, clock = systemStorageClock, log }: CertificateRenewalOptions,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await pause(everyMs, clock, signal);
    if (signal.aborted) return;
    try {
      const renewed = await certificates.renewDue();
      if (renewed.length > 0) log.info({ renewed }, "renewed the server's own certificates");
    } catch (error) {
      log.error({ err: error }, "cannot renew the server's own certificates: trying again in an hour");
    }
  }
}
