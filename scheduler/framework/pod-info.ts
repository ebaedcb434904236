import type { Container, Pod } from '../../api/generated/types.ts';
import { type HostPort, hostPorts } from '../../api/kinds/pod/host-ports.ts';
import { type PodRequests, podRequests } from '../../api/kinds/pod/resources.ts';
import { claimsOf } from '../../api/kinds/storage.ts';
import { type PodFace, podFace } from './pod-selection.ts';
import { type PodTerms, podTerms } from './pod-terms.ts';

/** What a pod takes from a node. */
export interface Resources {
  readonly cpuMilli: number;
  readonly memory: number;
  readonly ephemeralStorage: number;
  /** Everything else by its name, e.g. "example.com/gpu"; whole units. */
  readonly extended: ReadonlyMap<string, number>;
}

/** A pod with what every attempt would compute again. Made once per version of the pod, never changed. */
export interface PodInfo {
  /**
   * What placing is about; how its containers run is left out. Parts that are equal in many pods are one value:
   * change none.
   */
  readonly pod: Pod;
  /** namespace/name. */
  readonly key: string;
  readonly uid: string;
  /** The scheduler whose profile places the pod. */
  readonly schedulerName: string;
  readonly priority: number;
  readonly requests: Resources;
  /** CPU and memory for comparing nodes: a container that asks for nothing is taken to use a little. */
  readonly scoringCpuMilli: number;
  readonly scoringMemory: number;
  /** Ports of the machine that it takes for itself; usually none. */
  readonly hostPorts: readonly HostPort[];
  /** The PersistentVolumeClaims that it uses, as namespace/name; usually none. */
  readonly claims: readonly string[];
  /** What other pods' selectors see of it. */
  readonly face: PodFace;
  /** What it says of other pods; nothing, for most. */
  readonly terms: PodTerms;
}

/** What a container without requests is taken to use when nodes are compared. Kubernetes' figures. */
export const assumedRequests = { cpu: { string: '100m' }, memory: { string: '200Mi' } };

export function podInfo(pod: Pod): PodInfo {
  const { namespace = '', name = '', uid = '' } = pod.metadata ?? {};
  const requests = podRequests(pod);
  const scoring = asksForAll(pod) ? requests : podRequests(withAssumedRequests(pod));
  return {
    pod,
    key: `${namespace}/${name}`,
    uid,
    schedulerName: pod.spec?.schedulerName ?? '',
    priority: pod.spec?.priority ?? 0,
    requests: resourcesOf(requests),
    scoringCpuMilli: scoring.cpu,
    scoringMemory: scoring.memory,
    hostPorts: hostPorts(pod),
    claims: claimKeys(pod, namespace),
    face: podFace(pod),
    terms: podTerms(pod),
  };
}

// Most pods have neither, and there may be many pods: nothing is kept once.
const noExtended: Resources['extended'] = new Map();
const noClaims: readonly string[] = [];

function resourcesOf({ cpu, memory, 'ephemeral-storage': ephemeralStorage = 0, ...others }: PodRequests): Resources {
  const amounts = Object.entries(others);
  return { cpuMilli: cpu, memory, ephemeralStorage, extended: amounts.length > 0 ? new Map(amounts) : noExtended };
}

function claimKeys(pod: Pod, namespace: string): readonly string[] {
  const claims = claimsOf(pod);
  return claims.length > 0 ? [...new Set(claims)].map((claim) => `${namespace}/${claim}`) : noClaims;
}

function asksForAll(pod: Pod): boolean {
  return [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].every(
    ({ resources }) => resources?.requests?.cpu && resources.requests.memory,
  );
}

function withAssumedRequests(pod: Pod): Pod {
  const assume = (container: Container): Container => ({
    ...container,
    resources: { ...container.resources, requests: { ...assumedRequests, ...container.resources?.requests } },
  });
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  return { ...pod, spec: { ...pod.spec, containers: containers.map(assume), initContainers: initContainers.map(assume) } };
}
