import type { PersistentVolumeClaim, Pod, Quantity, Service } from '../../generated/types.ts';
import { quantityValue } from '../../meta/quantity.ts';
import { toMillis } from '../../meta/time.ts';
import { annotations } from '../../meta/well-known.ts';
import { resourceOf } from '../identity.ts';
import type { ApiObject, Kind } from '../kind.ts';
import { isFinished } from '../pod/lifecycle.ts';
import { qosClass } from '../pod/qos.ts';
import { type Amounts, podRequests, resourceAmount, specAmounts } from '../pod/resources.ts';
import { countName, isNative, ofClass } from './quota-names.ts';
import { crossesNamespaces, type ScopeFacts } from './quota-scopes.ts';

/** What one object takes of the quotas of its namespace, by their names; cpu in thousandths of a core. */
export interface QuotaShare {
  readonly amounts: Readonly<Amounts>;
  /** What scopes ask about it; absent: it is of no scope. */
  readonly facts?: ScopeFacts;
  /** Until when (ms since 1970); then it only counts as an object. Absent: as long as it is as it is. */
  readonly until?: number;
}

/** Works out the share of an object. Pure but for `now`, by which pods that are stuck have stopped counting. */
export function quotaShare(kind: Kind, object: ApiObject, now: number): QuotaShare {
  switch (resourceOf(kind)) {
    case 'pods':
      return podShare(object as Pod, now);
    case 'services':
      return { amounts: { 'count/services': 1, services: 1, ...portAmounts(object as Service) } };
    case 'persistentvolumeclaims':
      return claimShare(object as PersistentVolumeClaim);
    default:
      return countShare(kind);
  }
}

const countShares = new WeakMap<Kind, QuotaShare>();

/** All objects of most kinds have the same share, which is kept but once. */
function countShare(kind: Kind): QuotaShare {
  const known = countShares.get(kind) ?? { amounts: { [countName(kind)]: 1, [resourceOf(kind)]: 1 } };
  countShares.set(kind, known);
  return known;
}

const endedPod: QuotaShare['amounts'] = { 'count/pods': 1 };

/**
 * Pods that have ended count as objects alone, and so do those whose grace is long over, because their node is lost:
 * they must not keep others from taking their place.
 */
function podShare(pod: Pod, now: number): QuotaShare {
  const facts = podFacts(pod);
  const until = stuckAt(pod);
  if (isFinished(pod) || (until !== undefined && until < now)) return { amounts: endedPod, facts };
  return { amounts: podAmounts(pod), facts, ...(until !== undefined && { until }) };
}

/** The share of a pod whose `until` has come. */
export function endedShare({ facts }: QuotaShare): QuotaShare {
  return { amounts: endedPod, ...(facts && { facts }) };
}

/** deletionTimestamp is when the grace ends; Kubernetes waits for as long again. */
function stuckAt({ metadata }: Pod): number | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata ?? {};
  if (!deletionTimestamp || deletionGracePeriodSeconds === undefined) return undefined;
  return toMillis(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

function podAmounts(pod: Pod): Amounts {
  const amounts: Amounts = { 'count/pods': 1, pods: 1 };
  const requests = podRequests(pod);
  for (const name in requests) addRequest(amounts, name, requests[name]!);
  const limits = limitsOf(pod);
  for (const name of ['cpu', 'memory', 'ephemeral-storage'])
    if (limits[name] !== undefined) amounts[`limits.${name}`] = limits[name];
  return amounts;
}

function addRequest(amounts: Amounts, name: string, amount: number): void {
  if (!isNative(name)) {
    amounts[`requests.${name}`] = amount;
    return;
  }
  amounts[name] = amount;
  amounts[`requests.${name}`] = amount;
}

/** All limits that there are together; the overhead counts where there is one. */
function limitsOf({ spec }: Pod): Amounts {
  const limits = specAmounts(spec, 'limits');
  for (const name in spec?.overhead) if (limits[name]) limits[name] += resourceAmount(name, spec.overhead[name]);
  return limits;
}

function podFacts(pod: Pod): ScopeFacts {
  const { activeDeadlineSeconds, priorityClassName = '', affinity } = pod.spec ?? {};
  return {
    isPod: true,
    isTerminating: activeDeadlineSeconds !== undefined && activeDeadlineSeconds >= 0,
    isBestEffort: (pod.status?.qosClass || qosClass(pod)) === 'BestEffort',
    priorityClasses: priorityClassName === '' ? [] : [priorityClassName],
    crossesNamespaces: crossesNamespaces(affinity),
  };
}

/** Services with ports on the nodes: how many ports, and whether a load balancer is wanted. */
function portAmounts({ spec = {} }: Service): Amounts {
  const { type, ports = [], allocateLoadBalancerNodePorts } = spec;
  if (type === 'NodePort') return { 'services.nodeports': ports.length, 'services.loadbalancers': 0 };
  if (type !== 'LoadBalancer') return { 'services.nodeports': 0, 'services.loadbalancers': 0 };
  const taken = allocateLoadBalancerNodePorts === false ? ports.filter(({ nodePort }) => nodePort) : ports;
  return { 'services.nodeports': taken.length, 'services.loadbalancers': 1 };
}

function claimShare(claim: PersistentVolumeClaim): QuotaShare {
  const { spec = {}, status = {}, metadata } = claim;
  const storage = storageOf(spec.resources?.requests?.storage, status.allocatedResources?.storage);
  const own: Amounts = { persistentvolumeclaims: 1, ...(storage !== undefined && { 'requests.storage': storage }) };
  const amounts: Amounts = { 'count/persistentvolumeclaims': 1, ...own };
  const storageClass = metadata?.annotations?.[annotations.betaStorageClass] ?? spec.storageClassName;
  if (storageClass) for (const name in own) amounts[ofClass(storageClass, name)] = own[name]!;
  const attributesClasses = [
    spec.volumeAttributesClassName,
    status.currentVolumeAttributesClassName,
    status.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].flatMap((name) => name || []);
  return { amounts, facts: { isPod: false, attributesClasses: [...new Set(attributesClasses)] } };
}

/** While a volume grows, the more counts. */
function storageOf(requested: Quantity | undefined, allocated: Quantity | undefined): number | undefined {
  if (requested === undefined) return undefined;
  return Math.max(quantityValue(requested), allocated ? quantityValue(allocated) : 0);
}
