import { badRequest } from '../../api/errors/index.ts';
import { annotations } from '../../api/meta/well-known.ts';
import { hasEnded, isAlive } from '../pod/observation.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';

/** The container that a request means: the one it names, the pod's default, or its only one. Throws ApiError. */
export function chooseName(record: PodRecord, wanted: string | undefined): string {
  const names = (record.pod?.spec?.containers ?? []).map((container) => container.name ?? '');
  const pod = record.pod?.metadata?.name ?? '';
  const name =
    wanted || record.pod?.metadata?.annotations?.[annotations.defaultContainer] || (names.length === 1 ? names[0] : undefined);
  if (name === undefined || name === '')
    throw badRequest(`a container name must be given for pod ${pod}, choose one of: [${names.join(' ')}]`);
  if (!names.includes(name))
    throw badRequest(`container ${name} is not valid for pod ${pod}, choose one of: [${names.join(' ')}]`);
  return name;
}

/** Its attempts that were started, the newest first. */
function attemptsOf(record: PodRecord, name: string): ObservedContainer[] {
  return [...record.containers.values()]
    .filter((container) => container.containerName === name && (isAlive(container) || hasEnded(container)))
    .sort((a, b) => b.attempt - a.attempt);
}

/** The container to read: the newest, or the one before it. */
export function chooseForLogs(record: PodRecord, wanted: string | undefined, previous: boolean): ObservedContainer {
  const name = chooseName(record, wanted);
  const pod = record.pod?.metadata?.name ?? '';
  const attempts = attemptsOf(record, name);
  const [newest] = attempts;
  if (previous) {
    // While a restart is waited for the newest has ended and is the one before the next.
    const before = newest !== undefined && isAlive(newest) ? attempts[1] : (attempts[1] ?? newest);
    if (before === undefined) throw badRequest(`previous terminated container "${name}" in pod "${pod}" not found`);
    return before;
  }
  if (newest === undefined) {
    const why = record.blocked.get(name)?.reason ?? 'ContainerCreating';
    throw badRequest(`container "${name}" in pod "${pod}" is waiting to start: ${why}`);
  }
  return newest;
}

/** The container to run a command in. */
export function chooseForExec(record: PodRecord, wanted: string | undefined): ObservedContainer {
  const name = chooseName(record, wanted);
  const running = attemptsOf(record, name).find((container) => container.state === 'running');
  if (running === undefined) throw badRequest(`container "${name}" in pod "${record.pod?.metadata?.name ?? ''}" is not running`);
  return running;
}
