import { list, type Tree, text } from '../describe/json.ts';
import { compareEvents, lastSeenText } from '../events/event-times.ts';
import { formatAge } from '../printers/age.ts';
import { autoscaler, autoscalerNotes } from './autoscaler.ts';
import { controlledBy } from './pod-workload.ts';
import type { Progress, WorkloadFacts } from './workload-facts.ts';

/** Events of an hour ago are no news. */
const recentMs = 3_600_000;

/** Events that say what a controller did, or did not do, with the workload. */
const toldReasons: readonly string[] = [
  ...['DeploymentRollback', 'MissSchedule', 'TooManyMissedTimes', 'JobAlreadyActive', 'UnexpectedJob', 'FailedDaemonPod'],
];

/** What is worth knowing beside what is in the way. Pure. */
export function notesOf(facts: WorkloadFacts, progress: Progress): string[] {
  return [
    ...waitNotes(facts),
    ...strategyNotes(facts, progress),
    ...eventNotes(facts),
    ...budgetNotes(facts),
    ...ownerNotes(facts),
    ...(facts.kind === autoscaler ? autoscalerNotes(facts.object) : []),
  ];
}

/** Pods that are ready and do not count as available yet. */
function waitNotes({ kind, object }: WorkloadFacts): string[] {
  const seconds = text(object, 'spec', 'minReadySeconds');
  if (seconds === '' || seconds === '0') return [];
  const number = (name: string): number => Number(text(object, 'status', name) || '0');
  const waiting =
    kind === 'DaemonSet'
      ? number('numberReady') - number('numberAvailable')
      : number('readyReplicas') - number('availableReplicas');
  if (waiting <= 0) return [];
  return [`${count(waiting)} ready, and available once that has lasted ${seconds}s (minReadySeconds)`];
}

const count = (pods: number): string => (pods === 1 ? '1 pod is' : `${pods} pods are`);

function strategyNotes({ kind, object, pods }: WorkloadFacts, { complete }: Progress): string[] {
  const notes: string[] = [];
  const isUpdatedByHand = text(object, 'spec', 'updateStrategy', 'type') === 'OnDelete';
  const updated = Number(text(object, 'status', kind === 'DaemonSet' ? 'updatedNumberScheduled' : 'updatedReplicas') || '0');
  const wanted = Number(
    text(object, ...(kind === 'DaemonSet' ? ['status', 'desiredNumberScheduled'] : ['spec', 'replicas'])) || '0',
  );
  if (isUpdatedByHand && updated < wanted)
    notes.push(`${count(wanted - updated)} of an earlier template until deleted (updateStrategy OnDelete)`);
  const misscheduled = Number(text(object, 'status', 'numberMisscheduled') || '0');
  if (misscheduled > 0) notes.push(`${count(misscheduled)} on nodes that should not have one`);
  if (kind === 'Deployment' && !complete && text(object, 'spec', 'strategy', 'type') === 'Recreate' && pods.length === 0)
    notes.push('new pods are made when all earlier ones are gone (strategy Recreate)');
  return notes;
}

function eventNotes({ events, now }: WorkloadFacts): string[] {
  const newest = new Map<string, Tree>();
  for (const event of events.toSorted(compareEvents))
    if (toldReasons.includes(text(event, 'reason')) && now - Date.parse(lastSeenText(event)) < recentMs)
      newest.set(text(event, 'reason'), event);
  return [...newest.values()].map(
    (event) =>
      `${formatAge(now - Date.parse(lastSeenText(event)))} ago, ${text(event, 'reason')}: ${text(event, 'message').trim()}`,
  );
}

/** Budgets that let no pod go: of no consequence to a rollout, but to drains and evictions. */
function budgetNotes({ budgets }: WorkloadFacts): string[] {
  return budgets
    .filter(
      (budget) => text(budget, 'status', 'disruptionsAllowed') === '0' || text(budget, 'status', 'disruptionsAllowed') === '',
    )
    .map((budget) => {
      const [healthy, desired] = ['currentHealthy', 'desiredHealthy'].map((name) => text(budget, 'status', name) || '0');
      const name = text(budget, 'metadata', 'name');
      return `poddisruptionbudget ${name} lets no pod be evicted now (${healthy} healthy, ${desired} wanted): "berth drain" waits for it`;
    });
}

function ownerNotes({ kind, object }: WorkloadFacts): string[] {
  const owner = list(object, 'metadata', 'ownerReferences').find((each) => each.controller === true);
  if (!owner || kind === 'CronJob') return [];
  const name = `${text(owner, 'kind').toLowerCase()}/${text(owner, 'name')}`;
  return [`it is ${controlledBy(name)}`];
}
