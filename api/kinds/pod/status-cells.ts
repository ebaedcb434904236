import type { Container, ContainerStatus, Pod } from '../../generated/types.ts';
import { findCondition, isConditionTrue } from '../../meta/conditions.ts';
import { toMillis } from '../../meta/time.ts';
import { formatAge, NONE } from '../cells.ts';

/** An init container that goes on running beside the others. */
export function isSidecar(container: Pick<Container, 'restartPolicy'> | undefined): boolean {
  return container?.restartPolicy === 'Always';
}

function sidecarNames(pod: Pod): Set<string> {
  return new Set((pod.spec?.initContainers ?? []).filter(isSidecar).map((container) => container.name ?? ''));
}

/**
 * "1/2": ready containers, sidecars among them, of all that should be. None on a node that does not report: what was
 * last heard of them says nothing about now. (Kubernetes goes on printing what was last heard.)
 */
export function podReadyCell(pod: Pod): string {
  const sidecars = sidecarNames(pod);
  const all = (pod.spec?.containers?.length ?? 0) + sidecars.size;
  if (findCondition(pod.status?.conditions, 'Ready')?.reason === 'NodeNotReady') return `0/${all}`;
  const statuses = pod.status?.containerStatuses ?? [];
  const inits = (pod.status?.initContainerStatuses ?? []).filter((status) => sidecars.has(status.name ?? ''));
  const ready = statuses.filter((status) => status.ready && status.state?.running).length + inits.filter(isUp).length;
  return `${ready}/${all}`;
}

/** A sidecar counts once it has started and is ready. */
function isUp(status: ContainerStatus): boolean {
  return Boolean(status.started && status.ready);
}

/** What `kubectl get pods` prints as STATUS: one word that says where the pod stands or what holds it up. */
export function podStatusCell(pod: Pod): string {
  const base = pod.status?.reason || pod.status?.phase || 'Unknown';
  if (pod.metadata?.deletionTimestamp) return pod.status?.reason === 'NodeLost' ? 'Unknown' : 'Terminating';
  if (findCondition(pod.status?.conditions, 'PodScheduled')?.reason === 'SchedulingGated') return 'SchedulingGated';
  const initializing = initReason(pod);
  if (initializing && !isConditionTrue(pod.status?.conditions, 'Initialized')) return initializing;
  return containersReason(pod, base);
}

/** The first init container that is not done says it all; undefined when all are. */
function initReason(pod: Pod): string | undefined {
  const specs = pod.spec?.initContainers ?? [];
  const sidecars = sidecarNames(pod);
  for (const [i, status] of (pod.status?.initContainerStatuses ?? []).entries()) {
    const { terminated, waiting } = status.state ?? {};
    if (terminated && (terminated.exitCode ?? 0) === 0) continue;
    if (sidecars.has(status.name ?? '') && status.started) continue;
    if (terminated) return `Init:${endReason(terminated)}`;
    if (waiting?.reason && waiting.reason !== 'PodInitializing') return `Init:${waiting.reason}`;
    return `Init:${i}/${specs.length}`;
  }
  return undefined;
}

function endReason({ reason, signal, exitCode }: { reason?: string; signal?: number; exitCode?: number }): string {
  return reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode ?? 0}`);
}

/** The first container that has something to say wins over the others; one that runs turns "Completed" back. */
function containersReason(pod: Pod, base: string): string {
  let [reason, hasRunning] = [base, false];
  for (const status of [...(pod.status?.containerStatuses ?? [])].reverse()) {
    const { waiting, terminated, running } = status.state ?? {};
    if (waiting?.reason) reason = waiting.reason;
    else if (terminated) reason = endReason(terminated);
    else if (status.ready && running) hasRunning = true;
  }
  if (reason !== 'Completed' || !hasRunning) return reason;
  return isConditionTrue(pod.status?.conditions, 'Ready') ? 'Running' : 'NotReady';
}

/** "3 (2m ago)": restarts of all containers, and when the last of them was. */
export function podRestartsCell(pod: Pod, now: Date): string {
  const { restarts, lastAt } = countRestarts(pod);
  return restarts > 0 && lastAt > 0 ? `${restarts} (${formatAge(now.getTime() - lastAt)} ago)` : String(restarts);
}

/** While the pod initializes its init containers count, afterwards the others and the sidecars. */
function countRestarts(pod: Pod): { restarts: number; lastAt: number } {
  const sidecars = sidecarNames(pod);
  const inits = pod.status?.initContainerStatuses ?? [];
  const initializing = initReason(pod) !== undefined && !isConditionTrue(pod.status?.conditions, 'Initialized');
  const counted = initializing
    ? inits
    : [...inits.filter(({ name }) => sidecars.has(name ?? '')), ...(pod.status?.containerStatuses ?? [])];
  let [restarts, lastAt] = [0, 0];
  for (const status of counted) {
    restarts += status.restartCount ?? 0;
    const finishedAt = status.lastState?.terminated?.finishedAt;
    if (finishedAt) lastAt = Math.max(lastAt, toMillis(finishedAt));
  }
  return { restarts, lastAt };
}

/** "1/2": readiness gates that are true, of all. */
export function readinessGatesCell(pod: Pod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return NONE;
  const met = gates.filter((gate) => isConditionTrue(pod.status?.conditions, gate.conditionType ?? '')).length;
  return `${met}/${gates.length}`;
}
