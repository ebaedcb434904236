import { setMaxListeners } from 'node:events';
import type { PolicyRule } from '../api/generated/types.ts';
import { linkAbort } from '../client/abort.ts';
import { bootstrapTokens } from './bootstrap-tokens/controller.ts';
import { certificateRequests } from './certificate-requests/controller.ts';
import { cronJob } from './cron-job/controller.ts';
import { daemonSet } from './daemon-set/controller.ts';
import type { ControllerDefinition } from './definition.ts';
import { dependents } from './dependents/controller.ts';
import { deployment } from './deployment/controller.ts';
import { disruption } from './disruption/controller.ts';
import { endpointMirror } from './endpoint-mirror/controller.ts';
import { endpointSlices } from './endpoint-slice/controller.ts';
import { endpointsDefinition } from './endpoints/controller.ts';
import { finishedJobs } from './finished-jobs/controller.ts';
import { horizontalPodAutoscaler } from './horizontal-pod-autoscaler/controller.ts';
import { job } from './job/controller.ts';
import { jobLeftovers } from './job/leftovers.ts';
import { loadBalancers } from './load-balancer/controller.ts';
import { localPath } from './local-path/controller.ts';
import { namespaces } from './namespace/controller.ts';
import { nodeLeftovers } from './node-leftovers/controller.ts';
import { nodeLifecycle } from './node-lifecycle/controller.ts';
import { nodeNetworks } from './node-network/controller.ts';
import { nodeRanges } from './node-ranges/controller.ts';
import { podAddresses } from './pod-addresses/controller.ts';
import { podGarbage } from './pod-garbage/controller.ts';
import { replicaSet } from './replica-set/controller.ts';
import { replicationController } from './replication-controller/controller.ts';
import { resourceQuotas } from './resource-quota/controller.ts';
import { rootCertificatesDefinition } from './root-certificates/controller.ts';
import { selectControllers } from './select.ts';
import { serviceAccounts } from './service-accounts/controller.ts';
import { statefulSet } from './stateful-set/controller.ts';
import { taintEviction } from './taint-eviction/controller.ts';
import { mostListeners, openRoom, type RunControllersOptions, runTerms } from './terms.ts';
import { volumeBinding } from './volume-binding/controller.ts';
import { volumeProtection } from './volume-protection/controller.ts';

export { parseLoadBalancerPool, poolMeets } from './load-balancer/address-pool.ts';
export type { EvictionRates } from './node-lifecycle/zone-state.ts';
export { parseNodeRanges } from './node-ranges/decide.ts';
export type { ControllersElection, RunControllersOptions } from './terms.ts';

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
  nodeNetworks,
  volumeBinding,
  localPath,
  volumeProtection,
  certificateRequests,
  bootstrapTokens,
  disruption,
  replicaSet,
  replicationController,
  deployment,
  statefulSet,
  daemonSet,
  job,
  jobLeftovers,
  finishedJobs,
  cronJob,
  resourceQuotas,
  horizontalPodAutoscaler,
  endpointSlices,
  endpointsDefinition,
  endpointMirror,
  nodeRanges,
  podAddresses,
  loadBalancers,
];

/** What all controllers together may do, for the role of the process that runs them (`ControllerDefinition.rules`). */
export const controllerRules: readonly PolicyRule[] = definitions.flatMap(({ rules = [] }) => rules);

/**
 * Runs the controllers until `signal` aborts. They have nothing to remember: started again, they find in the API what
 * is to be done. With an election they work while this process holds the Lease `kube-system/berth-controllers`; a
 * process that stands by keeps its informers, and lists anew when its Lease is stored, so that it decides on nothing
 * older. Each term makes the controllers anew.
 */
export async function runControllers(options: RunControllersOptions, signal: AbortSignal): Promise<void> {
  const own = linkAbort(signal);
  setMaxListeners(mostListeners, own.signal);
  try {
    const room = openRoom(selectControllers(definitions, options.select), options);
    await Promise.all([room.informers.run(own.signal), runTerms(room, own)]);
    room.leave();
  } finally {
    own.abort();
    own.unlink();
  }
}

/** Throws RangeError for names, as `RunControllersOptions.select` takes them, of which there is no controller. */
export function checkControllers(select: readonly string[]): void {
  selectControllers(definitions, select);
}
