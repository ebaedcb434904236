import type { ContainerStatus, PodStatus } from '../../api/generated/types.ts';

/** The containers that wait after a crash now and did not before, or not for this restart. */
export function newCrashLoops(before: PodStatus | undefined, after: PodStatus): string[] {
  const waits = (status: ContainerStatus | undefined) => status?.state?.waiting?.reason === 'CrashLoopBackOff';
  const all = ({ initContainerStatuses = [], containerStatuses = [] }: PodStatus) => [
    ...initContainerStatuses,
    ...containerStatuses,
  ];
  const known = new Map(all(before ?? {}).map((status) => [status.name, status]));
  return all(after).flatMap((status) => {
    const last = known.get(status.name);
    return waits(status) && !(waits(last) && last?.restartCount === status.restartCount) ? [status.name ?? ''] : [];
  });
}
