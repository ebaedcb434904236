import type { MetricsRegistry } from '../../api/metrics/index.ts';
import { onAbort } from '../../client/abort.ts';
import { createBackoff } from '../../client/backoff.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { TableService } from '../service-table/service.ts';
import { wordsOf } from '../words-of.ts';
import { relayMetrics } from './metrics.ts';
import { defaultRelayLimits, type Refusal, type Relay, startRelay } from './relay.ts';

export interface RelayKeeperOptions {
  /** The node's own address in its range. */
  readonly address: string;
  readonly nodeName: string;
  /** The cluster address of the Service that the server keeps. */
  readonly controlPlane: string;
  /** Where the agent itself reaches the API server: "host:port". */
  readonly server: string;
  isAllowed(source: string): boolean;
  /** Replaces what the node's table has of the control plane's Service. */
  setTable(service: TableService | undefined): void;
  readonly metrics: MetricsRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Tests have one without sockets. */
  readonly start?: typeof startRelay;
}

const backoffMs = { initialMs: 200, maxMs: 10_000 };
/** A relay that ran so long was well: the next failure is another one. */
const wellMs = 60_000;
/** So often at most each reason of a refusal is logged. */
const tellMs = 60_000;
const httpsPort = 443;

/**
 * Keeps a relay to the API server for this machine's pods, and leads the control plane's Service to it. A node whose
 * agent is away has none: new connections are refused there, and nowhere else.
 */
export class RelayKeeper {
  readonly #options: RelayKeeperOptions;
  readonly #toldAt = new Map<Refusal, number>();
  #service: TableService | undefined;
  #port: number | undefined;

  constructor(options: RelayKeeperOptions) {
    this.#options = options;
  }

  /**
   * What the API has of the Service now. False: it is another one of this name, which a user made, or none of ours was
   * there before.
   */
  take(service: TableService | undefined): boolean {
    const isOurs = service?.clusterAddresses.includes(this.#options.controlPlane) === true;
    const wasOurs = this.#service !== undefined;
    this.#service = isOurs ? service : undefined;
    if (isOurs || wasOurs) this.#lead();
    return isOurs || (wasOurs && service === undefined);
  }

  /** Until aborted. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { address, logger, clock } = this.#options;
    const backoff = createBackoff(backoffMs);
    let told = '';
    while (!signal.aborted) {
      const startedAt = clock.now();
      try {
        await this.#serve(signal);
      } catch (error) {
        if (clock.now() - startedAt >= wellMs) {
          backoff.reset();
          told = '';
        }
        const words = wordsOf(error);
        if (words !== told) logger.warn({ address }, `pods do not reach the API server through this node: ${words}`);
        told = words;
        await pause(backoff.next(), signal, clock);
      }
    }
  }

  async #serve(signal: AbortSignal): Promise<void> {
    const { address, server, isAllowed, metrics, start = startRelay } = this.#options;
    const refused = metrics.counter(relayMetrics.refused);
    const relay = await start({
      ...{ address, port: 0, server: parseServer(server), isAllowed, limits: defaultRelayLimits },
      now: () => performance.now(),
      onRefused: (reason, source, why) => {
        refused.with(reason).inc();
        this.#tell(reason, source, why);
      },
    });
    const leave = metrics.read(relayMetrics.open, () => [{ labels: [], value: relay.open() }]);
    const unlink = onAbort(signal, () => relay.close());
    this.#port = relay.port;
    if (this.#service) this.#lead();
    try {
      await relay.ended;
    } finally {
      unlink();
      leave();
      this.#port = undefined;
      // At the end the table stays as it is, like all of it.
      if (!signal.aborted && this.#service) this.#lead();
    }
  }

  #lead(): void {
    const { address, nodeName, setTable } = this.#options;
    setTable(
      this.#service &&
        relayedService(this.#service, nodeName, this.#port === undefined ? undefined : { address, port: this.#port }),
    );
  }

  #tell(reason: Refusal, source: string, why: string | undefined): void {
    const { logger, clock, server } = this.#options;
    const now = clock.now();
    if (now - (this.#toldAt.get(reason) ?? Number.NEGATIVE_INFINITY) < tellMs) return;
    this.#toldAt.set(reason, now);
    logger.warn({ source, reason, ...(why && { server, why }) }, wordsFor[reason]);
  }
}

const wordsFor: Readonly<Record<Refusal, string>> = {
  source: 'a program of another machine has tried to reach the API server through this node',
  'source-limit': 'a pod has as many connections to the API server as one may have: further ones are refused',
  limit: 'the pods of this node have as many connections to the API server as they may have: further ones are refused',
  cut: 'the pods of this node have as many connections to the API server as they may have: the pod with the most loses one',
  rate: 'pods of this node make connections to the API server too fast: some are refused',
  server: 'a pod cannot reach the API server through this node',
};

/** The Service with one endpoint, the relay, or none; and only at its cluster address. Pure. */
export function relayedService(
  service: TableService,
  node: string,
  relay: (Pick<Relay, 'port'> & { readonly address: string }) | undefined,
): TableService {
  const endpoints = relay
    ? [{ address: relay.address, port: relay.port, ready: true, serving: true, terminating: false, node }]
    : [];
  return {
    ...{ clusterAddresses: service.clusterAddresses, externalAddresses: [], loadBalancerAddresses: [] },
    ports: service.ports.flatMap(({ protocol, port }) => (protocol === 'TCP' ? [{ protocol, port, endpoints }] : [])),
    ...{ internalPolicy: 'Cluster', externalPolicy: 'Cluster', publishNotReadyAddresses: false },
  };
}

/** Reads "host:port", as the client does. */
export function parseServer(address: string): { readonly host: string; readonly port: number } {
  const [, host = '', port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(address) ?? [];
  return { host, port: port === undefined ? httpsPort : Number(port) };
}
