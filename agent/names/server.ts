import { networkInterfaces } from 'node:os';
import { systemClock } from '../../client/clock.ts';
import type { NamesChange } from './changes.ts';
import type { Meter } from './meter.ts';
import { PodNamespaces } from './pod-namespaces.ts';
import { NameIndex } from './records.ts';
import { Responder } from './responder.ts';
import { SearchPaths } from './search-path.ts';
import { defaultTcpLimits, serveTcp } from './serve-tcp.ts';
import { serveUdp } from './serve-udp.ts';
import { defaultSourceLimits, type SourceLimitOptions, SourceLimits } from './source-limits.ts';
import { exchange } from './upstream/exchange.ts';
import { Forwarder } from './upstream/forwarder.ts';
import { LoopCheck } from './upstream/loop-check.ts';
import { type CacheLimits, defaultCacheLimits } from './upstream/reply-cache.ts';
import { computeUpstream, type ServerAddress } from './upstream/servers.ts';
import { encodeName } from './wire.ts';
import { Zones } from './zones.ts';

/** How the resolver serves. All of it can be sent to a worker thread. */
export interface ServeOptions {
  /** The address to bind, and no other. */
  readonly address: string;
  /** 53, except in tests; 0 binds a free port. */
  readonly port: number;
  /** `cluster.local` unless the cluster has another. */
  readonly clusterDomain: string;
  /** Ranges of pods and services: reverse names in them are answered from the cluster alone. */
  readonly clusterCidrs: readonly string[];
  /** The text of a resolv.conf: upstream servers and the machine's search domains. */
  readonly resolvConf: string;
  readonly sourceLimits?: Partial<SourceLimitOptions>;
  readonly cacheLimits?: Partial<CacheLimits>;
}

export interface NamesServer {
  readonly port: number;
  apply(changes: readonly NamesChange[]): void;
  /** Other upstream servers, from now on. */
  setResolvConf(text: string): void;
  close(): Promise<void>;
}

export interface NamesServerEvents {
  /** An exchange with an upstream server took so long, in seconds. */
  readonly onExchange: (seconds: number) => void;
  /** An upstream server is not asked any more: what is sent to it comes back. */
  readonly onLoop: (server: string) => void;
}

const portTries = 10;

/** Serves names in this thread. Rejects with the reason when an option is wrong or the address cannot be bound. */
export async function serveNames(options: ServeOptions, meter: Meter, events: NamesServerEvents): Promise<NamesServer> {
  const zone = encodeName(options.clusterDomain);
  if (zone === undefined || zone.length === 1) throw new Error(`serve names: "${options.clusterDomain}" is no domain`);
  const clock = { ...systemClock, now: () => performance.now() };
  const index = new NameIndex(zone, options.address);
  const zones = new Zones(index, options.clusterCidrs);
  const searchPaths = new SearchPaths(zones);
  const namespaces = new PodNamespaces();
  const cache = { ...defaultCacheLimits, ...options.cacheLimits };
  const forwarder = new Forwarder({ exchange, cache, meter, clock, onExchange: events.onExchange });
  const onLoop = (server: ServerAddress): void => {
    forwarder.exclude(server);
    events.onLoop(server.address);
  };
  const loops = new LoopCheck({ exchange, onLoop });
  const responder = new Responder({
    zones,
    searchPaths,
    forwarder,
    meter,
    namespaceOf: (address) => namespaces.of(address),
    onHostInfo: (key) => loops.seen(key),
  });
  const limits = new SourceLimits({ ...defaultSourceLimits, ...options.sourceLimits });
  const transports = await bindBoth(options, { responder, limits, meter, now: clock.now, tcp: defaultTcpLimits });
  const configure = (text: string): void => {
    const config = computeUpstream(text, ownServer(options.address, transports.port));
    for (const server of config.own) events.onLoop(server);
    forwarder.configure(config);
    searchPaths.setMachine(config.searches);
    void loops.check(config.servers);
  };
  configure(options.resolvConf);
  return {
    port: transports.port,
    setResolvConf: configure,
    apply(changes) {
      for (const change of changes) {
        index.apply(change);
        namespaces.apply(change);
      }
    },
    async close() {
      forwarder.close();
      await transports.close();
    },
  };
}

/** The same port for both. Of "any" the one that UDP gets may be taken for TCP. */
async function bindBoth({ address, port }: ServeOptions, options: Parameters<typeof serveTcp>[2]) {
  for (let attempt = 1; ; attempt++) {
    const udp = await serveUdp(address, port, options);
    try {
      const tcp = await serveTcp(address, udp.port, options);
      return { port: udp.port, close: async () => void (await Promise.all([udp.close(), tcp.close()])) };
    } catch (error) {
      await udp.close();
      if (port !== 0 || attempt >= portTries) throw error;
    }
  }
}

/** Which servers are this one: its own address and port, or any of the machine's where it binds all of them. */
function ownServer(address: string, port: number): (server: ServerAddress) => boolean {
  const isAny = address === '0.0.0.0' || address === '::';
  const local = isAny ? Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map((each) => each.address)) : [];
  const own = new Set([address, ...local]);
  return (server) => server.port === port && own.has(server.address);
}
