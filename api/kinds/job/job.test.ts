import { describe, expect, it } from 'vitest';
import type { Job, JobSpec, PodFailurePolicyRule, PodTemplateSpec, SuccessPolicyRule } from '../../generated/types.ts';
import { kindNamed, kindOf } from '../index.ts';
import { commonIndex, type Indexes, parseIndexes } from './indexes.ts';

const kind = kindNamed('Job');
const podSpec = { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] };

/** A job as the server would store it. */
function job(spec: JobSpec = {}, metadata: Job['metadata'] = {}): Job {
  const built: Job = {
    metadata: { name: 'pi', uid: 'u-1', ...metadata },
    spec: structuredClone({ template: { spec: podSpec }, ...spec }),
  };
  kind.defaults(built);
  kind.lifecycle?.prepareForCreate?.(built);
  return built;
}

const refused = (spec: JobSpec, metadata?: Job['metadata']): string[] =>
  kind.validate(job(spec, metadata)).map(({ field }) => field);
const template = (spec: object, metadata?: object): PodTemplateSpec => ({
  ...(metadata && { metadata }),
  spec: { ...podSpec, ...spec },
});
const labelled = (labels: Record<string, string>): PodTemplateSpec => template({}, { labels });
const indexed: JobSpec = { completionMode: 'Indexed', completions: 10, parallelism: 2 };

const generated = {
  'batch.kubernetes.io/controller-uid': 'u-1',
  'batch.kubernetes.io/job-name': 'pi',
  'controller-uid': 'u-1',
  'job-name': 'pi',
};

describe('an update of a job', () => {
  const updated = (next: JobSpec, previous: Job): JobSpec | undefined => {
    const object: Job = { metadata: { name: 'pi', uid: 'u-1' }, spec: structuredClone({ template: { spec: podSpec }, ...next }) };
    kind.lifecycle?.prepareForUpdate?.(object, previous);
    return object.spec;
  };

  it('keeps the selector and the labels that were made for it where it does not say them', () => {
    const previous = job({ template: labelled({ app: 'x' }) });
    const next = updated({ template: labelled({ app: 'y' }) }, previous);
    expect(next).toMatchObject({ selector: previous.spec?.selector });
    expect(next?.template?.metadata?.labels).toEqual({ ...generated, app: 'y' });
    expect(updated({ selector: { matchLabels: { a: 'b' } } }, previous)?.selector).toEqual({ matchLabels: { a: 'b' } });
  });

  it('keeps nothing that the client chose', () => {
    const previous = job({ manualSelector: true, selector: { matchLabels: { a: 'b' } }, template: labelled({ a: 'b' }) });
    expect(updated({}, previous)).toEqual({ template: { spec: podSpec } });
  });
});

describe('the defaults of a job', () => {
  it.each<[string, JobSpec, JobSpec]>([
    ['one pod, once', {}, { completions: 1, parallelism: 1, backoffLimit: 6, completionMode: 'NonIndexed', suspend: false }],
    ['a selector of its own', {}, { manualSelector: false, podReplacementPolicy: 'TerminatingOrFailed' }],
    ['one pod at a time', { completions: 3 }, { completions: 3, parallelism: 1 }],
    ['no limit of failures with one for each index', { ...indexed, backoffLimitPerIndex: 1 }, { backoffLimit: 2 ** 31 - 1 }],
    ['a successor for a pod that failed', { podFailurePolicy: { rules: [] } }, { podReplacementPolicy: 'Failed' }],
    [
      'a condition that is true',
      { podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] } },
      { podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }] } },
    ],
  ])('are %s', (_title, spec, expected) => expect(job(spec).spec).toMatchObject(expected));

  it('leave completions open when any pod may succeed', () => {
    expect(job({ parallelism: 3 }).spec).not.toHaveProperty('completions');
  });

  it('change nothing the second time', () => {
    const built = job(indexed);
    const again = structuredClone(built);
    kind.defaults(again);
    expect(again).toEqual(built);
  });

  it('do not give the template what only a pod gets', () => {
    const spec = job({
      template: template({ hostNetwork: true, containers: [{ name: 'a', image: 'x', ports: [{ containerPort: 80 }] }] }),
    });
    expect(spec.spec?.template?.spec).not.toHaveProperty('tolerations');
    expect(spec.spec?.template?.spec?.containers?.[0]?.ports).toEqual([{ containerPort: 80, protocol: 'TCP' }]);
    expect(kind.validate(spec)).toEqual([]);
  });
});

describe('the pods of a job', () => {
  it('have labels of their own, which the job selects by and has as well', () => {
    const { metadata, spec } = job({ template: labelled({ app: 'a' }) });
    expect(spec?.template?.metadata?.labels).toEqual({ app: 'a', ...generated });
    expect(spec?.selector).toEqual({ matchLabels: { 'batch.kubernetes.io/controller-uid': 'u-1' } });
    expect(metadata?.labels).toEqual(spec?.template?.metadata?.labels);
  });

  it('leave the labels of a job alone that has some', () => {
    expect(job({}, { labels: { team: 'a' } }).metadata?.labels).toEqual({ team: 'a' });
  });

  it.each<[string, JobSpec, string[]]>([
    ['labels of the same value', { template: labelled({ 'job-name': 'pi' }) }, []],
    ['the name of another job', { template: labelled({ 'job-name': 'other' }) }, ['spec.template.metadata.labels[job-name]']],
    [
      'the uid of another job',
      { template: labelled({ 'batch.kubernetes.io/controller-uid': 'u-2' }) },
      ['spec.template.metadata.labels', 'spec.template.metadata.labels[batch.kubernetes.io/controller-uid]'],
    ],
    [
      'a selector of the client',
      { selector: { matchLabels: { app: 'a' } }, template: labelled({ app: 'a' }) },
      ['spec.selector'],
    ],
    [
      'a selector that says it is its own',
      { manualSelector: true, selector: { matchLabels: { app: 'a' } }, template: labelled({ app: 'a' }) },
      [],
    ],
    ['no selector although it is its own', { manualSelector: true }, ['spec.selector']],
    [
      'a selector that does not fit',
      { manualSelector: true, selector: { matchLabels: { app: 'a' } }, template: labelled({ app: 'b' }) },
      ['spec.template.metadata.labels'],
    ],
  ])('are judged when the job has %s', (_title, spec, fields) => expect(refused(spec)).toEqual(fields));
});

describe('a job', () => {
  it.each<[string, JobSpec, string[]]>([
    ['nothing but a template', {}, []],
    [
      'negative numbers',
      { parallelism: -1, completions: -1, backoffLimit: -1 },
      ['spec.parallelism', 'spec.completions', 'spec.backoffLimit'],
    ],
    [
      'negative times',
      { activeDeadlineSeconds: -1, ttlSecondsAfterFinished: -1 },
      ['spec.activeDeadlineSeconds', 'spec.ttlSecondsAfterFinished'],
    ],
    ['a mode that does not exist', { completionMode: 'Sometimes' }, ['spec.completionMode']],
    ['indexes', indexed, []],
    ['indexes without a number', { completionMode: 'Indexed', parallelism: 1 }, ['spec.completions']],
    ['more pods at a time than indexes allow', { ...indexed, parallelism: 100_001 }, ['spec.parallelism']],
    ['a limit for each index without indexes', { backoffLimitPerIndex: 1 }, ['spec.backoffLimitPerIndex']],
    ['a number of failed indexes without a limit for each', { ...indexed, maxFailedIndexes: 1 }, ['spec.backoffLimitPerIndex']],
    [
      'more failed indexes than indexes',
      { ...indexed, backoffLimitPerIndex: 1, maxFailedIndexes: 11 },
      ['spec.maxFailedIndexes'],
    ],
    ['very many indexes', { ...indexed, completions: 200_000, backoffLimitPerIndex: 1, maxFailedIndexes: 10_000 }, []],
    [
      'very many indexes, of which any number may fail or run',
      { ...indexed, completions: 200_000, backoffLimitPerIndex: 1, parallelism: 10_001 },
      ['spec.maxFailedIndexes', 'spec.parallelism'],
    ],
    ['a policy of replacement that does not exist', { podReplacementPolicy: 'Never' }, ['spec.podReplacementPolicy']],
    [
      'replacement of pods that still end, with a policy for failures',
      { podReplacementPolicy: 'TerminatingOrFailed', podFailurePolicy: { rules: [] } },
      ['spec.podReplacementPolicy'],
    ],
    ['another controller', { managedBy: 'example.com/jobs' }, []],
    ['a controller without a domain', { managedBy: 'jobs' }, ['spec.managedBy']],
    ['a controller without a path', { managedBy: 'example.com/' }, ['spec.managedBy']],
    ['a controller with a long name', { managedBy: `example.com/${'a'.repeat(60)}` }, ['spec.managedBy']],
    ['pods that are restarted when they fail', { template: template({ restartPolicy: 'OnFailure' }) }, []],
    ['pods that are always restarted', { template: template({ restartPolicy: 'Always' }) }, ['spec.template.spec.restartPolicy']],
    ['no restart policy', { template: template({ restartPolicy: '' }) }, ['spec.template.spec.restartPolicy']],
    ['no containers', { template: template({ containers: [] }) }, ['spec.template.spec.containers']],
    [
      'a template with mistakes',
      {
        template: template(
          { nodeName: 'A', ephemeralContainers: [{ ephemeralContainerCommon: { name: 'b', image: 'x' } }] },
          { annotations: { 'a b': '' } },
        ),
      },
      ['spec.template.metadata.annotations[a b]', 'spec.template.spec.ephemeralContainers[0]', 'spec.template.spec.nodeName'],
    ],
  ])('is judged when it has %s', (_title, spec, fields) => expect(refused(spec)).toEqual(fields));

  it('has a name that the host names of its pods can begin with', () => {
    expect(refused({ ...indexed, completions: 1001 }, { name: 'a'.repeat(58) })).toEqual([]);
    expect(refused({ ...indexed, completions: 1001 }, { name: 'a'.repeat(59) })).toEqual(['metadata.name']);
    expect(refused(indexed, { name: 'a.b' })).toEqual(['metadata.name']);
  });

  it('warns of what surprises', () => {
    const warnings = (spec: JobSpec, name = 'a') => kind.warnings?.({ metadata: { name }, spec });
    expect(warnings({}, 'a.b')).toEqual([expect.stringMatching(/^metadata.name is used in/)]);
    expect(warnings({ completionMode: 'Indexed', completions: 100_001, parallelism: 10_001 })).toEqual([
      expect.stringMatching(/^spec: more than 100000 completions/),
    ]);
    const resources = { requests: { memory: { string: '128m' } } };
    expect(warnings({ template: template({ containers: [{ name: 'a', image: 'x', resources }] }) })).toEqual([
      expect.stringMatching(/^spec.template.spec.containers\[0\].resources.requests\[memory\] is a fractional byte value/),
    ]);
  });

  it('shows what kubectl shows', () => {
    expect(kindOf('jobs')).toBe(kind);
    const now = new Date(300_000);
    const cells = (object: Job) => Object.fromEntries(kind.columns.map(({ name, cell }) => [name, cell(object, now)]));
    expect(cells(job())).toMatchObject({ STATUS: 'Running', COMPLETIONS: '0/1', DURATION: '', CONTAINERS: 'main', IMAGES: 'x' });
    expect(cells(job()).SELECTOR).toBe('batch.kubernetes.io/controller-uid=u-1');
    expect(cells(job({ parallelism: 3 })).COMPLETIONS).toBe('0/1 of 3');
    const status = { startTime: { seconds: 100 }, succeeded: 1, conditions: [{ type: 'Suspended', status: 'True' }] };
    expect(cells({ ...job({ completions: 3 }), status })).toMatchObject({
      STATUS: 'Suspended',
      COMPLETIONS: '1/3',
      DURATION: '3m20s',
    });
    const done = { ...status, completionTime: { seconds: 130 }, conditions: [{ type: 'Complete', status: 'True' }] };
    expect(cells({ ...job(), status: done })).toMatchObject({ STATUS: 'Complete', DURATION: '30s' });
    expect(cells({ ...job({}, { deletionTimestamp: { seconds: 1 } }), status: {} }).STATUS).toBe('Terminating');
    expect(kind.selectableFields['status.successful']!({ status: done })).toBe('1');
  });
});

describe('a policy for failures of pods', () => {
  const codes = (values: number[], more = {}): PodFailurePolicyRule => ({
    action: 'FailJob',
    onExitCodes: { operator: 'In', values, ...more },
  });
  const condition = (more = {}): PodFailurePolicyRule => ({
    action: 'Ignore',
    onPodConditions: [{ type: 'DisruptionTarget', ...more }],
  });
  it.each<[string, PodFailurePolicyRule[], string[]]>([
    ['exit codes', [codes([1, 42], { containerName: 'main' })], []],
    ['conditions', [condition()], []],
    ['20 rules', Array.from({ length: 20 }, () => condition()), []],
    ['21 rules', Array.from({ length: 21 }, () => condition()), ['rules']],
    ['an action that does not exist', [{ ...condition(), action: 'Retry' }], ['rules[0].action']],
    ['no action', [{ ...condition(), action: '' }], ['rules[0].action']],
    ['the failure of an index without a limit for each', [{ ...condition(), action: 'FailIndex' }], ['rules[0].action']],
    ['neither codes nor conditions', [{ action: 'Count' }], ['rules[0]']],
    ['codes and conditions', [{ ...condition(), ...codes([1]) }], ['rules[0]']],
    ['a container that is not there', [codes([1], { containerName: 'other' })], ['rules[0].onExitCodes.containerName']],
    ['an operator that does not exist', [codes([1], { operator: 'Is' })], ['rules[0].onExitCodes.operator']],
    ['no codes', [codes([])], ['rules[0].onExitCodes.values']],
    ['256 codes', [codes(Array.from({ length: 256 }, (_, i) => i + 1))], ['rules[0].onExitCodes.values']],
    ['code 0 among those that fit', [codes([0, 1])], ['rules[0].onExitCodes.values[0]']],
    ['code 0 among those that do not fit', [codes([0, 1], { operator: 'NotIn' })], []],
    ['a code twice', [codes([1, 1])], ['rules[0].onExitCodes.values[1]']],
    ['codes in disorder', [codes([2, 1])], ['rules[0].onExitCodes.values']],
    ['a condition without a type', [condition({ type: '' })], ['rules[0].onPodConditions[0].type']],
    ['a status that does not exist', [condition({ status: 'Maybe' })], ['rules[0].onPodConditions[0].status']],
  ])('is judged when it has %s', (_title, rules, fields) => {
    expect(refused({ podFailurePolicy: { rules } })).toEqual(fields.map((field) => `spec.podFailurePolicy.${field}`));
  });

  it('needs pods that are not restarted', () => {
    const spec = { podFailurePolicy: { rules: [condition()] }, template: template({ restartPolicy: 'OnFailure' }) };
    expect(refused(spec)).toEqual(['spec.template.spec.restartPolicy']);
  });

  it('may let an index fail that has a limit', () => {
    const rules = [{ ...condition(), action: 'FailIndex' }];
    expect(refused({ ...indexed, backoffLimitPerIndex: 0, podFailurePolicy: { rules } })).toEqual([]);
  });
});

describe('a policy for success', () => {
  it.each<[string, SuccessPolicyRule[], string[]]>([
    ['indexes', [{ succeededIndexes: '0,2-4,9' }], []],
    ['a number of indexes', [{ succeededCount: 5 }], []],
    ['a number of some indexes', [{ succeededIndexes: '0,2-4', succeededCount: 4 }], []],
    ['no rules', [], ['rules']],
    ['21 rules', Array.from({ length: 21 }, () => ({ succeededCount: 1 })), ['rules']],
    ['a rule that says nothing', [{}], ['rules[0]']],
    ['an index too many', [{ succeededIndexes: '10' }], ['rules[0].succeededIndexes']],
    ['a text that names no indexes', [{ succeededIndexes: 'all' }], ['rules[0].succeededIndexes']],
    ['more than there are', [{ succeededCount: 11 }], ['rules[0].succeededCount']],
    ['more than the named ones', [{ succeededIndexes: '0,2-4', succeededCount: 5 }], ['rules[0].succeededCount']],
    ['a negative number', [{ succeededCount: -1 }], ['rules[0].succeededCount']],
  ])('is judged when it has %s', (_title, rules, fields) => {
    expect(refused({ ...indexed, successPolicy: { rules } })).toEqual(fields.map((field) => `spec.successPolicy.${field}`));
  });

  it('needs indexes', () => {
    expect(refused({ successPolicy: { rules: [{ succeededCount: 1 }] } })).toEqual(['spec.successPolicy']);
  });
});

describe('indexes as text', () => {
  it.each<[string, [number, number][], number]>([
    ['', [], 0],
    ['3', [[3, 3]], 1],
    [
      '0,2-4,9',
      [
        [0, 0],
        [2, 4],
        [9, 9],
      ],
      5,
    ],
  ])('are read from "%s"', (text, intervals, count) => expect(parseIndexes(text, 10)).toEqual({ intervals, count }));

  it.each([
    ['1,', '"" is neither'],
    ['a', '"a" is neither'],
    ['1-2-3', '"1-2-3" is neither'],
    ['-1', '"-1" is neither'],
    ['4-4', 'must begin before its end'],
    ['4-2', 'must begin before its end'],
    ['10', 'not below completions, which is 10'],
    ['3,1', '1 follows 3: indexes must be in ascending order'],
    ['1-3,3', '3 follows 3'],
  ])('are refused from "%s"', (text, why) => expect(parseIndexes(text, 10)).toContain(why));

  it.each([
    ['0-2,8', '3-7', undefined],
    ['0-2,8', '4,8-9', 8],
    ['1-5', '0,3', 3],
    ['', '0', undefined],
  ])('"%s" and "%s" have %s in common', (a, b, common) => {
    expect(commonIndex(parseIndexes(a, 10) as Indexes, parseIndexes(b, 10) as Indexes)).toBe(common);
  });
});
