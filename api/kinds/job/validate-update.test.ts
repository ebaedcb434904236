import { describe, expect, it } from 'vitest';
import type { Job, JobSpec, JobStatus, PodSpec } from '../../generated/types.ts';
import { kindNamed } from '../index.ts';

const kind = kindNamed('Job');
const pod: PodSpec = { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] };

function job(spec: JobSpec = {}, status?: JobStatus): Job {
  const built: Job = { metadata: { name: 'pi', uid: 'u-1' }, spec: structuredClone({ template: { spec: pod }, ...spec }) };
  kind.defaults(built);
  kind.lifecycle?.prepareForCreate?.(built);
  return { ...built, ...(status && { status }) };
}

const fields = (list: readonly { field: string }[]): string[] => list.map(({ field }) => field);
const changed = (next: JobSpec, before: JobSpec = {}, status?: JobStatus): string[] =>
  fields(kind.validateUpdate(job(next), job(before, status)));

describe('a change of a job', () => {
  const indexed: JobSpec = { completionMode: 'Indexed', completions: 4, parallelism: 4 };
  it.each<[string, JobSpec, JobSpec, string[]]>([
    ['how many pods run at a time', { parallelism: 3, completions: 1 }, {}, []],
    ['whether it is suspended', { suspend: true }, {}, []],
    ['its limits', { activeDeadlineSeconds: 5, backoffLimit: 2, ttlSecondsAfterFinished: 9 }, {}, []],
    ['when pods get successors', { podReplacementPolicy: 'Failed' }, {}, []],
    ['how many pods must succeed', { completions: 2 }, {}, ['spec.completions']],
    ['a number that was not said', { parallelism: 2, completions: 2 }, { parallelism: 2 }, ['spec.completions']],
    ['the number of indexes with that of pods at a time', { ...indexed, completions: 6, parallelism: 6 }, indexed, []],
    ['the number of indexes alone', { ...indexed, completions: 6 }, indexed, ['spec.completions']],
    ['whether it has indexes', indexed, { completions: 4, parallelism: 4 }, ['spec.completionMode']],
    ['a limit for each index', { ...indexed, backoffLimitPerIndex: 1 }, indexed, ['spec.backoffLimitPerIndex']],
    ['its controller', { managedBy: 'example.com/jobs' }, {}, ['spec.managedBy']],
    ['a policy for failures', { podFailurePolicy: { rules: [] } }, {}, ['spec.podFailurePolicy']],
    [
      'a policy for success',
      { ...indexed, successPolicy: { rules: [{ succeededCount: 2 }] } },
      { ...indexed, successPolicy: { rules: [{ succeededCount: 1 }] } },
      ['spec.successPolicy.rules[0].succeededCount'],
    ],
    [
      'the image of its pods',
      { template: { spec: { ...pod, containers: [{ name: 'main', image: 'y' }] } } },
      {},
      ['spec.template.spec.containers[0].image'],
    ],
    [
      'where its pods may run',
      { template: { spec: { ...pod, nodeSelector: { a: 'b' } } } },
      {},
      ['spec.template.spec.nodeSelector'],
    ],
  ])('is judged: %s', (_title, next, before, refused) => expect(changed(next, before)).toEqual(refused));

  it('of its selector is refused', () => {
    const next = job();
    next.spec!.selector = { matchLabels: { 'controller-uid': 'u-1' } };
    expect(fields(kind.validateUpdate(next, job()))[0]).toMatch(/^spec\.selector\.matchLabels/);
  });
});

describe('a suspended job that has never been started', () => {
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] } };
  const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: {} }] };
  const place = {
    nodeSelector: { a: 'b' },
    tolerations: [{ operator: 'Exists' }],
    schedulingGates: [{ name: 'example.com/a' }],
    affinity: { nodeAffinity },
  };
  const moved: JobSpec = {
    suspend: true,
    template: { metadata: { labels: { a: 'b' }, annotations: { a: 'b' } }, spec: { ...pod, ...place } },
  };
  const suspended: JobSpec = { suspend: true };
  const having = (of: PodSpec['affinity']): JobSpec => ({
    ...suspended,
    template: { spec: { ...pod, ...(of && { affinity: of }) } },
  });

  it.each<[string, JobSpec, JobSpec, JobStatus | undefined, string[]]>([
    ['may get another place for its pods', moved, suspended, undefined, []],
    ['may lose it again', suspended, having({ nodeAffinity }), undefined, []],
    ['keeps what its pods stay near to', having({ ...affinity, nodeAffinity }), having(affinity), undefined, []],
    ['cannot lose what its pods stay near to', suspended, having(affinity), undefined, ['spec.template.spec.affinity']],
    [
      'cannot be given something to stay near to',
      having(affinity),
      suspended,
      undefined,
      ['spec.template.spec.affinity.podAffinity'],
    ],
    [
      'keeps its images',
      { ...suspended, template: { spec: { ...pod, containers: [{ name: 'main', image: 'y' }] } } },
      suspended,
      undefined,
      ['spec.template.spec.containers[0].image'],
    ],
    ['has to be suspended before the change', moved, {}, undefined, ['spec.template.metadata.labels.a']],
    ['must not have been started', moved, suspended, { startTime: { seconds: 1 } }, ['spec.template.metadata.labels.a']],
  ])('%s', (_title, next, before, status, refused) => expect(changed(next, before, status)).toEqual(refused));
});

describe('the status of a job', () => {
  const at = (seconds: number) => ({ seconds });
  const conditions = (...types: string[]) => ({ conditions: types.map((type) => ({ type, status: 'True' })) });
  const complete: JobStatus = {
    startTime: at(1),
    completionTime: at(5),
    succeeded: 1,
    ...conditions('SuccessCriteriaMet', 'Complete'),
  };
  const failed: JobStatus = { startTime: at(1), failed: 1, ...conditions('FailureTarget', 'Failed') };
  const indexed: JobSpec = { completionMode: 'Indexed', completions: 5, parallelism: 5, backoffLimitPerIndex: 1 };

  it.each<[string, JobStatus, JobStatus, JobSpec, string[]]>([
    ['begins', { startTime: at(1), active: 1 }, {}, {}, []],
    ['succeeds', complete, { startTime: at(1) }, {}, []],
    ['fails', failed, { startTime: at(1) }, {}, []],
    ['stays', complete, complete, {}, []],
    ['has negative numbers', { terminating: -1, failed: -1 }, {}, {}, ['status.failed', 'status.terminating', 'status.failed']],
    ['loses failures', { failed: 1 }, { failed: 2 }, {}, ['status.failed']],
    ['loses successes', { succeeded: 1 }, { succeeded: 2 }, {}, ['status.succeeded']],
    ['loses successes of indexes that are gone', { succeeded: 1 }, { succeeded: 2 }, indexed, []],
    ['has more ready pods than pods', { active: 1, ready: 2 }, {}, {}, ['status.ready']],
    [
      'counts a pod twice, or none',
      { uncountedTerminatedPods: { succeeded: ['a', ''], failed: ['a'] } },
      {},
      {},
      ['status.uncountedTerminatedPods.succeeded[1]', 'status.uncountedTerminatedPods.failed[0]'],
    ],
    [
      'is complete no more',
      { ...complete, ...conditions('SuccessCriteriaMet') },
      complete,
      {},
      ['status.conditions', 'status.completionTime'],
    ],
    ['has not failed any more', { ...failed, ...conditions('FailureTarget') }, failed, {}, ['status.conditions']],
    [
      'is complete and failed',
      { ...complete, ...conditions('SuccessCriteriaMet', 'FailureTarget', 'Complete', 'Failed') },
      {},
      {},
      Array(4).fill('status.conditions'),
    ],
    ['fails without saying so before', { ...failed, ...conditions('Failed') }, {}, {}, ['status.conditions']],
    ['is complete without its criteria', { ...complete, ...conditions('Complete') }, {}, {}, ['status.conditions']],
    [
      'is complete without a time',
      { startTime: at(1), ...conditions('SuccessCriteriaMet', 'Complete') },
      {},
      {},
      ['status.completionTime'],
    ],
    ['has a time of completion and is not', { startTime: at(1), completionTime: at(2) }, {}, {}, ['status.completionTime']],
    ['ends before it began', { ...complete, completionTime: at(0) }, { startTime: at(1) }, {}, ['status.completionTime']],
    ['ends another time', { ...complete, completionTime: at(6) }, complete, {}, ['status.completionTime']],
    ['begins another time', { startTime: at(2) }, { startTime: at(1) }, {}, ['status.startTime']],
    ['begins again while it is suspended', {}, { startTime: at(1) }, { suspend: true }, []],
    ['ends without a beginning', { ...failed, startTime: undefined } as JobStatus, {}, {}, ['status.startTime']],
    ['ends while pods run', { ...failed, active: 1, terminating: 1 }, {}, {}, ['status.active', 'status.terminating']],
    [
      'ends while pods are not counted',
      { ...failed, uncountedTerminatedPods: { failed: ['a'] } },
      {},
      {},
      ['status.uncountedTerminatedPods'],
    ],
    ['has indexes', { completedIndexes: '0,2', failedIndexes: '1' }, {}, indexed, []],
    [
      'has indexes that are none',
      { completedIndexes: '5', failedIndexes: 'x' },
      {},
      indexed,
      ['status.completedIndexes', 'status.failedIndexes'],
    ],
    ['has an index that did both', { completedIndexes: '0-2', failedIndexes: '1' }, {}, indexed, ['status.failedIndexes']],
    [
      'has indexes although the job has none',
      { completedIndexes: '0', failedIndexes: '' },
      {},
      {},
      ['status.completedIndexes', 'status.failedIndexes'],
    ],
    [
      'has indexes that are too many since the job was made smaller',
      { completedIndexes: '7', active: 1 },
      { completedIndexes: '7' },
      indexed,
      [],
    ],
  ])('is judged when it %s', (_title, now, was, spec, refused) => {
    expect(fields(kind.validateStatusUpdate!(job(spec, now), job(spec, was)))).toEqual(refused);
  });
});
