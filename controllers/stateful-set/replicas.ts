import type { ControllerRevision, Pod, StatefulSet } from '../../api/generated/types.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { percentOf } from '../../api/kinds/pod-disruption-budget/scaled.ts';
import { workloadLabels } from '../../api/meta/workload-names.ts';
import { isAvailable } from '../owned-pods/availability.ts';
import { nameOfRevision } from '../revisions/history.ts';

/** The ordinal in a pod's name; undefined for a pod that is none of the set's. */
export function ordinalOf({ metadata }: StatefulSet, pod: Pod): number | undefined {
  const prefix = `${metadata?.name}-`;
  const name = pod.metadata?.name ?? '';
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  const ordinal = /^(?:0|[1-9]\d{0,9})$/.test(digits) ? Number(digits) : Number.NaN;
  return ordinal < 2 ** 31 ? ordinal : undefined;
}

/** How many pods there are to be, and how they are replaced. */
export interface Wishes {
  /** The first ordinal, and the first one beyond the last. */
  readonly start: number;
  readonly end: number;
  /** Pods from this ordinal on are to have the present template. */
  readonly updatedFrom: number;
  readonly maxUnavailable: number;
  /** One pod after the other, each when the one before is available. */
  readonly isOrdered: boolean;
  readonly isRolling: boolean;
  readonly minReadySeconds: number;
}

/** A percentage of the pods that may be unavailable is rounded down, and is 1 at least. */
export function wishesOf({ spec = {} }: StatefulSet): Wishes {
  const replicas = spec.replicas ?? 1;
  const start = spec.ordinals?.start ?? 0;
  const { partition = 0, maxUnavailable } = spec.updateStrategy?.rollingUpdate ?? {};
  const percent = maxUnavailable?.type === 1 ? (percentOf(maxUnavailable.strVal ?? '') ?? 0) : undefined;
  const most = percent === undefined ? (maxUnavailable?.intVal ?? 1) : Math.floor((percent * replicas) / 100);
  return {
    start,
    end: start + replicas,
    updatedFrom: start + partition,
    maxUnavailable: Math.max(1, most),
    isOrdered: spec.podManagementPolicy !== 'Parallel',
    isRolling: spec.updateStrategy?.type !== 'OnDelete',
    minReadySeconds: spec.minReadySeconds ?? 0,
  };
}

export const isLeaving = ({ metadata }: Pod): boolean => metadata?.deletionTimestamp !== undefined;
export const isRunningAndReady = (pod: Pod): boolean => pod.status?.phase === 'Running' && isPodReady(pod);

/** Whether the pod has been ready for `minReadySeconds`, and is to stay. */
export function isServing(pod: Pod, { minReadySeconds }: Wishes, now: number): boolean {
  return isRunningAndReady(pod) && !isLeaving(pod) && isAvailable(pod, minReadySeconds, now);
}

/** The name of the revision that a pod is of. */
export const revisionOf = ({ metadata }: Pod): string => metadata?.labels?.[workloadLabels.controllerRevisionHash] ?? '';
export const isOfRevision = (pod: Pod, revision: ControllerRevision): boolean => revisionOf(pod) === nameOfRevision(revision);
