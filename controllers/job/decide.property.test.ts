import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Job, JobSpec, JobStatus, Pod } from '../../api/generated/types.ts';
import { validateJobStatus } from '../../api/kinds/job/validate-status.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { jobTrackingFinalizer } from '../../api/meta/workload-names.ts';
import { makeJob } from '../../test/builders/job.ts';
import { isActive } from '../owned-pods/availability.ts';
import { type Backoff, noBackoff } from './back-off.ts';
import { decideJob } from './decide.ts';
import { decideStatus, type Outcome } from './decide-status.ts';
import { IndexSet } from './index-set.ts';
import { endOf, indexOf, isTracked } from './job-facts.ts';

/** A Job and its pods, on which every plan is carried out at once. */
class Sheet {
  job: Job;
  pods: Pod[] = [];
  now = 1_000_000;
  #backoff: Backoff = noBackoff;
  readonly #seen = new Map<string, number>();
  /** By uid: pods that the status has had among the uncounted, and all that were let go. */
  readonly recorded = new Map<string, 'succeeded' | 'failed'>();
  readonly letGo = new Set<string>();
  #made = 0;

  constructor(spec: JobSpec) {
    this.job = makeJob(spec);
  }

  /** What is done at one look; undefined: nothing. */
  look(): string | undefined {
    const { job, now } = this;
    const pods = this.pods.filter((pod) => !isFinished(pod) || isTracked(pod));
    const plan = decideJob({ job, pods, backoff: this.#backoff, seen: (waiting) => this.#sight(waiting), now });
    const outcome: Outcome = { created: 0, removed: [] };
    const { status } = decideStatus({ job, pods, ...plan, outcome, now });
    if (status) expect(validateJobStatus({ ...job, status }, job)).toEqual([]);
    this.#record(status);
    this.job = { ...job, ...(status && { status }) };
    this.#backoff = plan.backoff;
    for (const pod of plan.counts.release) this.#release(pod);
    const { step } = plan;
    if (step.do === 'create') for (const pod of step.pods) this.#create(pod);
    if (step.do === 'drop') for (const pod of step.pods) this.#change(pod, { finalizers: [], deletionTimestamp: { seconds: 1 } });
    if (step.do === 'delete') for (const pod of step.pods) this.#change(pod, { deletionTimestamp: { seconds: 1 } });
    if (step.do === 'track') for (const pod of step.pods) this.#change(pod, { finalizers: [jobTrackingFinalizer] });
    const isIdle = !status && plan.counts.release.length === 0 && ['nothing', 'wait'].includes(step.do);
    return isIdle ? undefined : step.do;
  }

  /** Something becomes of the pod at this place: it ends, is deleted, or, when it is deleted, goes. */
  happen(at: number, what: 'Succeeded' | 'Failed' | 'delete'): void {
    const open = this.pods.filter((pod) => isActive(pod) || pod.metadata?.deletionTimestamp);
    const pod = open[at % Math.max(1, open.length)];
    if (!pod) return;
    if (what !== 'delete' && !isFinished(pod)) this.#replace(pod, { ...pod, status: { phase: what } });
    else if (pod.metadata?.deletionTimestamp && !isTracked(pod)) this.pods = this.pods.filter((each) => each !== pod);
    else this.#change(pod, { deletionTimestamp: { seconds: 1 } });
  }

  /** Every pod that runs succeeds, and every one that may go is gone. */
  endAll(): void {
    for (const pod of this.pods.filter(isActive)) this.#replace(pod, { ...pod, status: { phase: 'Succeeded' } });
    this.pods = this.pods.filter((pod) => !pod.metadata?.deletionTimestamp || isTracked(pod));
  }

  /** A pod comes among the uncounted once, and while it has its finalizer. */
  #record(status: JobStatus | undefined): void {
    const before = this.job.status?.uncountedTerminatedPods;
    for (const how of ['succeeded', 'failed'] as const)
      for (const uid of status?.uncountedTerminatedPods?.[how] ?? []) {
        if (before?.[how]?.includes(uid)) continue;
        expect([uid, this.recorded.has(uid)]).toEqual([uid, false]);
        expect(this.pods.filter(({ metadata }) => metadata?.uid === uid).map(isTracked)).toEqual([true]);
        this.recorded.set(uid, how);
      }
  }

  /** A pod is let go once, and of one that ended the status says so: no pod is lost. */
  #release(pod: Pod): void {
    const { uid = '' } = pod.metadata ?? {};
    const { completedIndexes, conditions = [] } = this.job.status ?? {};
    expect([uid, this.letGo.has(uid)]).toEqual([uid, false]);
    this.letGo.add(uid);
    this.#change(pod, { finalizers: [] });
    const isOver = IndexSet.parse(completedIndexes, 100).has(indexOf(pod) ?? -1);
    // Of an index that has failed, or a Job that has succeeded, what its other pods do is nothing to count.
    const isVain = this.job.status?.failedIndexes || conditions.some(({ type }) => type === 'SuccessCriteriaMet');
    if (isFinished(pod) && !isOver && !isVain) expect([uid, this.recorded.has(uid)]).toEqual([uid, true]);
  }

  #create(pod: Pod): void {
    const name = `p${this.#made++}`;
    const made: Pod = { ...pod, metadata: { ...pod.metadata, name, uid: name }, status: { phase: 'Pending' } };
    const { parallelism = 1, completions = Infinity } = this.job.spec ?? {};
    this.pods.push(made);
    const active = this.pods.filter(isActive);
    expect(active.length).toBeLessThanOrEqual(Math.min(parallelism, completions));
    const index = indexOf(made);
    if (index !== undefined) expect(active.filter((each) => indexOf(each) === index)).toHaveLength(1);
  }

  #change(pod: Pod, metadata: Pod['metadata']): void {
    this.#replace(pod, { ...pod, metadata: { ...pod.metadata, ...metadata } });
  }

  #replace(pod: Pod, next: Pod): void {
    this.pods = this.pods.map((each) =>
      each.metadata?.uid === pod.metadata?.uid ? { ...next, metadata: { ...each.metadata, ...next.metadata } } : each,
    );
  }

  #sight(waiting: Iterable<Pod>): ReadonlyMap<string, number> {
    for (const { metadata } of waiting) if (!this.#seen.has(metadata?.uid ?? '')) this.#seen.set(metadata?.uid ?? '', this.now);
    return this.#seen;
  }
}

const spec: fc.Arbitrary<JobSpec> = fc
  .record({
    parallelism: fc.integer({ min: 1, max: 4 }),
    completions: fc.integer({ min: 0, max: 8 }),
    isIndexed: fc.boolean(),
    limitPerIndex: fc.option(fc.nat(2), { nil: undefined }),
    backoffLimit: fc.nat(6),
    podReplacementPolicy: fc.constantFrom('Failed', 'TerminatingOrFailed'),
  })
  .map(({ isIndexed, limitPerIndex, ...rest }) => ({
    ...rest,
    ...(isIndexed && { completionMode: 'Indexed' }),
    ...(isIndexed && limitPerIndex !== undefined && { backoffLimitPerIndex: limitPerIndex }),
  }));
const events = fc.array(
  fc.record({
    looks: fc.nat(3),
    at: fc.nat(7),
    what: fc.constantFrom('Succeeded' as const, 'Failed' as const, 'delete' as const),
    ms: fc.nat(60_000),
    suspend: fc.option(fc.boolean(), { nil: undefined, freq: 5 }),
  }),
  { maxLength: 40 },
);

it('from any state a Job ends when its pods succeed, stays ended, counts each pod once, and has no pod too many', () => {
  fc.assert(
    fc.property(spec, events, (wanted, happened) => {
      const sheet = new Sheet(wanted);
      for (const { looks, at, what, ms, suspend } of happened) {
        for (let look = 0; look < looks && !endOf(sheet.job); look++) sheet.look();
        sheet.happen(at, what);
        sheet.now += ms;
        if (suspend !== undefined) sheet.job = { ...sheet.job, spec: { ...sheet.job.spec, suspend } };
      }
      sheet.job = { ...sheet.job, spec: { ...sheet.job.spec, suspend: false } };
      for (let turn = 0; turn < 200 && !endOf(sheet.job); turn++) {
        sheet.look();
        sheet.endAll();
        sheet.now += 600_000;
      }
      expect(endOf(sheet.job)).toBeDefined();
      expect(sheet.pods.filter((pod) => isTracked(pod) || isActive(pod))).toEqual([]);
      expect(sheet.look()).toBeUndefined();
      const { succeeded = 0, failed = 0 } = sheet.job.status ?? {};
      const recorded = (how: string) => [...sheet.recorded.values()].filter((each) => each === how).length;
      expect(failed).toBe(recorded('failed'));
      if (wanted.completionMode !== 'Indexed') expect(succeeded).toBe(recorded('succeeded'));
      if (endOf(sheet.job) === 'Complete') expect(succeeded).toBeGreaterThanOrEqual(wanted.completions ?? 1);
    }),
    { numRuns: 300 },
  );
});
