import { setMaxListeners } from 'node:events';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import { linkAbort } from '../client/abort.ts';
import { type Client, type Clock, createEventRecorder, type Logger, stderrLogger, systemClock } from '../client/index.ts';
import { createBootstrapTokens } from './bootstrap-tokens/controller.ts';
import { createCertificateRequests } from './certificate-requests/controller.ts';
import { runController } from './controller.ts';
import { createDependents } from './dependents/controller.ts';
import { createDisruption } from './disruption/controller.ts';
import { createInformers } from './informers.ts';
import { createLocalPath } from './local-path/controller.ts';
import { createNamespaces } from './namespace/controller.ts';
import { createNodeLeftovers } from './node-leftovers/controller.ts';
import { createNodeLifecycle } from './node-lifecycle/controller.ts';
import type { EvictionRates } from './node-lifecycle/zone-state.ts';
import { createOutage } from './outage.ts';
import { createPodGarbage } from './pod-garbage/controller.ts';
import { createRootCertificates } from './root-certificates/controller.ts';
import { createServiceAccounts } from './service-accounts/controller.ts';
import { createTaintEviction } from './taint-eviction/controller.ts';
import { createVolumeBinding } from './volume-binding/controller.ts';
import { createVolumeProtection } from './volume-protection/controller.ts';

export type { EvictionRates } from './node-lifecycle/zone-state.ts';

export interface RunControllersOptions {
  readonly client: Client;
  /** How long a node's agent may say nothing (default 30 s). */
  readonly nodeGraceMs?: number;
  /** How fast nodes that are lost may be given up; what is left out is Kubernetes' figure. */
  readonly evictionRates?: Partial<EvictionRates> | undefined;
  /** How many pods that have ended are kept (default 12,500). */
  readonly maxFinishedPods?: number;
  /** The certificates (PEM) of the cluster's authorities, to be told in every namespace; absent: nobody is told. */
  readonly authorities?: (() => Promise<string>) | undefined;
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
  const { client, clock = systemClock, logger = stderrLogger, nodeGraceMs: graceMs, evictionRates: rates } = options;
  const base = { clock, logger };
  const outage = createOutage(clock);
  const informers = createInformers(client, base);
  const { nodes, leases, pods, volumes, claims, classes, budgets, followed, namespaces, contents, accounts, keptForNodes } =
    informers;
  const { requests, joinTokens, configMaps } = informers;
  const { authorities } = options;
  const requestClient = client.resource('CertificateSigningRequest');
  const recorder = (component: string) => createEventRecorder({ client: client.events, component, ...base });
  const [nodeEvents, taintEvents, podEvents, volumeEvents, localPathEvents, budgetEvents] = [
    recorder('node-controller'),
    recorder('taint-eviction-controller'),
    recorder('pod-garbage-collector'),
    recorder('persistentvolume-controller'),
    recorder('local-path-provisioner'),
    recorder('controllermanager'),
  ];
  const controllers = [
    createNodeLifecycle({ client, nodes, leases, events: nodeEvents, outage, graceMs, rates, ...base }),
    createTaintEviction({ client, nodes, pods, events: taintEvents, outage, ...base }),
    createPodGarbage({ client, pods, nodes, events: podEvents, maxFinished: options.maxFinishedPods, ...base }),
    createDependents({ kinds: followed, logger }),
    createNamespaces({ client, namespaces, contents, ...base }),
    createServiceAccounts({ client, namespaces, accounts }),
    ...(authorities ? [createRootCertificates({ client, namespaces, configMaps, authorities, ...base })] : []),
    createNodeLeftovers({ client, nodes, kept: keptForNodes, ...base }),
    createVolumeBinding({ client, volumes, claims, classes, events: volumeEvents, ...base }),
    createLocalPath({ client, volumes, claims, classes, nodes, events: localPathEvents, logger }),
    createVolumeProtection({ client, volumes, claims, pods, logger }),
    createCertificateRequests({ client, requests, requestClient, ...base }),
    createBootstrapTokens({ client: client.secrets, tokens: joinTokens, ...base }),
    createDisruption({ client, budgets, pods, events: budgetEvents, clock }),
  ];
  await Promise.all([
    ...informers.all.map((informer) => informer.run(signal)),
    ...controllers.map((controller) => runController(controller, { ...base, metrics: options.metrics }, signal)),
  ]);
  await Promise.all(
    [nodeEvents, taintEvents, podEvents, volumeEvents, localPathEvents, budgetEvents].map((events) => events.flush()),
  );
}
