import { describe, expect, it } from 'vitest';
import type { CronJob, CronJobSpec } from '../../generated/types.ts';
import { kindNamed, kindOf } from '../index.ts';

const kind = kindNamed('CronJob');

function cronJob(spec: CronJobSpec = {}, name = 'backup'): CronJob {
  const jobTemplate = { spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] } } } };
  const built: CronJob = { metadata: { name }, spec: { schedule: '@daily', jobTemplate, ...structuredClone(spec) } };
  kind.defaults(built);
  return built;
}

const refused = (spec: CronJobSpec): string[] => kind.validate(cronJob(spec)).map(({ field }) => field);

describe('a CronJob', () => {
  it('lets jobs run side by side, and keeps three that succeeded and one that failed', () => {
    const { spec } = cronJob();
    expect(spec).toMatchObject({
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    });
    expect(spec?.jobTemplate?.spec?.template?.spec).toMatchObject({ dnsPolicy: 'ClusterFirst' });
  });

  it('leaves to its jobs what is a default of jobs', () => {
    const { template: _, ...others } = cronJob().spec?.jobTemplate?.spec ?? {};
    expect(others).toEqual({});
  });

  const template = cronJob().spec!.jobTemplate!;
  it.each<[string, CronJobSpec, string[]]>([
    ['a time zone', { timeZone: 'Europe/Berlin' }, []],
    ['an older name of a time zone', { timeZone: 'US/Eastern' }, []],
    ['a zone with an offset in its name', { timeZone: 'Etc/GMT+5' }, []],
    ['no schedule', { schedule: '' }, ['spec.schedule']],
    ['a schedule that never comes', { schedule: '0 0 31 2 *' }, ['spec.schedule']],
    ['an empty time zone', { timeZone: '' }, ['spec.timeZone']],
    ['a time zone that is nowhere', { timeZone: 'Europe/Atlantis' }, ['spec.timeZone']],
    ['an offset', { timeZone: '+02:00' }, ['spec.timeZone']],
    ['the zone of the machine', { timeZone: 'Local' }, ['spec.timeZone']],
    ['a path', { timeZone: '../etc/passwd' }, ['spec.timeZone']],
    ['a policy that does not exist', { concurrencyPolicy: 'Queue' }, ['spec.concurrencyPolicy']],
    ['a negative deadline', { startingDeadlineSeconds: -1 }, ['spec.startingDeadlineSeconds']],
    ['a deadline of 0', { startingDeadlineSeconds: 0 }, []],
    ['negative numbers of jobs to keep', { successfulJobsHistoryLimit: -1 }, ['spec.successfulJobsHistoryLimit']],
    ['none to keep', { successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0 }, []],
    [
      'a selector for its jobs',
      { jobTemplate: { spec: { ...template.spec, selector: {}, manualSelector: true } } },
      ['spec.jobTemplate.spec.selector', 'spec.jobTemplate.spec.manualSelector'],
    ],
    [
      'a job that breaks rules of jobs and pods',
      { jobTemplate: { spec: { parallelism: -1, template: { spec: { containers: [{ name: 'a' }] } } } } },
      [
        'spec.jobTemplate.spec.parallelism',
        'spec.jobTemplate.spec.template.spec.containers[0].image',
        'spec.jobTemplate.spec.template.spec.restartPolicy',
      ],
    ],
    [
      'labels that are none',
      { jobTemplate: { metadata: { labels: { 'a b': '' } }, spec: template.spec! } },
      ['spec.jobTemplate.metadata.labels[a b]'],
    ],
  ])('is judged when it has %s', (_title, spec, fields) => expect(refused(spec)).toEqual(fields));

  it('has a name of at most 52 characters when it is made', () => {
    const fields = (length: number) => kind.validateCreate?.(cronJob({}, 'a'.repeat(length))).map(({ field }) => field);
    expect([fields(52), fields(53)]).toEqual([[], ['metadata.name']]);
    expect(kind.validate(cronJob({}, 'a'.repeat(53)))).toEqual([]);
  });

  it('warns of names that are no host names, and of what templates do not pass on', () => {
    const warnings = kind.warnings?.({
      metadata: { name: 'a.b' },
      spec: { jobTemplate: { metadata: { name: 'x', generateName: 'y', finalizers: ['example.com/a'], labels: { a: 'b' } } } },
    });
    expect(warnings?.map((text) => text.split(' ')[0])).toEqual([
      'spec.jobTemplate.metadata.generateName',
      'spec.jobTemplate.metadata.finalizers[0]',
      'metadata.name',
    ]);
  });

  it('shows what kubectl shows', () => {
    expect(kindOf('cj')).toBe(kind);
    const cells = (object: CronJob) => Object.fromEntries(kind.columns.map(({ name, cell }) => [name, cell(object, new Date())]));
    expect(cells(cronJob())).toMatchObject({
      SCHEDULE: '@daily',
      TIMEZONE: '<none>',
      SUSPEND: 'False',
      ACTIVE: '0',
      'LAST SCHEDULE': '<none>',
      CONTAINERS: 'main',
      IMAGES: 'x',
      SELECTOR: '<none>',
    });
    const status = { active: [{ name: 'a' }], lastScheduleTime: { seconds: 60 } };
    expect(cells({ ...cronJob({ suspend: true, timeZone: 'UTC' }), status })).toMatchObject({
      TIMEZONE: 'UTC',
      SUSPEND: 'True',
      ACTIVE: '1',
      'LAST SCHEDULE': '1970-01-01T00:01:00Z',
    });
  });
});
