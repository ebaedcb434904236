import { list, type Tree, text } from '../describe/json.ts';
import { compareEvents } from '../events/event-times.ts';
import { obstaclesOf, refusalsIn } from '../workload/obstacles.ts';
import type { ExplainedTrouble } from '../workload/trouble-tails.ts';
import { troubleHeadline } from '../workload/trouble-text.ts';
import type { TroubleType } from '../workload/troubles.ts';
import { autoscaler, autoscalerObstacles } from './autoscaler.ts';
import { adviceLines } from './report.ts';
import type { Progress, WhyAnswer, WhyObstacle, WorkloadFacts, WorkloadState } from './workload-facts.ts';
import { notesOf } from './workload-notes.ts';
import { progressOf } from './workload-state.ts';

/** Why a workload is not up, or that it is. Pure. */
export function answerOf(facts: WorkloadFacts): WhyAnswer {
  const { kind, object, now } = facts;
  const progress = progressOf(kind, object, now);
  const own = [...obstaclesOf(kind, object), ...(progress.complete ? [] : refusalsIn(kind, facts.events, now))];
  const obstacles: WhyObstacle[] = [
    ...own.map(({ type, what }) => ({ what: type === 'refused' ? what : `it is ${what}`, pods: [], details: [] })),
    ...facts.troubles.filter(({ trouble }) => isInTheWay(trouble.type, progress)).map((each) => obstacleOf(each, facts)),
    ...facts.oldTroubles.map((each) => obstacleOf(each, facts, ' (of an earlier template)')),
    ...orderObstacle(facts),
    ...jobObstacles(facts),
    ...(kind === autoscaler ? autoscalerObstacles(object) : []),
  ];
  const state = stateOf(progress, obstacles);
  return {
    kind,
    namespace: text(object, 'metadata', 'namespace'),
    name: text(object, 'metadata', 'name'),
    state,
    headline: headline(facts, progress, state),
    obstacles,
    notes: notesOf(facts, progress),
  };
}

/** Pods on their way are in the way of nothing once all that is wanted is there. */
function isInTheWay(type: TroubleType, { complete }: Progress): boolean {
  return !(complete && (type === 'starting' || type === 'failed'));
}

function stateOf({ complete, stuck }: Progress, obstacles: readonly WhyObstacle[]): WorkloadState {
  if (stuck) return 'stuck';
  if (obstacles.some(({ isPassing = false }) => !isPassing)) return 'stuck';
  return complete ? 'up' : 'progressing';
}

function headline({ kind, object }: WorkloadFacts, progress: Progress, state: WorkloadState): string {
  const { counts, verdict } = progress;
  const subject = `${kind.toLowerCase()} ${text(object, 'metadata', 'namespace')}/${text(object, 'metadata', 'name')}`;
  const said = verdict ?? { up: 'is up', progressing: 'is on its way', stuck: stuckText(progress) }[state];
  return `${subject} ${said}${counts === '' ? '' : `: ${counts}`}.`;
}

/** Pods of an earlier revision go on serving while those of the last change do not start. */
function stuckText({ complete, serves = false }: Progress): string {
  if (!serves) return 'is not up';
  return complete ? 'is up, but not all is well' : 'is up, but its last change is stuck';
}

function obstacleOf({ trouble, lines, of }: ExplainedTrouble, facts: WorkloadFacts, suffix = ''): WhyObstacle {
  const details = [
    ...schedulingDetails(trouble.type, facts),
    ...(facts.podEvents.get(trouble.key) ?? []).toSorted(compareEvents).map(eventText),
    ...(lines.length === 0 ? [] : [`Last log lines of ${of}:`, ...lines.map((line) => `  ${line}`)]),
  ];
  return {
    what: `${troubleHeadline(trouble)}${suffix}`,
    ...(trouble.type === 'starting' && { isPassing: true }),
    pods: trouble.pods.map((pod) => text(pod, 'metadata', 'name')),
    details,
  };
}

function eventText(event: Tree): string {
  return `${text(event, 'reason')}: ${text(event, 'message').trim()}`;
}

/** What would have to be otherwise, in the scheduler's words. */
function schedulingDetails(type: TroubleType, { scheduling }: WorkloadFacts): string[] {
  if (!scheduling || (type !== 'unschedulable' && type !== 'starting')) return [];
  return 'silent' in scheduling ? [`the scheduler does not say why: ${scheduling.silent}`] : adviceLines(scheduling);
}

/** Pods of a StatefulSet are made one after the other: one that is not ready holds up those behind it. */
function orderObstacle({ kind, object, pods }: WorkloadFacts): WhyObstacle[] {
  if (kind !== 'StatefulSet' || text(object, 'spec', 'podManagementPolicy') === 'Parallel') return [];
  const wanted = Number(text(object, 'spec', 'replicas') || '0');
  const there = Number(text(object, 'status', 'replicas') || '0');
  const ordinal = (pod: Tree): number => Number(text(pod, 'metadata', 'name').split('-').at(-1));
  const first = pods.toSorted((a, b) => ordinal(a) - ordinal(b)).find((pod) => !isReady(pod));
  if (!first || there >= wanted) return [];
  const name = text(first, 'metadata', 'name');
  return [
    { what: `the pods behind ${name} are made when it is ready (podManagementPolicy OrderedReady)`, pods: [], details: [] },
  ];
}

function isReady(pod: Tree): boolean {
  return list(pod, 'status', 'conditions').some((each) => each.type === 'Ready' && each.status === 'True');
}

/** What is wrong with the last job of a CronJob. */
function jobObstacles({ lastJob }: WorkloadFacts): WhyObstacle[] {
  if (!lastJob) return [];
  const { state, headline: said, obstacles } = answerOf(lastJob);
  if (state !== 'stuck') return [];
  return [{ what: `its last ${said.replace(/\.$/, '')}`, pods: [], details: [] }, ...obstacles];
}
