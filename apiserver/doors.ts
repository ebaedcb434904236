import type { Server } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { listenBesides } from './advertise.ts';
import type { ServerPki } from './auth/pki.ts';
import { listen, serverCredentials } from './rpc/grpc-server.ts';
import { pause, systemStorageClock } from './storage/clock.ts';

export interface Doors {
  /** Where the server listens, with the real port. */
  readonly address: string;
  readonly port: number;
}

interface DoorsInput {
  readonly server: Server;
  readonly listen: string;
  readonly advertise?: string | undefined;
  readonly pki: ServerPki;
  readonly log: Logger;
}

/** A machine may get its address after Berth has started. */
const retryMs = 5_000;

/**
 * Listens where it is told, and besides where it advertises. Rejects when it cannot listen at the first; for the second it goes on trying until the signal
 * aborts, because programs on this machine need the server meanwhile.
 */
export async function openDoors({ server, listen: at, advertise, pki, log }: DoorsInput, signal: AbortSignal): Promise<Doors> {
  const credentials = serverCredentials(pki);
  const port = await listen(server, at, credentials);
  const address = `${at.slice(0, at.lastIndexOf(':'))}:${port}`;
  log.info({ address }, 'the API server is listening');
  const attempt = async (): Promise<boolean> => {
    const besides = await listenBesides(address, advertise);
    if (besides === undefined) return false;
    await listen(server, besides, credentials);
    log.info({ address: besides }, 'the API server is listening for other machines');
    return true;
  };
  const tryOnce = (): Promise<boolean> =>
    attempt().catch((error: unknown) => {
      log.warn({ err: error, advertise }, 'cannot listen at the advertised address: trying again');
      return false;
    });
  const isOpen = await tryOnce();
  if (!isOpen && advertise !== undefined) void retry(tryOnce, signal);
  return { address, port };
}

async function retry(tryOnce: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(retryMs, systemStorageClock, signal);
    if (signal.aborted || (await tryOnce())) return;
  }
}
