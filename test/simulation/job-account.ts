import { decodeMessage } from '../../api/codec/message.ts';
import type { Job, JobStatus, Pod } from '../../api/generated/types.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import { jobTrackingFinalizer, workloadAnnotations, workloadLabels } from '../../api/meta/workload-names.ts';
import type { Clock } from '../../client/index.ts';
import { IndexSet } from '../../controllers/job/index-set.ts';
import type { MemoryServer } from './memory-server.ts';

/** A parallelism counts for so long after it was changed: what was decided on it before may still be on its way. */
const windowMs = 60_000;
const mostTrail = 400;
const manyIndexes = 100_000;

type How = 'succeeded' | 'failed';

/** What is known of a Job by all changes of it so far. */
interface Account {
  job: Job;
  isGone: boolean;
  readonly before: { readonly parallelism: number; readonly untilMs: number }[];
  /** The most and the fewest completions that it ever wanted. */
  most: number;
  fewest: number;
  /** By uid: pods that the status has had among the uncounted. */
  readonly recorded: Map<string, How>;
  /** Pods that succeeded before anything deleted them. */
  readonly succeeded: Set<string>;
  readonly pods: Map<string, Pod>;
}

function newAccount(job: Job): Account {
  const wanted = wantedOf(job);
  const sets = { before: [], recorded: new Map(), succeeded: new Set<string>(), pods: new Map() };
  return { job, isGone: false, most: wanted, fewest: wanted, ...sets };
}

export const isTrackedPod = ({ metadata }: Pod): boolean => metadata?.finalizers?.includes(jobTrackingFinalizer) === true;
const isActivePod = (pod: Pod): boolean => !pod.metadata?.deletionTimestamp && !isFinished(pod);
const indexOf = ({ metadata }: Pod): string | undefined => metadata?.annotations?.[workloadAnnotations.completionIndex];
const wantedOf = ({ spec }: Job): number => spec?.completions ?? Number.POSITIVE_INFINITY;

/**
 * Follows every change that is stored, in its order, and notes in `wrong` each pod that was made although its Job had
 * as many as it wanted, each pod that is counted twice or before it ended, and each that ended and is not counted.
 */
export class JobAccount {
  readonly wrong: string[] = [];
  /** The last changes, a line each, up to the first wrong one. */
  readonly trail: string[] = [];
  made = 0;
  readonly #jobs = new Map<string, Account>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Until `signal` aborts. */
  async follow({ registry }: MemoryServer, signal: AbortSignal): Promise<void> {
    const [pods, jobs] = [keyPrefixOf(kindNamed('Pod')), keyPrefixOf(kindNamed('Job'))];
    try {
      for await (const batch of registry.storage.watch({ prefix: '', from: 0 }, signal))
        for (const { type, key, bytes } of batch) {
          if (key.startsWith(pods)) this.#pod(type, decodeMessage<Pod>('berth.core.v1.Pod', bytes));
          else if (key.startsWith(jobs)) this.#job(type, decodeMessage<Job>('berth.batch.v1.Job', bytes));
        }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** What is wrong with the counts of a Job that has ended, in words. */
  checkCounts({ metadata, spec, status = {} }: Job): string[] {
    const account = this.#jobs.get(metadata?.uid ?? '');
    if (!account) return [`${metadata?.name} was never seen`];
    const counted = (how: How) => [...account.recorded.values()].filter((each) => each === how).length;
    const isIndexed = spec?.completionMode === 'Indexed';
    const succeeded = isIndexed ? IndexSet.parse(status.completedIndexes, manyIndexes).size : counted('succeeded');
    const wrong: string[] = [];
    const least = spec?.successPolicy ? 1 : Math.min(account.fewest, spec?.completions ?? 1);
    if (isConditionTrue(status.conditions, 'Complete') && succeeded < least)
      wrong.push(`${metadata?.name} is complete with ${succeeded} of ${least}`);
    if ((status.succeeded ?? 0) !== succeeded) wrong.push(`${metadata?.name} says ${status.succeeded} of ${succeeded} succeeded`);
    if ((status.failed ?? 0) !== counted('failed'))
      wrong.push(`${metadata?.name} says ${status.failed} of ${counted('failed')} failed`);
    return wrong;
  }

  #tell(what: string): void {
    this.wrong.push(what);
  }

  #note(line: string): void {
    if (this.wrong.length > 0) return;
    this.trail.push(`${this.#clock.now() % 10_000_000} ${line}`);
    if (this.trail.length > mostTrail) this.trail.shift();
  }

  #job(type: string, job: Job): void {
    const { uid = '', name, deletionTimestamp } = job.metadata ?? {};
    const { parallelism = 1, completions, suspend } = job.spec ?? {};
    const facts = { parallelism, completions, suspend, deletionTimestamp, ...job.status };
    this.#note(`${type} job ${name} ${JSON.stringify(facts, (key, value) => (/Time$/.test(key) ? undefined : value))}`);
    const known = this.#jobs.get(uid);
    if (!known) return void this.#jobs.set(uid, newAccount(job));
    const was = known.job.spec?.parallelism ?? 1;
    if (was !== parallelism) known.before.push({ parallelism: was, untilMs: this.#clock.now() + windowMs });
    known.most = Math.max(known.most, wantedOf(job));
    known.fewest = Math.min(known.fewest, wantedOf(job));
    if (type !== 'delete') this.#statusWritten(known, job);
    known.isGone = type === 'delete';
    known.job = job;
  }

  #statusWritten(account: Account, next: Job): void {
    const { recorded, pods } = account;
    const name = next.metadata?.name;
    const [now, was] = [uncountedOf(next.status), uncountedOf(account.job.status)];
    for (const [uid, how] of now) {
      if (was.has(uid)) continue;
      const pod = pods.get(uid);
      if (recorded.has(uid)) this.#tell(`${name}: pod ${uid} is counted twice`);
      if (!pod || !isTrackedPod(pod)) this.#tell(`${name}: pod ${uid} is counted after it was let go`);
      else if (how === 'succeeded' ? pod.status?.phase !== 'Succeeded' : isActivePod(pod))
        this.#tell(`${name}: ${pod.metadata?.name} is counted as ${how} and is not`);
      recorded.set(uid, how);
    }
    const left = [...was].filter(([uid]) => !now.has(uid));
    for (const [uid] of left) {
      const pod = pods.get(uid);
      if (pod && isTrackedPod(pod)) this.#tell(`${name}: ${pod.metadata?.name} is counted with its finalizer`);
    }
    for (const how of ['succeeded', 'failed'] as const) {
      if (how === 'succeeded' && next.spec?.completionMode === 'Indexed') continue;
      const grown = (next.status?.[how] ?? 0) - (account.job.status?.[how] ?? 0);
      const counted = left.filter(([, each]) => each === how).length;
      if (grown !== counted) this.#tell(`${name}: ${how} grows by ${grown}, not ${counted}`);
    }
  }

  #pod(type: string, pod: Pod): void {
    const { uid = '', name, deletionTimestamp, finalizers } = pod.metadata ?? {};
    const facts = { index: indexOf(pod), finalizers, deletionTimestamp: deletionTimestamp && true, phase: pod.status?.phase };
    this.#note(`${type} pod ${name} ${uid} ${JSON.stringify(facts)}`);
    // A pod that its Job has released is still known there.
    const account = this.#jobs.get(controllerOf(pod)?.uid ?? '') ?? [...this.#jobs.values()].find(({ pods }) => pods.has(uid));
    if (!account) return;
    const before = account.pods.get(uid);
    if (type === 'delete') account.pods.delete(uid);
    else account.pods.set(uid, pod);
    if (pod.status?.phase === 'Succeeded' && isTrackedPod(pod) && !before?.metadata?.deletionTimestamp)
      account.succeeded.add(indexOf(pod) ?? uid);
    if (pod.metadata?.labels?.[workloadLabels.controllerUid] !== account.job.metadata?.uid)
      account.succeeded.delete(indexOf(pod) ?? uid);
    if (type === 'delete') return void (before && isTrackedPod(before) && isTrackedPod(pod) && this.#letGo(account, pod));
    if (!before) this.#madePod(account, pod);
    else if (isTrackedPod(before) && !isTrackedPod(pod)) this.#letGo(account, pod);
  }

  #madePod(account: Account, pod: Pod): void {
    const { job, before, pods, succeeded, most } = account;
    this.made++;
    const name = pod.metadata?.name;
    if (!isTrackedPod(pod)) this.#tell(`${name} is made without its finalizer`);
    const active = [...pods.values()].filter((each) => isActivePod(each) && controllerOf(each)?.uid === job.metadata?.uid);
    const wanted = [
      job.spec?.parallelism ?? 1,
      ...before.filter(({ untilMs }) => untilMs > this.#clock.now()).map(({ parallelism }) => parallelism),
    ];
    const allowed = Math.max(...wanted);
    if (active.length > allowed) this.#tell(`${name}: ${active.length} pods of ${job.metadata?.name}, which wants ${allowed}`);
    const index = indexOf(pod);
    if (index === undefined) {
      if (active.length + succeeded.size > most)
        this.#tell(`${name}: ${active.length} pods and ${succeeded.size} that have succeeded of ${most}`);
      return;
    }
    if (active.some((each) => each !== pod && indexOf(each) === index)) this.#tell(`${name}: its index runs already`);
    if (IndexSet.parse(job.status?.completedIndexes, manyIndexes).has(Number(index)))
      this.#tell(`${name}: its index has succeeded`);
  }

  /** An ended pod loses its finalizer only once the Job has counted it, or counts nothing any more. */
  #letGo({ job, isGone, recorded, fewest }: Account, pod: Pod): void {
    const { uid = '', name, labels } = pod.metadata ?? {};
    const index = Number(indexOf(pod) ?? 0);
    if (!isFinished(pod) || recorded.has(uid) || isGone || job.metadata?.deletionTimestamp || index >= fewest) return;
    // What its labels took from the Job is not the Job's any more.
    if (labels?.[workloadLabels.controllerUid] !== job.metadata?.uid) return;
    const { conditions, completedIndexes = '', failedIndexes = '' } = job.status ?? {};
    if (['SuccessCriteriaMet', 'Complete', 'Failed'].some((type) => isConditionTrue(conditions, type))) return;
    const isOver = (indexes: string) => indexOf(pod) !== undefined && IndexSet.parse(indexes, manyIndexes).has(index);
    if (pod.status?.phase === 'Succeeded' && (isOver(completedIndexes) || isOver(failedIndexes))) return;
    if (pod.status?.phase === 'Failed' && job.spec?.podFailurePolicy) return;
    this.#tell(`${name} has ended and is lost`);
  }
}

function uncountedOf(status: JobStatus | undefined): Map<string, How> {
  const { succeeded = [], failed = [] } = status?.uncountedTerminatedPods ?? {};
  return new Map([...succeeded.map((uid) => [uid, 'succeeded'] as const), ...failed.map((uid) => [uid, 'failed'] as const)]);
}
