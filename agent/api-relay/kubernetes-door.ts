import { readVersionInfo } from '../../api/meta/version-info.ts';
import { createBackoff } from '../../client/backoff.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { PagesClient } from '../../client/services/pages-client.ts';
import { wordsOf } from '../words-of.ts';
import type { ServerAddress } from './relay.ts';
import { parseServer } from './relay-keeper.ts';

export interface KubernetesDoorOptions {
  readonly pages: PagesClient;
  /** Where this agent reaches the API server. */
  readonly server: ServerAddress;
  readonly clock: Clock;
  readonly logger: Logger;
}

const backoffMs = { initialMs: 200, maxMs: 10_000 };

/**
 * Where the server serves Kubernetes' clients. The server itself says so: the Service `kubernetes` has the port too,
 * but users may write Services, and the relay would lead their pods to any port of the server's machine.
 */
export class KubernetesDoor {
  readonly #options: KubernetesDoorOptions;
  #address: ServerAddress | undefined;
  #isDue = false;
  #wake = (): void => {};

  constructor(options: KubernetesDoorOptions) {
    this.#options = options;
  }

  /** Undefined: nowhere, or that is not known yet. */
  get address(): ServerAddress | undefined {
    return this.#address;
  }

  /** It may be elsewhere from now on: the server is asked. */
  look(): void {
    this.#isDue = true;
    this.#wake();
  }

  /** Until aborted. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { pages, server, clock, logger } = this.#options;
    const backoff = createBackoff(backoffMs);
    const wake = (): void => this.#wake();
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      if (!this.#isDue) await new Promise<void>((resolve) => (this.#wake = resolve));
      if (signal.aborted) break;
      this.#isDue = false;
      try {
        const { body } = await pages.get('/version', { signal });
        const { kubernetesAddresses = [] } = readVersionInfo(body.toString()) ?? {};
        this.#address = chooseDoor(kubernetesAddresses.map(parseServer), server);
        backoff.reset();
      } catch (error) {
        if (signal.aborted) break;
        this.#isDue = true;
        logger.debug({}, `cannot ask the server where it serves Kubernetes' clients, will retry: ${wordsOf(error)}`);
        await pause(backoff.next(), signal, clock);
      }
    }
    signal.removeEventListener('abort', wake);
  }
}

/**
 * Which of the addresses of the door this agent dials, which reaches the server at `server`. Pure. What listens
 * everywhere, or at other machines' loopback only, is dialled at the host that is known to lead to the server: what is
 * in between may pass on both ports.
 */
export function chooseDoor(addresses: readonly ServerAddress[], server: ServerAddress): ServerAddress | undefined {
  const [first] = addresses;
  if (first === undefined) return undefined;
  const same = addresses.find(({ host }) => host === server.host);
  if (same !== undefined) return same;
  if (addresses.some(({ host }) => isEverywhere(host))) return { host: server.host, port: first.port };
  if (isLoopback(server.host)) return addresses.find(({ host }) => isLoopback(host)) ?? first;
  return addresses.find(({ host }) => !isLoopback(host)) ?? { host: server.host, port: first.port };
}

const isEverywhere = (host: string): boolean => host === '0.0.0.0' || host === '::';
const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1' || host === 'localhost';
