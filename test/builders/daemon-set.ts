import type { DaemonSet, DaemonSetSpec, Node, Pod, PodSpec, Taint } from '../../api/generated/types.ts';
import { workloadAnnotations, workloadLabels } from '../../api/meta/workload-names.ts';
import type { DaemonView } from '../../controllers/daemon-set/decide.ts';
import { affinityTo } from '../../controllers/daemon-set/new-pod.ts';

export const now = 1_800_000_000_000;
const secondsAgo = (seconds: number) => ({ seconds: now / 1000 - seconds });

export interface DaemonParts {
  readonly spec?: DaemonSetSpec;
  /** Of the template. */
  readonly pod?: PodSpec;
  readonly generation?: number;
  readonly status?: DaemonSet['status'];
}

/** A DaemonSet "log" as it is stored. */
export function daemonSetOf({ spec, pod, generation = 1, status }: DaemonParts = {}): DaemonSet {
  const annotations = { [workloadAnnotations.templateGeneration]: String(generation) };
  return {
    metadata: { namespace: 'a', name: 'log', uid: 'd1', generation: 1, annotations },
    spec: {
      selector: { matchLabels: { app: 'log' } },
      template: { metadata: { labels: { app: 'log' } }, spec: { containers: [{ name: 'c', image: 'i:1' }], ...pod } },
      updateStrategy: {
        type: 'RollingUpdate',
        rollingUpdate: { maxUnavailable: { type: 0, intVal: 1 }, maxSurge: { type: 0, intVal: 0 } },
      },
      revisionHistoryLimit: 10,
      ...spec,
    },
    ...(status && { status }),
  };
}

export interface NodeParts {
  readonly labels?: Record<string, string>;
  readonly taints?: readonly Taint[];
}

export const nodeNamed = (name: string, { labels, taints }: NodeParts = {}): Node => ({
  metadata: { name, uid: name, ...(labels && { labels }) },
  spec: taints ? { taints: [...taints] } : {},
});

export interface DaemonPodParts {
  readonly hash?: string;
  /** For how many seconds it has been ready; absent: it is not. */
  readonly readyFor?: number;
  readonly phase?: string;
  readonly isLeaving?: boolean;
  /** Tied to the node, and not bound to it yet. */
  readonly isWaiting?: boolean;
  readonly age?: number;
}

/** A pod of that set on a node. */
export function daemonPod(name: string, node: string, parts: DaemonPodParts = {}): Pod {
  const { hash = 'h1', readyFor, phase = 'Running', isLeaving, isWaiting, age = 100 } = parts;
  return {
    metadata: {
      namespace: 'a',
      name,
      uid: name,
      creationTimestamp: secondsAgo(age),
      labels: { app: 'log', [workloadLabels.controllerRevisionHash]: hash, [workloadLabels.templateGeneration]: '1' },
      ...(isLeaving && { deletionTimestamp: secondsAgo(1) }),
    },
    spec: { ...(!isWaiting && { nodeName: node }), affinity: affinityTo(node, undefined) },
    status: {
      phase: isWaiting ? 'Pending' : phase,
      conditions: readyFor === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: secondsAgo(readyFor) }],
    },
  };
}

export interface DaemonViewParts {
  readonly set?: DaemonSet;
  readonly hash?: string;
  readonly nodes?: readonly Node[];
  readonly pods?: readonly Pod[];
  readonly replaceableInMs?: number;
}

/** What is decided on, of that set; on the nodes n1 to n3. */
export function daemonViewOf({ set = daemonSetOf(), hash = 'h1', pods = [], ...parts }: DaemonViewParts): DaemonView {
  const { nodes = ['n1', 'n2', 'n3'].map((name) => nodeNamed(name)), replaceableInMs = 0 } = parts;
  return { set, hash, nodes, pods, replaceableInMs: () => replaceableInMs, now };
}
