import type { Action, Plan, StopInTurn } from '../../agent/pod/plan.ts';
import { specHash } from '../../agent/pod/spec-hash.ts';
import type { ObservedContainer } from '../../agent/runtime/runtime.ts';

/** The instant at which plans are made in tests. */
export const now = Date.UTC(2026, 0, 1, 12);
export const ago = (seconds: number) => new Date(now - seconds * 1000);
export const image = 'app:1';

/** A container that runs, made from the spec `{ name, image }`; "POD" is the sandbox. */
export function container(containerName: string, change: Partial<ObservedContainer> = {}): ObservedContainer {
  const attempt = change.attempt ?? 0;
  return {
    podUid: 'u',
    podName: 'web',
    podNamespace: 'default',
    containerName,
    attempt,
    restartsInRow: attempt,
    specHash: containerName === 'POD' ? '' : specHash({ name: containerName, image }),
    gracePeriodSeconds: 30,
    id: `${containerName}-${attempt}`,
    state: 'running',
    image,
    imageId: 'sha256:1',
    createdAt: ago(100),
    startedAt: ago(100),
    finishedAt: undefined,
    exitCode: undefined,
    oomKilled: false,
    error: '',
    ip: containerName === 'POD' ? '10.88.0.2' : undefined,
    pid: undefined,
    ...change,
  };
}

/** One that has ended. */
export const dead = (name: string, exitCode: number, finishedAgo: number, change: Partial<ObservedContainer> = {}) =>
  container(name, { state: 'exited', exitCode, finishedAt: ago(finishedAgo), startedAt: ago(finishedAgo + 1), ...change });

function words(action: Action): string {
  if (action.type === 'run-sandbox') return `sandbox ${action.attempt}`;
  if (action.type === 'run-container') return `run ${action.name} ${action.attempt} (${action.restartsInRow} in a row)`;
  if (action.type === 'remove-container') return `remove ${action.container.id}`;
  if (action.type === 'update-container') return `resize ${action.container.id}`;
  const within = action.gracePeriodSeconds === undefined ? '' : ` within ${action.gracePeriodSeconds}`;
  return `stop ${action.container.id}${within}: ${action.why}`;
}

/** A plan as words, sorted where order means nothing. */
export function describePlan(plan: Plan): string[] {
  if (plan.type === 'sync')
    return [...plan.actions.map(words), ...(plan.wakeAt === undefined ? [] : [`wake in ${(plan.wakeAt - now) / 1000}`])].sort();
  if (plan.type === 'finish') return ['finish', ...plan.stop.map(inTurn), ...plan.remove.map((one) => `remove ${one.id}`)];
  return [`kill with ${plan.gracePeriodSeconds}`, ...plan.stop.map(inTurn)];
}

const inTurn = ({ container: { id }, turn }: StopInTurn) => (turn === 0 ? `stop ${id}` : `then stop ${id} (${turn})`);
