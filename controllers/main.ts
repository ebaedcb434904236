import { setMaxListeners } from 'node:events';
import { namespaces } from '../api/meta/well-known.ts';
import { linkAbort } from '../client/abort.ts';
import {
  type Client,
  type Clock,
  createEventRecorder,
  createInformer,
  type Logger,
  stderrLogger,
  systemClock,
} from '../client/index.ts';
import { runController } from './controller.ts';
import { createNodeLifecycle } from './node-lifecycle/controller.ts';
import { podOutline } from './outline.ts';
import { createPodGarbage, podIndexers } from './pod-garbage/controller.ts';

export interface RunControllersOptions {
  readonly client: Client;
  /** How long a node's agent may say nothing (default 30 s). */
  readonly nodeGraceMs?: number;
  /** How many pods that have ended are kept (default 12,500). */
  readonly maxFinishedPods?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
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
  const nodes = createInformer({ client: client.nodes, name: 'controllers nodes', ...base });
  const leaseScope = { namespace: namespaces.nodeLease };
  const leases = createInformer({ client: client.leases, scope: leaseScope, name: 'controllers leases', ...base });
  const outlines = { transform: podOutline, indexers: podIndexers };
  const pods = createInformer({ client: client.pods, ...outlines, name: 'controllers pods', ...base });
  const recorder = (component: string) => createEventRecorder({ client: client.events, component, ...base });
  const [nodeEvents, podEvents] = [recorder('node-controller'), recorder('pod-garbage-collector')];
  const controllers = [
    createNodeLifecycle({ client, nodes, leases, events: nodeEvents, graceMs: options.nodeGraceMs, ...base }),
    createPodGarbage({ client, pods, nodes, events: podEvents, maxFinished: options.maxFinishedPods, ...base }),
  ];
  await Promise.all([
    ...[nodes, leases, pods].map((informer) => informer.run(signal)),
    ...controllers.map((controller) => runController(controller, base, signal)),
  ]);
  await Promise.all([nodeEvents.flush(), podEvents.flush()]);
}
