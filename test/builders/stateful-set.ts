import type {
  ControllerRevision,
  OwnerReference,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
  StatefulSetSpec,
} from '../../api/generated/types.ts';
import { workloadLabels } from '../../api/meta/workload-names.ts';
import type { SetView } from '../../controllers/stateful-set/decide.ts';

export const now = 1_800_000_000_000;
export const secondsAgo = (seconds: number) => ({ seconds: now / 1000 - seconds });

/** A StatefulSet "web" as it is stored, of generation 1. */
export function statefulSetOf(spec: StatefulSetSpec = {}, status: StatefulSet['status'] = {}): StatefulSet {
  return {
    metadata: { namespace: 'a', name: 'web', uid: 's1', generation: 1 },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } },
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      revisionHistoryLimit: 10,
      ...spec,
    },
    status,
  };
}

export interface StatefulPodParts {
  readonly revision?: string;
  /** For how many seconds it has been ready; absent: it is not. */
  readonly readyFor?: number;
  readonly phase?: string;
  readonly isLeaving?: boolean;
  readonly uid?: string;
}

/** A pod of that set, which runs. */
export function podAt(ordinal: number, parts: StatefulPodParts = {}): Pod {
  const { revision = 'r1', readyFor, phase = 'Running', isLeaving = false, uid = `u${ordinal}` } = parts;
  const name = `web-${ordinal}`;
  return {
    metadata: {
      namespace: 'a',
      name,
      uid,
      labels: {
        app: 'web',
        [workloadLabels.statefulSetPodName]: name,
        [workloadLabels.podIndex]: String(ordinal),
        [workloadLabels.controllerRevisionHash]: revision,
      },
      ...(isLeaving && { deletionTimestamp: secondsAgo(1) }),
    },
    status: {
      phase,
      conditions: readyFor === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: secondsAgo(readyFor) }],
    },
  };
}

export const revisionNamed = (name: string): ControllerRevision => ({ metadata: { namespace: 'a', name, uid: name } });

export interface ClaimParts {
  readonly owners?: readonly OwnerReference[];
  readonly isLeaving?: boolean;
}

export function claimNamed(name: string, { owners, isLeaving }: ClaimParts = {}): PersistentVolumeClaim {
  return {
    metadata: {
      namespace: 'a',
      name,
      uid: name,
      ...(owners && { ownerReferences: [...owners] }),
      ...(isLeaving && { deletionTimestamp: secondsAgo(1) }),
    },
  };
}

export interface ViewParts {
  readonly spec?: StatefulSetSpec;
  readonly pods?: readonly Pod[];
  /** Names of revisions; the update is the current one unless said. */
  readonly current?: string;
  readonly update?: string;
  readonly isCurrentProven?: boolean;
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly replaceableInMs?: number;
}

/** What is decided on, of that set. */
export function setViewOf({ spec, pods = [], current = 'r1', update = current, claims = [], ...parts }: ViewParts): SetView {
  return {
    set: statefulSetOf(spec),
    pods,
    current: revisionNamed(current),
    update: revisionNamed(update),
    isCurrentProven: parts.isCurrentProven ?? true,
    claim: (name) => claims.find(({ metadata }) => metadata?.name === name),
    replaceableInMs: () => parts.replaceableInMs ?? 0,
    now,
  };
}
