import { setMaxListeners } from 'node:events';
import type { Lease } from '../api/generated/types.ts';
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

export interface RunControllersOptions {
  readonly client: Client;
  /** How long a node's agent may say nothing (default 30 s). */
  readonly nodeGraceMs?: number;
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
  const nodes = createInformer({ client: client.nodes, name: 'controllers nodes', clock, logger });
  const leaseScope = { namespace: namespaces.nodeLease };
  const leases = createInformer<Lease>({ client: client.leases, scope: leaseScope, name: 'controllers leases', clock, logger });
  const events = createEventRecorder({ client: client.events, component: 'node-controller', clock, logger });
  const controllers = [createNodeLifecycle({ client, nodes, leases, events, graceMs: options.nodeGraceMs, clock, logger })];
  await Promise.all([
    ...[nodes, leases].map((informer) => informer.run(signal)),
    ...controllers.map((controller) => runController(controller, { clock, logger }, signal)),
  ]);
  await events.flush();
}
