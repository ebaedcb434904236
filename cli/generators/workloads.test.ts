import { describe, expect, it } from 'vitest';
import { autoscalerObject } from './autoscaler.ts';
import { quotaObject } from './quota.ts';
import { serviceObject } from './service.ts';
import { checkJobFlags, cronJobObject, deploymentObject, jobObject, jobOfCronJob } from './workloads.ts';

const run = (image: readonly string[], words: readonly string[] = [], port?: string, replicas = '1') =>
  deploymentObject('web', words, { image, replicas, ...(port !== undefined && { port }) });

describe('create deployment', () => {
  it('makes pods with the label app=NAME that a selector finds', () => {
    expect(run(['nginx:1.27'], ['sleep', '1'], '80', '3')).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            containers: [{ name: 'nginx', image: 'nginx:1.27', command: ['sleep', '1'], ports: [{ containerPort: 80 }] }],
          },
        },
      },
    });
  });

  it.each([
    [['registry.example:5000/team/my_app.v2:1'], ['my-app-v2']],
    [
      ['a@sha256:00', 'b:1'],
      ['a', 'b'],
    ],
    [['a,b'], ['a', 'b']],
    [
      ['x/a:1', 'y/a:2', 'a:3'],
      ['a', 'a-2', 'a-3'],
    ],
  ])('names the containers of %j %j', (images, names) => {
    const { spec } = run(images) as { spec: { template: { spec: { containers: { name: string }[] } } } };
    expect(spec.template.spec.containers.map(({ name }) => name)).toEqual(names);
  });

  it.each([
    [() => run([]), 'say which image to run'],
    [() => run(['a', 'b'], ['sleep']), 'a command is for one container'],
    [() => run(['a'], [], '0'), '--port takes a whole number from 1 to 65535, not "0"'],
    [() => run(['a'], [], undefined, '-1'), '--replicas takes a whole number from 0 on, not "-1"'],
    [() => run(['a'], [], undefined, 'two'), '--replicas takes a whole number from 0 on, not "two"'],
  ])('refuses bad flags (%#)', (make, message) => expect(make).toThrow(message));
});

describe('create job', () => {
  it('runs an image once', () => {
    expect(jobObject('once', ['date'], 'busybox')).toEqual({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'once' },
      spec: {
        template: { spec: { containers: [{ name: 'once', image: 'busybox', command: ['date'] }], restartPolicy: 'Never' } },
      },
    });
  });

  it('makes the job of a cronjob, which owns it', () => {
    const spec = { template: { spec: { containers: [] } } };
    const jobTemplate = { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, spec };
    expect(jobOfCronJob('now', { metadata: { name: 'hourly', uid: 'u1' }, spec: { jobTemplate } })).toEqual({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        name: 'now',
        labels: { a: 'b' },
        annotations: { 'cronjob.kubernetes.io/instantiate': 'manual', c: 'd' },
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'CronJob', name: 'hourly', uid: 'u1', controller: true }],
      },
      spec,
    });
  });

  it.each([
    [[], {}, 'either --image IMAGE or --from=cronjob/NAME'],
    [[], { image: 'a', from: 'cronjob/b' }, 'either --image IMAGE or --from=cronjob/NAME'],
    [['date'], { from: 'cronjob/b' }, 'leave out either --from or the command'],
  ])('refuses %j with %j', (words, flags, message) => expect(() => checkJobFlags(words, flags)).toThrow(message));
});

it('create cronjob makes a job for each time of a schedule', () => {
  expect(cronJobObject('hourly', [], { image: 'busybox', schedule: '0 * * * *', restart: 'OnFailure' })).toEqual({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'hourly' },
    spec: {
      schedule: '0 * * * *',
      jobTemplate: {
        spec: { template: { spec: { containers: [{ name: 'hourly', image: 'busybox' }], restartPolicy: 'OnFailure' } } },
      },
    },
  });
});

describe('create quota', () => {
  it('takes bounds and scopes', () =>
    expect(quotaObject('q', { hard: 'cpu=1,pods=10', scopes: 'BestEffort,Terminating' })).toMatchObject({
      kind: 'ResourceQuota',
      spec: { hard: { cpu: '1', pods: '10' }, scopes: ['BestEffort', 'Terminating'] },
    }));

  it.each([
    [{ hard: 'cpu' }, '--hard takes RESOURCE=AMOUNT,..., not "cpu"'],
    [{ hard: 'cpu=1=2' }, '--hard takes RESOURCE=AMOUNT,..., not "cpu=1=2"'],
    [{ hard: 'cpu=lots' }, '--hard: "lots" is no amount of cpu'],
    [{ scopes: 'BestEffort,' }, '--scopes takes names with commas between'],
  ])('refuses %j', (flags, message) => expect(() => quotaObject('q', flags)).toThrow(message));
});

describe('create service', () => {
  it('makes services of every type for the pods with the label app=NAME', () => {
    expect(serviceObject('web', 'clusterip', { tcp: ['80:8080,443:https', '81'] })).toEqual({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: {
        type: 'ClusterIP',
        selector: { app: 'web' },
        ports: [
          { name: '80-8080', port: 80, targetPort: 8080, protocol: 'TCP' },
          { name: '443-https', port: 443, targetPort: 'https', protocol: 'TCP' },
          { name: '81', port: 81, targetPort: 81, protocol: 'TCP' },
        ],
      },
    });
    expect(serviceObject('web', 'clusterip', { clusterip: 'None' })).toMatchObject({ spec: { clusterIP: 'None' } });
    expect(serviceObject('web', 'nodeport', { tcp: ['80'], nodePort: '30080' })).toMatchObject({
      spec: { type: 'NodePort', ports: [{ nodePort: 30_080 }] },
    });
    expect(serviceObject('web', 'externalname', { externalName: 'a.example' })).toMatchObject({
      spec: { type: 'ExternalName', externalName: 'a.example' },
    });
  });

  it.each([
    ['loadbalancer', {}, 'give at least one port: --tcp PORT[:TARGETPORT]'],
    ['nodeport', { tcp: ['80', '81'], nodePort: '30080' }, '--node-port is for one port'],
    ['clusterip', { tcp: ['80:81:82'] }, '--tcp takes PORT[:TARGETPORT], not "80:81:82"'],
    ['clusterip', { tcp: ['http'] }, '--tcp takes a whole number from 1 to 65535, not "http"'],
    ['clusterip', { tcp: ['80:not_a_port'] }, '--tcp: "not_a_port" is neither the number nor the name of a port'],
    ['externalname', { externalName: '-' }, '--external-name "-": a name must'],
  ] as const)('refuses a %s service with %j', (type, flags, message) =>
    expect(() => serviceObject('web', type, flags)).toThrow(message),
  );
});

describe('autoscale', () => {
  const target = { kind: { apiVersion: 'apps/v1', kind: 'Deployment' }, name: 'web' };

  it('scales what it names by what its pods use', () => {
    expect(autoscalerObject({ min: '2', max: '9', cpu: '70%', memory: '200' })(target)).toEqual({
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 2,
        maxReplicas: 9,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } },
          { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '200Mi' } } },
        ],
      },
    });
    const { spec, metadata } = autoscalerObject({ max: '3', min: '-1', cpuPercent: '-1', name: 'other' })(target);
    expect([spec, metadata]).toEqual([{ scaleTargetRef: expect.anything(), maxReplicas: 3 }, { name: 'other' }]);
  });

  it.each([
    [{ max: '0' }, '--max takes a whole number from 1 on, not "0"'],
    [{ max: '2', min: '3' }, '--max must be larger or equal to --min: 2 is less than 3'],
    [{ max: '2', cpu: '1', cpuPercent: '50' }, '--cpu-percent and --cpu are mutually exclusive'],
    [{ max: '2', cpu: 'half' }, '--cpu takes a percentage or an amount, e.g. 70% or 500m, not "half"'],
    [{ max: '2', memory: '-1Gi' }, '--memory takes a percentage or an amount, e.g. 70% or 200Mi, not "-1Gi"'],
    [{ max: '2', cpu: '0%' }, '--cpu takes a whole number from 1 on'],
  ])('refuses %j', (flags, message) => expect(() => autoscalerObject(flags)).toThrow(message));
});
