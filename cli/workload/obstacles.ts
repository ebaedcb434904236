import { list, type Tree, text } from '../describe/json.ts';
import { compareEvents, lastSeenText } from '../events/event-times.ts';

/** What keeps a workload itself from having its pods, beside what is wrong with these. */
export interface Obstacle {
  readonly type: 'paused' | 'suspended' | 'refused';
  readonly what: string;
}

/** Kinds that say in a condition that pods cannot be made; the others say it in events alone. */
const withCondition: readonly string[] = ['Deployment', 'ReplicaSet', 'ReplicationController'];

/** What a workload says of itself. Pure. */
export function obstaclesOf(kind: string, object: Tree): Obstacle[] {
  const name = text(object, 'metadata', 'name');
  const found: Obstacle[] = [];
  if (kind === 'Deployment' && text(object, 'spec', 'paused') === 'true')
    found.push({
      type: 'paused',
      what: `paused: "berth rollout resume deployment/${name}" lets changes of its template through`,
    });
  if ((kind === 'Job' || kind === 'CronJob') && text(object, 'spec', 'suspend') === 'true') {
    const resume = `berth patch ${kind.toLowerCase()} ${name} -p '{"spec":{"suspend":false}}'`;
    found.push({ type: 'suspended', what: `suspended: ${resume} lets it go on` });
  }
  const failure = list(object, 'status', 'conditions').find((each) => each.type === 'ReplicaFailure' && each.status === 'True');
  if (failure) found.push({ type: 'refused', what: refusal(text(failure, 'reason'), text(failure, 'message')) });
  return found;
}

/** A refusal that was seen so long ago is over. */
const recentMs = 5 * 60_000;

/** What events of a workload say of pods that could not be made, the newest of each reason. Pure. */
export function refusalsIn(kind: string, events: readonly Tree[], now: number): Obstacle[] {
  if (withCondition.includes(kind)) return [];
  const byReason = new Map<string, Tree>();
  for (const event of events.toSorted(compareEvents))
    if (event.type === 'Warning' && /^FailedCreate/.test(text(event, 'reason')) && isRecent(event, now))
      byReason.set(text(event, 'reason'), event);
  return [...byReason].map(([reason, event]) => ({ type: 'refused', what: refusal(reason, text(event, 'message').trim()) }));
}

function isRecent(event: Tree, now: number): boolean {
  return now - Date.parse(lastSeenText(event)) <= recentMs;
}

function refusal(reason: string, message: string): string {
  return `pods cannot be created, ${[reason, message].filter(Boolean).join(': ')}`;
}
