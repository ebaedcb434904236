import { setMaxListeners } from 'node:events';
import type { Kind } from '../api/kinds/kind.ts';
import type { Growing } from '../api/meta/growing-set.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import { linkAbort } from '../client/abort.ts';
import { type Client, type Clock, createEventRecorder, type Logger, stderrLogger, systemClock } from '../client/index.ts';
import { bootstrapTokens } from './bootstrap-tokens/controller.ts';
import { certificateRequests } from './certificate-requests/controller.ts';
import { runController } from './controller.ts';
import type { ControllerDefinition, ControllerSettings } from './definition.ts';
import { dependents } from './dependents/controller.ts';
import { disruption } from './disruption/controller.ts';
import { createInformers } from './informers.ts';
import { localPath } from './local-path/controller.ts';
import { namespaces } from './namespace/controller.ts';
import { nodeLeftovers } from './node-leftovers/controller.ts';
import { nodeLifecycle } from './node-lifecycle/controller.ts';
import { createOutage } from './outage.ts';
import { podGarbage } from './pod-garbage/controller.ts';
import { rootCertificatesDefinition } from './root-certificates/controller.ts';
import { serviceAccounts } from './service-accounts/controller.ts';
import { taintEviction } from './taint-eviction/controller.ts';
import { volumeBinding } from './volume-binding/controller.ts';
import { volumeProtection } from './volume-protection/controller.ts';

export type { EvictionRates } from './node-lifecycle/zone-state.ts';

/** Every controller, a line each. */
const definitions: readonly ControllerDefinition[] = [
  nodeLifecycle,
  taintEviction,
  podGarbage,
  dependents,
  namespaces,
  serviceAccounts,
  rootCertificatesDefinition,
  nodeLeftovers,
  volumeBinding,
  localPath,
  volumeProtection,
  certificateRequests,
  bootstrapTokens,
  disruption,
];

export interface RunControllersOptions extends ControllerSettings {
  readonly client: Client;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: MetricsRegistry;
  /**
   * Kinds that are none of Berth's own, as they come; they are owned, and own, and go with their namespaces. Absent:
   * there are none.
   */
  readonly otherKinds?: Growing<Kind>;
}

const defaultComponent = 'controllermanager';
/** Informers, queues and calls under way: some dozens; more would be a leak. */
const mostListeners = 100;

/**
 * Runs all controllers until `signal` aborts. They have nothing to remember: started again, they find in the API what
 * is to be done.
 */
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
  const { client, clock = systemClock, logger = stderrLogger, metrics, otherKinds } = options;
  const base = { clock, logger };
  const outage = createOutage(clock);
  const informers = createInformers(client, definitions, base);
  const leave = otherKinds?.follow(informers.add);
  const shared = { client, outage, settings: options, informer: informers.of, scoped: informers.scoped, ...base };
  const recorders = definitions.map(({ component = defaultComponent }) =>
    createEventRecorder({ client: client.events, component, ...base }),
  );
  const controllers = definitions.flatMap(
    (definition, at) => definition.create({ ...shared, followed: informers.followed, events: recorders[at]! }) ?? [],
  );
  await Promise.all([
    informers.run(signal),
    ...controllers.map((controller) => runController(controller, { ...base, metrics }, signal)),
  ]);
  leave?.();
  await Promise.all(recorders.map((events) => events.flush()));
}
