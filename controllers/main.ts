import { setMaxListeners } from 'node:events';
import { kinds } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import { linkAbort } from '../client/abort.ts';
import {
  type Client,
  type Clock,
  createEventRecorder,
  createInformer,
  type Informer,
  type Logger,
  stderrLogger,
  systemClock,
} from '../client/index.ts';
import { type ControllerEnvironment, runController } from './controller.ts';
import { createDependents } from './dependents/controller.ts';
import { familyIndexers } from './dependents/family.ts';
import { contentIndexers, createNamespaces } from './namespace/controller.ts';
import { createNodeLeftovers } from './node-leftovers/controller.ts';
import { createNodeLifecycle } from './node-lifecycle/controller.ts';
import { outlineOf, podOutline } from './outline.ts';
import { createPodGarbage, podIndexers } from './pod-garbage/controller.ts';

export interface RunControllersOptions {
  readonly client: Client;
  /** How long a node's agent may say nothing (default 30 s). */
  readonly nodeGraceMs?: number;
  /** How many pods that have ended are kept (default 12,500). */
  readonly maxFinishedPods?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: MetricsRegistry;
}

/** Informers, queues and calls under way: some dozens; more would be a leak. */
const mostListeners = 100;

/** Runs all controllers until `signal` aborts. They have nothing to remember: started again, they find in the API what is to be done. */
export async function runControllers(options: RunControllersOptions, signal: AbortSignal): Promise<void> {
  const own = linkAbort(signal);
  setMaxListeners(mostListeners, own.signal);
  try {
    await runLoops(options, own.signal);
  } finally {
    own.abort();
    own.unlink();
  }
}

async function runLoops(options: RunControllersOptions, signal: AbortSignal): Promise<void> {
  const { client, clock = systemClock, logger = stderrLogger } = options;
  const base = { clock, logger };
  const informers = createInformers(client, base);
  const { nodes, leases, pods, followed, namespaces, contents, keptForNodes } = informers;
  const recorder = (component: string) => createEventRecorder({ client: client.events, component, ...base });
  const [nodeEvents, podEvents] = [recorder('node-controller'), recorder('pod-garbage-collector')];
  const controllers = [
    createNodeLifecycle({ client, nodes, leases, events: nodeEvents, graceMs: options.nodeGraceMs, ...base }),
    createPodGarbage({ client, pods, nodes, events: podEvents, maxFinished: options.maxFinishedPods, ...base }),
    createDependents({ kinds: followed, logger }),
    createNamespaces({ client, namespaces, contents, ...base }),
    createNodeLeftovers({ client, nodes, kept: keptForNodes, ...base }),
  ];
  await Promise.all([
    ...informers.all.map((informer) => informer.run(signal)),
    ...controllers.map((controller) => runController(controller, { ...base, metrics: options.metrics }, signal)),
  ]);
  await Promise.all([nodeEvents.flush(), podEvents.flush()]);
}

/** One informer for each kind, which the controllers share: whole nodes and leases, of everything else an outline. */
function createInformers(client: Client, base: ControllerEnvironment) {
  const named = (plural: string) => ({ name: `controllers ${plural}`, ...base });
  const everyIndex = { ...familyIndexers, ...contentIndexers };
  const nodes = createInformer({ client: client.nodes, indexers: familyIndexers, ...named('nodes') });
  const leases = createInformer({ client: client.leases, indexers: everyIndex, ...named('leases') });
  const pods = createInformer({
    client: client.pods,
    transform: podOutline,
    indexers: { ...podIndexers, ...everyIndex },
    ...named('pods'),
  });
  const known: Readonly<Record<string, Informer<ApiObject>>> = { Node: nodes, Lease: leases, Pod: pods };
  const outlined = (kind: Kind) =>
    createInformer<ApiObject>({
      client: client.resource(kind),
      transform: outlineOf,
      indexers: everyIndex,
      ...named(kind.plural),
    });
  const followed = kinds
    .filter(({ unowned }) => !unowned)
    .map((kind) => ({ kind, client: client.resource(kind), informer: known[kind.kind] ?? outlined(kind) }));
  const namespaces = followed.find(({ kind }) => kind.kind === 'Namespace')!.informer;
  const contents = followed.filter(({ kind }) => kind.namespaced);
  const keptForNodes = followed.filter(({ kind }) => kind.kind === 'Lease' || kind.kind === 'NodeMetrics');
  return { nodes, leases, pods, followed, namespaces, contents, keptForNodes, all: followed.map(({ informer }) => informer) };
}
