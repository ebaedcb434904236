import { describe, expect, it } from 'vitest';
import type { Job, JobSpec, JobStatus, Pod } from '../../api/generated/types.ts';
import { jobPod, makeJob } from '../../test/builders/job.ts';
import { noBackoff } from './back-off.ts';
import { decideJob } from './decide.ts';
import type { PodsStep } from './decide-pods.ts';

const now = 1_000_000;
const running = (name: string, index?: number) => jobPod(name, { ...(index !== undefined && { index }) });
const failed = (name: string, index?: number, failures?: number) =>
  jobPod(name, {
    phase: 'Failed',
    exitCode: 1,
    ...(index !== undefined && { index }),
    ...(failures !== undefined && { failures }),
  });
const done = (name: string, index?: number) => jobPod(name, { phase: 'Succeeded', ...(index !== undefined && { index }) });
const leaving = (name: string, index?: number) => jobPod(name, { deleting: 30, ...(index !== undefined && { index }) });
const condition = (type: string, reason = '', message = '') => ({ type, status: 'True', reason, message });

const plan = (job: Job, pods: readonly Pod[], backoff = noBackoff) =>
  decideJob({
    job,
    pods,
    backoff,
    seen: (waiting) => new Map([...waiting].map(({ metadata }) => [metadata?.uid ?? '', now])),
    now,
  });

function shown(step: PodsStep): string {
  if (step.do === 'nothing') return 'nothing';
  if (step.do === 'wait') return `wait ${step.ms}`;
  if (step.do === 'create') return `create ${step.pods.map(({ metadata }) => metadata?.generateName).join()}`;
  return `${step.do} ${step.pods.map(({ metadata }) => metadata?.name).join()}`;
}

const indexed = { completionMode: 'Indexed' } as const;
type Row = [title: string, spec: JobSpec, status: JobStatus, pods: Pod[], step: string];

describe('the pods of a Job', () => {
  const rows: Row[] = [
    ['are made', { completions: 3, parallelism: 2 }, {}, [], 'create work-,work-'],
    ['are as many as are missing', { completions: 3, parallelism: 5 }, { succeeded: 1 }, [running('a')], 'create work-'],
    ['are no more than completions', { completions: 2, parallelism: 5 }, { succeeded: 1 }, [running('a')], 'nothing'],
    ['count before they are counted', { completions: 2 }, {}, [done('a'), done('b')], 'nothing'],
    ['without completions are as many as parallelism', { parallelism: 2 }, {}, [running('a')], 'create work-'],
    ['without completions are not made after a success', { parallelism: 3 }, {}, [done('a'), running('b')], 'nothing'],
    ['are dropped where there are too many', { completions: 9, parallelism: 1 }, {}, [running('a'), running('b')], 'drop a'],
    ['are dropped when it is suspended', { suspend: true }, {}, [running('a')], 'drop a'],
    ['are not made while it is suspended', { suspend: true }, {}, [], 'nothing'],
    ['wait for the back-off', { backoffLimit: 9 }, {}, [failed('a')], 'wait 10000'],
    ['are made after the back-off while others end', {}, {}, [leaving('a')], 'wait 10000'],
    ['wait for others to end, with Failed', { podReplacementPolicy: 'Failed' }, {}, [leaving('a')], 'nothing'],
    ['get their finalizer again', {}, {}, [jobPod('a', { free: true })], 'track a'],
    ['are left alone when it is complete', {}, { conditions: [condition('SuccessCriteriaMet')] }, [], 'nothing'],
    ['are dropped when it has succeeded', {}, { conditions: [condition('SuccessCriteriaMet')] }, [running('a')], 'drop a'],
    ['are deleted when it has failed', {}, { conditions: [condition('FailureTarget')] }, [running('a')], 'delete a'],
  ];
  it.each(rows)('%s', (_, spec, status, pods, step) => {
    expect(shown(plan(makeJob(spec, status), pods).step)).toBe(step);
  });

  const ofIndexes: Row[] = [
    [
      'are made for the first free indexes',
      { completions: 5, parallelism: 3 },
      { completedIndexes: '0' },
      [running('a', 2)],
      'create work-1-,work-3-',
    ],
    [
      'of no or another index are dropped',
      { completions: 2, parallelism: 2 },
      {},
      [running('a'), running('b', 7), running('c', 0)],
      'drop b,a',
    ],
    [
      'of the same index are dropped but one',
      { completions: 2, parallelism: 2 },
      {},
      [running('a', 0), running('b', 0)],
      'drop a',
    ],
    [
      'of an index that is done are dropped',
      { completions: 3, parallelism: 3 },
      { completedIndexes: '0' },
      [running('a', 0), running('b', 1)],
      'drop a',
    ],
    [
      'are made after the back-off for an index that is ending',
      { completions: 2, parallelism: 1, backoffLimitPerIndex: 1 },
      { completedIndexes: '1' },
      [leaving('a', 0)],
      'wait 10000',
    ],
    [
      'are not made for an index that is ending, with Failed',
      { completions: 1, podReplacementPolicy: 'Failed' },
      {},
      [leaving('a', 0)],
      'nothing',
    ],
    [
      'are made again where one was deleted before it ran, with Failed',
      { completions: 1, podReplacementPolicy: 'Failed', backoffLimitPerIndex: 1 },
      {},
      [jobPod('a', { phase: 'Pending', index: 0, deleting: 0 })],
      'wait 10000',
    ],
    [
      'are made for other indexes while one waits',
      { completions: 3, parallelism: 2, backoffLimitPerIndex: 1 },
      {},
      [failed('a', 0, 0)],
      'create work-1-,work-2-',
    ],
    ['wait as long as the index says', { completions: 1, backoffLimitPerIndex: 9 }, {}, [failed('a', 0, 3)], 'wait 80000'],
    [
      'are not made for an index that has failed',
      { completions: 2, parallelism: 2, backoffLimitPerIndex: 0 },
      {},
      [failed('a', 0, 0)],
      'create work-1-',
    ],
  ];
  it.each(ofIndexes)('with indexes %s', (_, spec, status, pods, step) => {
    expect(shown(plan(makeJob({ ...indexed, ...spec }, status), pods).step)).toBe(step);
  });

  it('are neither made nor deleted while the Job is being deleted', () => {
    const job = makeJob();
    job.metadata = { ...job.metadata, deletionTimestamp: { seconds: 1 } };
    const { step, counts } = plan(job, [running('a'), running('b')]);
    expect([shown(step), counts.release.length]).toEqual(['nothing', 2]);
  });

  it('are made after the back-off, and 500 at a time', () => {
    const job = makeJob({ completions: 5_000, parallelism: 5_000 });
    const { step } = plan(job, [], { failures: 1, at: now - 10_000 });
    expect(step.do === 'create' && step.pods.length).toBe(500);
  });
});

describe('a Job ends', () => {
  type End = [title: string, spec: JobSpec, status: JobStatus, pods: Pod[], end: string | undefined];
  const onFailure = { restartPolicy: 'OnFailure', containers: [{ name: 'main' }] };
  const rows: End[] = [
    [
      'when it has its completions',
      { completions: 2 },
      { succeeded: 1 },
      [done('a')],
      'CompletionsReached: Reached expected number of succeeded pods',
    ],
    ['not while others run', { completions: 1 }, {}, [done('a'), running('b')], undefined],
    [
      'at once without completions to reach',
      { completions: 0 },
      {},
      [],
      'CompletionsReached: Reached expected number of succeeded pods',
    ],
    [
      'without completions with the first success',
      { parallelism: 2 },
      {},
      [done('a')],
      'CompletionsReached: Reached expected number of succeeded pods',
    ],
    ['not before a success', { parallelism: 0 }, {}, [], undefined],
    [
      'with one failure more than the limit',
      { backoffLimit: 1 },
      { failed: 1 },
      [failed('a')],
      'BackoffLimitExceeded: Job has reached the specified backoff limit',
    ],
    ['not with as many failures', { backoffLimit: 1 }, {}, [failed('a')], undefined],
    [
      'with failures that are not counted yet',
      { backoffLimit: 0 },
      { uncountedTerminatedPods: { failed: ['x'] } },
      [],
      'BackoffLimitExceeded: Job has reached the specified backoff limit',
    ],
    [
      'with as many restarts as the limit',
      { backoffLimit: 2, template: { spec: onFailure } },
      {},
      [jobPod('a', { restarts: 2 })],
      'BackoffLimitExceeded: Job has reached the specified backoff limit',
    ],
    [
      'not with fewer restarts',
      { backoffLimit: 3, template: { spec: onFailure } },
      {},
      [jobPod('a', { restarts: 2 })],
      undefined,
    ],
    [
      'after its deadline',
      { activeDeadlineSeconds: 10 },
      { startTime: { seconds: 990 } },
      [running('a')],
      'DeadlineExceeded: Job was active longer than specified deadline',
    ],
    ['not before', { activeDeadlineSeconds: 11 }, { startTime: { seconds: 990 } }, [running('a')], undefined],
    ['not while it is suspended', { activeDeadlineSeconds: 1, suspend: true }, { startTime: { seconds: 1 } }, [], undefined],
    [
      'as it was said before',
      { backoffLimit: 0 },
      { conditions: [condition('SuccessCriteriaMet', 'R', 'm')] },
      [failed('a')],
      'R: m',
    ],
    ['with the failure that was said before', {}, { conditions: [condition('FailureTarget', 'R', 'm')] }, [done('a')], 'R: m'],
    [
      'with too many failed indexes',
      { ...indexed, completions: 5, backoffLimitPerIndex: 0, maxFailedIndexes: 1 },
      { failedIndexes: '0' },
      [failed('a', 1)],
      'MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed indexes',
    ],
    [
      'with a failed index when all have ended',
      { ...indexed, completions: 2, backoffLimitPerIndex: 0 },
      { completedIndexes: '0' },
      [failed('a', 1)],
      'FailedIndexes: Job has failed indexes',
    ],
    [
      'not while an index is left',
      { ...indexed, completions: 3, backoffLimitPerIndex: 0 },
      { completedIndexes: '0' },
      [failed('a', 1)],
      undefined,
    ],
    [
      'with its success policy',
      { ...indexed, completions: 9, successPolicy: { rules: [{ succeededCount: 1 }] } },
      {},
      [done('a', 3), running('b', 4)],
      'SuccessPolicy: Matched rules at index 0',
    ],
    [
      'with an index that its policy fails',
      {
        ...indexed,
        completions: 1,
        backoffLimitPerIndex: 9,
        podFailurePolicy: { rules: [{ action: 'FailIndex', onExitCodes: { operator: 'In', values: [1] } }] },
      },
      {},
      [failed('a', 0)],
      'FailedIndexes: Job has failed indexes',
    ],
    [
      'by its failure policy',
      { podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [1] } }] } },
      {},
      [failed('a')],
      'PodFailurePolicy: Container main for pod a/a failed with exit code 1 matching FailJob rule at index 0',
    ],
  ];
  it.each(rows)('%s', (_, spec, status, pods, end) => {
    const { ending } = plan(makeJob(spec, status), pods);
    expect(ending && `${ending.reason}: ${ending.message}`).toBe(end);
  });
});

describe('counting', () => {
  const of = (spec: JobSpec, status: JobStatus, pods: Pod[]) => {
    const { release, ...counts } = plan(makeJob(spec, status), pods).counts;
    return { ...counts, release: release.map(({ metadata }) => metadata?.name).join() };
  };

  it('begins with the uids of the pods that have ended', () => {
    expect(
      of({ completions: 9, parallelism: 9, backoffLimit: 9 }, { succeeded: 2 }, [
        done('a'),
        failed('b'),
        leaving('c'),
        running('d'),
      ]),
    ).toEqual({
      succeeded: 2,
      failed: 0,
      uncountedTerminatedPods: { succeeded: ['a'], failed: ['b', 'c'] },
      release: 'a,b,c',
    });
  });

  it('goes on with pods whose uids were written, and counts those that have no finalizer any more', () => {
    const uncountedTerminatedPods = { succeeded: ['a', 'gone'], failed: ['b', 'c'] };
    const status = { succeeded: 2, failed: 1, uncountedTerminatedPods };
    expect(
      of({ completions: 9, backoffLimit: 9 }, status, [done('a'), jobPod('b', { phase: 'Failed', free: true }), failed('c')]),
    ).toEqual({
      succeeded: 3,
      failed: 2,
      uncountedTerminatedPods: { succeeded: ['a'], failed: ['c'] },
      release: 'a,c',
    });
  });

  it('waits for the finalizers of pods that are not its own any more, and looks again though nothing wakes it', () => {
    const status = { uncountedTerminatedPods: { succeeded: ['a'] } };
    const job = makeJob({ completions: 9, parallelism: 0 }, status);
    const look = (strays: Pod[]) => decideJob({ job, pods: [], strays, backoff: noBackoff, seen: () => new Map(), now });
    expect(look([done('a')])).toMatchObject({ counts: { succeeded: 0, ...status, release: [done('a')] }, againMs: 1_000 });
    expect(look([])).toMatchObject({ counts: { succeeded: 1, uncountedTerminatedPods: {}, release: [] }, againMs: undefined });
  });

  it('keeps what a pod was counted as', () => {
    const status = { uncountedTerminatedPods: { failed: ['a'] } };
    expect(of({ backoffLimit: 9 }, status, [done('a')])).toMatchObject({
      succeeded: 0,
      uncountedTerminatedPods: { failed: ['a'] },
    });
  });

  it('needs no uids of indexes that have succeeded', () => {
    expect(
      of({ ...indexed, completions: 9, parallelism: 9 }, { completedIndexes: '0,2' }, [done('a', 1), done('b', 2), done('c')]),
    ).toEqual({
      succeeded: 3,
      failed: 0,
      completedIndexes: '0-2',
      uncountedTerminatedPods: {},
      release: 'c,a,b',
    });
  });

  it('leaves the last failed pod of an index until it is replaced', () => {
    const spec = { ...indexed, completions: 3, parallelism: 3, backoffLimitPerIndex: 3 };
    const pods = [failed('old', 0, 0), failed('last', 0, 1), failed('replaced', 1, 0), running('new', 1)];
    expect(of(spec, {}, pods)).toMatchObject({ uncountedTerminatedPods: { failed: ['old', 'replaced'] }, failedIndexes: '' });
  });

  it('does not count what the policy ignores', () => {
    const podFailurePolicy = { rules: [{ action: 'Ignore', onExitCodes: { operator: 'In', values: [1] } }] };
    expect(of({ podFailurePolicy }, {}, [failed('a')])).toMatchObject({ uncountedTerminatedPods: {}, release: 'a' });
  });

  it('counts a pod that is deleted when it has ended, with Failed, and at once where it never ran', () => {
    const pods = [leaving('a'), jobPod('b', { phase: 'Pending', deleting: 0 }), jobPod('c', { deleting: 0 })];
    expect(of({ podReplacementPolicy: 'Failed' }, {}, pods)).toMatchObject({
      uncountedTerminatedPods: { failed: ['b'] },
      release: 'b',
    });
  });

  it('counts pods that a failing Job ends itself as failed, and those of a succeeding one not at all', () => {
    const [failing, succeeding] = ['FailureTarget', 'SuccessCriteriaMet'].map((type) => ({ conditions: [condition(type)] }));
    const spec = { podReplacementPolicy: 'Failed' };
    expect(of(spec, failing!, [leaving('a'), running('b')])).toMatchObject({
      uncountedTerminatedPods: { failed: ['a'] },
      release: 'a',
    });
    expect(of(spec, succeeding!, [leaving('a')])).toMatchObject({ uncountedTerminatedPods: {}, release: 'a' });
  });

  it('has 500 pods on their way at most', () => {
    const pods = Array.from({ length: 700 }, (_, at) => done(`p${at}`));
    const { uncountedTerminatedPods, release } = plan(makeJob({ completions: 9_000 }), pods).counts;
    expect([uncountedTerminatedPods.succeeded?.length, release.length]).toEqual([500, 500]);
    const ofIndexes = pods.map((_, at) => done(`p${at}`, at));
    expect(plan(makeJob({ ...indexed, completions: 9_000 }), ofIndexes).counts.release).toHaveLength(500);
  });
});
