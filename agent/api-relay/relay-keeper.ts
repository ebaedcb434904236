import type { MetricsRegistry } from '../../api/metrics/index.ts';
import { onAbort } from '../../client/abort.ts';
import { createBackoff } from '../../client/backoff.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { TableService } from '../service-table/service.ts';
import { wordsOf } from '../words-of.ts';
import { relayMetrics } from './metrics.ts';
import { defaultRelayLimits, type Refusal, type RelayTarget, type ServerAddress, startRelay } from './relay.ts';

/** A Service of the control plane that the server keeps. */
export interface RelayedService {
  /** "namespace/name". */
  readonly key: string;
  /** Whether a Service of this key is the server's own; a user may have another one there. */
  isOurs(service: TableService): boolean;
  /** Where its connections are passed on to. */
  readonly server: RelayTarget;
  /** Called when the API has the Service, or has changed it. */
  changed?(): void;
}

export interface RelayKeeperOptions {
  /** The node's own address in its range. */
  readonly address: string;
  readonly nodeName: string;
  readonly services: readonly RelayedService[];
  isAllowed(source: string): boolean;
  /** Replaces what the node's table has of one of these Services. */
  setTable(key: string, service: TableService | undefined): void;
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
 * Keeps a relay to the API server for this machine's pods, and leads the control plane's Services to it, each to a port
 * of its own. A node whose agent is away has none: new connections are refused there, and nowhere else.
 */
export class RelayKeeper {
  readonly #options: RelayKeeperOptions;
  readonly #toldAt = new Map<Refusal, number>();
  /** What the API has of the Services that are ours, by key. */
  readonly #services = new Map<string, TableService>();
  /** By the keys of the Services. */
  #ports: ReadonlyMap<string, number> = new Map();

  constructor(options: RelayKeeperOptions) {
    this.#options = options;
  }

  /**
   * What the API has of a Service now. False: it is none of the control plane's, or another one of this name, which a
   * user made, or none of ours was there before.
   */
  take(key: string, service: TableService | undefined): boolean {
    const relayed = this.#options.services.find((each) => each.key === key);
    if (relayed === undefined) return false;
    const wasOurs = this.#services.delete(key);
    const isOurs = service !== undefined && relayed.isOurs(service);
    if (isOurs) this.#services.set(key, service);
    if (isOurs || wasOurs) this.#lead(key);
    if (isOurs) relayed.changed?.();
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
    const { address, services, isAllowed, metrics, start = startRelay } = this.#options;
    const refused = metrics.counter(relayMetrics.refused);
    const relay = await start({
      ...{ address, targets: services.map(({ server }) => server), isAllowed, limits: defaultRelayLimits },
      now: () => performance.now(),
      onRefused: (reason, source, why) => {
        refused.with(reason).inc();
        this.#tell(reason, source, why);
      },
    });
    const leave = metrics.read(relayMetrics.open, () => [{ labels: [], value: relay.open() }]);
    const unlink = onAbort(signal, () => relay.close());
    this.#ports = new Map(services.map(({ key }, i) => [key, relay.ports[i]!]));
    this.#leadAll();
    try {
      await relay.ended;
    } finally {
      unlink();
      leave();
      this.#ports = new Map();
      // At the end the table stays as it is, like all of it.
      if (!signal.aborted) this.#leadAll();
    }
  }

  #leadAll(): void {
    for (const key of this.#services.keys()) this.#lead(key);
  }

  #lead(key: string): void {
    const { address, nodeName, setTable } = this.#options;
    const [service, port] = [this.#services.get(key), this.#ports.get(key)];
    setTable(key, service && relayedService(service, nodeName, port === undefined ? undefined : { address, port }));
  }

  #tell(reason: Refusal, source: string, why: string | undefined): void {
    const { logger, clock } = this.#options;
    const now = clock.now();
    if (now - (this.#toldAt.get(reason) ?? Number.NEGATIVE_INFINITY) < tellMs) return;
    this.#toldAt.set(reason, now);
    logger.warn({ source, reason, ...(why && { why }) }, wordsFor[reason]);
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
  relay: { readonly address: string; readonly port: number } | undefined,
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
export function parseServer(address: string): ServerAddress {
  const [, host = '', port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(address) ?? [];
  return { host, port: port === undefined ? httpsPort : Number(port) };
}
