import pino from 'pino';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { Authorizer } from '../../apiserver/authz/authorizer.ts';
import type { KindStore } from '../../apiserver/registry/kind-store.ts';
import { NodeSums } from '../../apiserver/registry/node-sums.ts';
import { actionMethods, bindStreamMethod } from '../../apiserver/rpc/action-methods.ts';
import type { CallPipeline } from '../../apiserver/rpc/call-pipeline.ts';
import type { ItemStreams } from '../../apiserver/rpc/item-stream.ts';
import { objectsService } from '../../apiserver/rpc/objects-service.ts';
import { typedService } from '../../apiserver/rpc/typed-service.ts';
import { createServerRegistry, type ServerRegistry } from '../../apiserver/server-registry.ts';
import { createMemoryStorage } from '../../apiserver/storage/memory/memory-storage.ts';
import { defaultListLimits } from '../../apiserver/verbs/list-gate.ts';
import type { PrepareCall } from '../../apiserver/verbs/prepared-call.ts';
import { Verbs } from '../../apiserver/verbs/verbs.ts';
import { defaultWatchLimits } from '../../apiserver/verbs/watch-pump.ts';
import { runFeed } from '../../apiserver/watch/feed.ts';

/** The API server's registry and verbs, in memory and without a network. */
export interface MemoryServer extends ServerRegistry {
  readonly verbs: Verbs;
  readonly authorizer: Authorizer;
  /** The unary methods by their paths: "/berth.core.v1.Pods/Get". */
  readonly methods: ReadonlyMap<string, PrepareCall>;
}

/** Runs until `signal` aborts. */
export async function startMemoryServer(signal: AbortSignal): Promise<MemoryServer> {
  const storage = createMemoryStorage();
  const log = pino({ level: 'silent' });
  const server = createServerRegistry({ log }, storage, new MetricsRegistry());
  const { registry } = server;
  const verbs = new Verbs({
    registry,
    watchLimits: defaultWatchLimits,
    listLimits: defaultListLimits,
    random: () => 0.5,
    metrics: new MetricsRegistry(),
  });
  const authorizer = new Authorizer(registry);
  authorizer.observe();
  await new Promise<void>((resolve, reject) => {
    runFeed({ storage, caches: server.caches, log }, resolve, signal).catch(reject);
  });
  return { ...server, verbs, authorizer, methods: collectMethods(server, verbs) };
}

/** What the services give to the pipeline, instead of what gRPC gets. */
function collectMethods({ registry }: ServerRegistry, verbs: Verbs): Map<string, PrepareCall> {
  const methods = new Map<string, PrepareCall>();
  const passing = { unary: (prepare: PrepareCall) => prepare, stream: () => undefined } as unknown as CallPipeline;
  const streams = { method: () => undefined } as unknown as ItemStreams;
  const add = (service: string, { implementation }: { readonly implementation: object }): void => {
    for (const [name, method] of Object.entries(implementation))
      if (method) methods.set(`/${service}/${name}`, method as PrepareCall);
  };
  const pods = registry.store('Pod');
  const deps = { registry, sums: new NodeSums(pods.cache), accounts: undefined };
  for (const store of registry.stores) {
    const own = { ...actionMethods(store.id, deps, passing), ...(store === pods && bindStreamMethod(deps, streams)) };
    // Methods of single kinds are not simulated, but are registered.
    const special = new Proxy(own, { get: (of, name) => Reflect.get(of, name) ?? notSimulated(store, String(name)) });
    add(store.kind.service, typedService(store, verbs, passing, special));
  }
  add('berth.meta.v1.Objects', objectsService({ registry, verbs, pipeline: passing, streams, now: () => new Date() }));
  return methods;
}

const standard = /^(Create|Get|List|Watch|Update|UpdateStatus|Patch|Delete|DeleteCollection|GetScale|UpdateScale|PatchScale)$/;

/** Undefined for a method that the service has by itself. */
function notSimulated({ kind }: KindStore, name: string): PrepareCall | undefined {
  const isPart = Object.values(kind.subresources ?? {}).some(({ method }) => method === name);
  if (standard.test(name) || isPart) return undefined;
  return () => {
    throw new Error(`${kind.plural}: ${name} is not simulated`);
  };
}
