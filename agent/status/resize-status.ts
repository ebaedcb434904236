import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/generated/types.ts';
import { setConditions } from '../../api/meta/conditions.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { otherSize } from '../pod/container-size.ts';
import { refusalOf } from '../pod/pod-lifecycle.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import { containerId } from '../runtime/container-id.ts';

/** The conditions that a status has only while they are true. */
export const resizeConditions: readonly string[] = ['PodResizePending', 'PodResizeInProgress'];

/**
 * A pod's status with what its containers were given and have, and how far a change of that is. `pod` is as it was
 * given. Pure.
 */
export function withResizeStatus(status: PodStatus, record: PodRecord, pod: Pod, nowMs: number): PodStatus {
  if (refusalOf(record.life) !== undefined) return status;
  const next: PodStatus = { ...status };
  const { containers, initContainers } = pod.spec ?? {};
  if (status.containerStatuses) next.containerStatuses = withSizes(status.containerStatuses, containers, record);
  if (status.initContainerStatuses) next.initContainerStatuses = withSizes(status.initContainerStatuses, initContainers, record);
  const own = conditionsOf(record);
  if (own.length === 0) return next;
  const before = (record.status ?? record.pod?.status)?.conditions?.filter(({ type }) => own.some((each) => each.type === type));
  const generation = record.pod?.metadata?.generation;
  const told = own.map((each) => ({ ...each, ...(generation === undefined ? {} : { observedGeneration: generation }) }));
  next.conditions = [...(status.conditions ?? []), ...setConditions(before, told, secondsTimestamp(new Date(nowMs)))];
  return next;
}

function conditionsOf({ resize }: PodRecord): (PodCondition & { type: string; status: string })[] {
  const { pending, inProgress, error } = resize;
  return [
    ...(pending === undefined ? [] : [{ type: 'PodResizePending', status: 'True', ...pending }]),
    ...(inProgress
      ? [{ type: 'PodResizeInProgress', status: 'True', ...(error && { reason: 'Error', message: error.message }) }]
      : []),
  ];
}

function withSizes(
  statuses: readonly ContainerStatus[],
  containers: readonly Container[] | undefined,
  record: PodRecord,
): ContainerStatus[] {
  const byName = new Map((containers ?? []).map((container) => [container.name, container]));
  return statuses.map((status) => {
    const container = byName.get(status.name);
    if (container === undefined) return status;
    const { requests } = container.resources ?? {};
    const resources = status.state?.running === undefined ? container.resources : runningSize(status, container, record);
    return {
      ...status,
      ...(requests && { allocatedResources: requests }),
      ...(resources && Object.keys(resources).length > 0 && { resources }),
    };
  });
}

function runningSize(status: ContainerStatus, container: Container, record: PodRecord): Container['resources'] {
  const running = [...record.containers.values()].find((each) => containerId(each) === status.containerID);
  return (running && otherSize(record, container, running)) ?? container.resources;
}
