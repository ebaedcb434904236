import { parseSchedule } from '../../api/kinds/cron-job/schedule.ts';
import { list, type Tree, text, tree } from '../describe/json.ts';
import { formatAge } from '../printers/age.ts';
import { revisionOf } from '../workload/owned-pods.ts';
import { autoscaler, ofAutoscaler } from './autoscaler.ts';
import type { Progress } from './workload-facts.ts';

const number = (object: Tree, ...path: readonly string[]): number => Number(text(object, ...path) || '0');
const conditionOf = (object: Tree, type: string): Tree =>
  list(object, 'status', 'conditions').find((each) => each.type === type) ?? {};
const isTrue = (object: Tree, type: string): boolean => conditionOf(object, type).status === 'True';

/** How far a workload is. Pure. `now` in ms. */
export function progressOf(kind: string, object: Tree, now: number): Progress {
  if (text(object, 'metadata', 'deletionTimestamp') !== '') return deleted(object);
  switch (kind) {
    case 'Deployment':
      return ofDeployment(object, now);
    case 'StatefulSet':
      return ofStatefulSet(object);
    case 'DaemonSet':
      return ofDaemonSet(object);
    case 'Job':
      return ofJob(object, now);
    case 'CronJob':
      return ofCronJob(object, now);
    case autoscaler:
      return ofAutoscaler(object);
    default:
      return ofReplicas(object);
  }
}

function deleted(object: Tree): Progress {
  const finalizers = list(object, 'metadata', 'finalizers').map(String);
  const why = finalizers.length > 0 ? `, and waits for its finalizers: ${finalizers.join(', ')}` : '';
  return { complete: false, stuck: true, counts: '', verdict: `is being deleted${why}` };
}

/** Whether the controller has looked at the object as it is. */
function isSeen(object: Tree): boolean {
  return number(object, 'metadata', 'generation') <= number(object, 'status', 'observedGeneration');
}

const unseen: Progress = {
  complete: false,
  stuck: false,
  counts: '',
  verdict: 'has been changed, and its controller has not looked at it since: do the controllers run? ("berth cluster-info")',
};

const scaledDown = { complete: true, stuck: false, counts: '', verdict: 'is scaled to 0: it wants no pods' };

function ofDeployment(object: Tree, now: number): Progress {
  if (!isSeen(object)) return unseen;
  const wanted = number(object, 'spec', 'replicas');
  const [there, updated, available] = ['replicas', 'updatedReplicas', 'availableReplicas'].map((name) =>
    number(object, 'status', name),
  );
  if (wanted === 0 && there === 0) return scaledDown;
  const revision = revisionOf(object);
  const which = revision > 0 ? ` of revision ${revision}` : ' of the present template';
  const complete = updated === wanted && there === wanted && available === wanted;
  const counts = complete
    ? `${available} of ${wanted} replicas are available, all${which}`
    : `${available} of ${wanted} replicas are available, ${updated}${which}${there! > wanted ? `, ${there! - wanted} more than wanted` : ''}`;
  const progressing = conditionOf(object, 'Progressing');
  const serves = available! >= wanted;
  if (text(progressing, 'reason') !== 'ProgressDeadlineExceeded') return { complete, serves, stuck: false, counts };
  const since = Date.parse(text(progressing, 'lastTransitionTime'));
  const ago = Number.isNaN(since) ? '' : ` ${formatAge(now - since)} ago`;
  const deadline = `its progress deadline of ${number(object, 'spec', 'progressDeadlineSeconds')}s passed${ago}`;
  return { complete: false, serves, stuck: true, counts: `${counts}; ${deadline}` };
}

/** ReplicaSets and ReplicationControllers. */
function ofReplicas(object: Tree): Progress {
  if (!isSeen(object)) return unseen;
  const wanted = number(object, 'spec', 'replicas');
  const available = number(object, 'status', 'availableReplicas');
  if (wanted === 0 && number(object, 'status', 'replicas') === 0) return scaledDown;
  const complete = available >= wanted && number(object, 'status', 'replicas') === wanted;
  return { complete, stuck: false, counts: `${available} of ${wanted} replicas are available` };
}

function ofStatefulSet(object: Tree): Progress {
  if (!isSeen(object)) return unseen;
  const wanted = number(object, 'spec', 'replicas');
  const [there, ready, updated] = ['replicas', 'readyReplicas', 'updatedReplicas'].map((name) => number(object, 'status', name));
  if (wanted === 0 && there === 0) return scaledDown;
  const rolls = text(object, 'spec', 'updateStrategy', 'type') !== 'OnDelete';
  const partition = number(object, 'spec', 'updateStrategy', 'rollingUpdate', 'partition');
  const toUpdate = rolls ? Math.max(0, wanted - partition) : 0;
  const complete = ready! >= wanted && there === wanted && updated! >= toUpdate;
  const revision = text(object, 'status', 'updateRevision');
  return {
    complete,
    stuck: false,
    counts: `${ready} of ${wanted} replicas are ready, ${updated} of revision ${revision || 'none'}`,
  };
}

function ofDaemonSet(object: Tree): Progress {
  if (!isSeen(object)) return unseen;
  const wanted = number(object, 'status', 'desiredNumberScheduled');
  const [available, updated] = ['numberAvailable', 'updatedNumberScheduled'].map((name) => number(object, 'status', name));
  if (wanted === 0)
    return {
      complete: true,
      stuck: false,
      counts: '',
      verdict: 'runs nowhere: no node fits its node selector, affinity and tolerations',
    };
  const rolls = text(object, 'spec', 'updateStrategy', 'type') !== 'OnDelete';
  const complete = available! >= wanted && (!rolls || updated! >= wanted);
  return {
    complete,
    stuck: false,
    counts: `pods are available on ${available} of ${wanted} nodes, ${updated} of the present template`,
  };
}

function ofJob(object: Tree, now: number): Progress {
  const { succeeded, failed, active } = {
    succeeded: number(object, 'status', 'succeeded'),
    failed: number(object, 'status', 'failed'),
    active: number(object, 'status', 'active'),
  };
  const wanted = text(object, 'spec', 'completions');
  const counts = `${succeeded}${wanted && ` of ${wanted}`} pods succeeded, ${failed} failed, ${active} active`;
  const failure = conditionOf(object, 'Failed');
  if (failure.status === 'True') {
    const why = [text(failure, 'reason'), text(failure, 'message')].filter(Boolean).join(': ');
    return { complete: false, stuck: true, counts, verdict: `failed${why && `, ${why}`}` };
  }
  if (isTrue(object, 'Complete')) return { complete: true, stuck: false, counts, verdict: 'is complete' };
  const started = Date.parse(text(object, 'status', 'startTime'));
  const running = Number.isNaN(started) ? 'has not started yet' : `has run for ${formatAge(now - started)}`;
  const isSuspended = text(object, 'spec', 'suspend') === 'true';
  return { complete: false, stuck: false, counts, verdict: isSuspended ? 'is suspended' : running };
}

function ofCronJob(object: Tree, now: number): Progress {
  const active = list(object, 'status', 'active').map((each) => text(each, 'name'));
  const last = Date.parse(text(object, 'status', 'lastScheduleTime'));
  const counts = [
    Number.isNaN(last) ? 'no job was started so far' : `the last job was due ${formatAge(now - last)} ago`,
    active.length === 0 ? 'none is active' : `active: ${active.join(', ')}`,
  ].join(', ');
  if (text(object, 'spec', 'suspend') === 'true')
    return { complete: false, stuck: false, counts, verdict: 'is suspended: no jobs are started' };
  const next = nextTime(tree(object, 'spec'), now);
  const verdict = next
    ? `is waiting for its next time, in ${formatAge(next.getTime() - now)} (${next.toISOString().replace(/\.\d+Z/, 'Z')})`
    : 'has a schedule with no time to come';
  return { complete: next !== undefined, stuck: next === undefined, counts, verdict };
}

function nextTime(spec: Tree, now: number): Date | undefined {
  try {
    return parseSchedule(text(spec, 'schedule'), text(spec, 'timeZone') || undefined).next(new Date(now));
  } catch {
    // A newer server may know schedules that this program does not.
    return undefined;
  }
}
