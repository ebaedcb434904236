import { ApiError, badRequest } from '../../api/errors/index.ts';
import { annotations } from '../../api/meta/well-known.ts';
import { hasEnded, isAlive } from '../pod/observation.ts';
import { findContainer, initContainers, podContainers } from '../pod/pod-containers.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import { mayRestart } from '../pod/restart-policy.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';

/** The container that a request means: the one it names, the pod's default, or its only one. Throws ApiError. */
export function chooseName(record: PodRecord, wanted: string | undefined): string {
  const all = record.pod === undefined ? [] : podContainers(record.pod);
  const names = all.map(({ container }) => container.name ?? '');
  const main = all.filter(({ role }) => role === 'main').map(({ container }) => container.name ?? '');
  const pod = record.pod?.metadata?.name ?? '';
  const name =
    wanted || record.pod?.metadata?.annotations?.[annotations.defaultContainer] || (main.length === 1 ? main[0] : undefined);
  if (name === undefined || name === '')
    throw badRequest(`a container name must be given for pod ${pod}, choose one of: [${names.join(' ')}]`);
  if (!names.includes(name))
    throw badRequest(`container ${name} is not valid for pod ${pod}, choose one of: [${names.join(' ')}]`);
  return name;
}

/** The attempts of a container that were started, the newest first. */
function attemptsOf(record: PodRecord, name: string): ObservedContainer[] {
  return [...record.containers.values()]
    .filter((container) => container.containerName === name && (isAlive(container) || hasEnded(container)))
    .sort((a, b) => b.attempt - a.attempt);
}

export interface LogChoice {
  readonly wanted: string | undefined;
  readonly previous: boolean;
  /** One run of the container; empty: not only one. */
  readonly containerID: string;
}

/** The container to read: the newest, the one before it, or this one run of it. */
export function chooseForLogs(record: PodRecord, { wanted, previous, containerID }: LogChoice): ObservedContainer {
  const name = chooseName(record, wanted);
  const pod = record.pod?.metadata?.name ?? '';
  const attempts = attemptsOf(record, name);
  const [newest] = attempts;
  if (containerID !== '') {
    const same = attempts.find((container) => container.id === containerID);
    if (same === undefined)
      throw new ApiError(
        'NOT_FOUND',
        'NotFound',
        `the run of container "${name}" in pod "${pod}" that was read is no longer kept`,
      );
    return same;
  }
  if (previous) {
    // During the restart back-off the newest run has ended, and is the previous one.
    const before = newest !== undefined && hasEnded(newest) && restarts(record, newest) ? newest : attempts[1];
    if (before === undefined) throw badRequest(`previous terminated container "${name}" in pod "${pod}" not found`);
    return before;
  }
  if (newest === undefined) {
    const waits = initContainers(record.pod ?? {}).length > 0 ? 'PodInitializing' : 'ContainerCreating';
    const why = record.blocked.get(name)?.reason ?? waits;
    throw badRequest(`container "${name}" in pod "${pod}" is waiting to start: ${why}`);
  }
  return newest;
}

/** Whether a container that has ended runs once more. */
function restarts({ pod }: PodRecord, { containerName, exitCode }: ObservedContainer): boolean {
  const each = findContainer(pod, containerName);
  return pod !== undefined && each !== undefined && mayRestart(pod, each, exitCode);
}

/** The container to run a command in or to join. */
export function chooseRunning(record: PodRecord, wanted: string | undefined): ObservedContainer {
  const name = chooseName(record, wanted);
  const running = attemptsOf(record, name).find((container) => container.state === 'running');
  if (running === undefined) throw badRequest(`container "${name}" in pod "${record.pod?.metadata?.name ?? ''}" is not running`);
  return running;
}

/**
 * The container to join: one that runs; with input also one that has ended while it waited for its only session, which
 * may not have come (`stdinOnce`). The runtime knows, and refuses others.
 */
export function chooseForAttach(record: PodRecord, wanted: string | undefined, stdin: boolean): ObservedContainer {
  const name = chooseName(record, wanted);
  const [newest] = attemptsOf(record, name);
  const { container } = findContainer(record.pod, name) ?? {};
  const waits = stdin && container?.stdin === true && container.stdinOnce === true;
  return waits && newest !== undefined && hasEnded(newest) ? newest : chooseRunning(record, name);
}

/** The container whose files are read or written: running or, as long as it is kept, ended. */
export function chooseForFiles(record: PodRecord, wanted: string | undefined): ObservedContainer {
  const name = chooseName(record, wanted);
  const [newest] = attemptsOf(record, name);
  if (newest === undefined)
    throw badRequest(`container "${name}" in pod "${record.pod?.metadata?.name ?? ''}" has not started yet`);
  return newest;
}
