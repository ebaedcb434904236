import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cronJobV1beta1 } from '../../api/kinds/cron-job/versions/v1beta1.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';
import { patchOf, startWebhooks } from './webhook-harness.ts';

// Older versions of kinds, as a user meets them: one object, read and written in the version that is asked for.

let server: RunningServer;
let cli: CommandLine;

beforeAll(async () => {
  server = await startServer();
  cli = await openCommandLine(server.admin);
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

async function file(name: string, ...objects: JsonObject[]): Promise<string> {
  const path = join(cli.folder, name);
  await writeFile(path, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  return path;
}

async function out(...words: string[]): Promise<string> {
  const said = await cli.berth(...words);
  expect(said.err.replaceAll(/^Warning: .*is deprecated.*\n/gm, '')).toBe('');
  return said.out;
}

const read = async (noun: string, name: string): Promise<JsonObject> => JSON.parse(await out('get', noun, name, '-o', 'json'));

const cronJob = (spec: object = {}): JsonObject => ({
  apiVersion: 'batch/v1beta1',
  kind: 'CronJob',
  metadata: { name: 'nightly' },
  spec: {
    schedule: '0 3 * * *',
    jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } } } },
    ...spec,
  },
});

it('a manifest of an older version is applied, compared, read in each version and deleted', async () => {
  const path = await file('cron.yaml', cronJob());
  const applied = await cli.berth('apply', '-f', path);
  expect(applied.out).toBe('cronjob.batch/nightly created\n');
  expect(applied.err).toBe(
    `Warning: ${path}:1: batch/v1beta1 CronJob is deprecated in v1.21+, unavailable in v1.25+; use batch/v1 CronJob\n`,
  );
  expect(await out('apply', '-f', path)).toBe('cronjob.batch/nightly unchanged\n');
  expect(await out('diff', '-f', path)).toBe('');
  expect(await read('cronjobs.v1beta1.batch', 'nightly')).toMatchObject({
    apiVersion: 'batch/v1beta1',
    kind: 'CronJob',
    spec: { schedule: '0 3 * * *', concurrencyPolicy: 'Allow' },
  });
  expect(await read('cronjobs', 'nightly')).toMatchObject({ apiVersion: 'batch/v1' });
  expect((await server.client.cronJobs.get({ namespace: 'default', name: 'nightly' })).spec?.schedule).toBe('0 3 * * *');
  expect(await out('patch', 'cj.v1beta1.batch/nightly', '-p', '{"spec":{"suspend":true}}')).toContain('patched');
  expect(await out('get', 'cj.v1beta1.batch')).toMatch(/^NAME +SCHEDULE .*\nnightly +0 3 \* \* \* +<none> +True /);
  expect(await out('describe', 'cj.v1beta1.batch', 'nightly')).toContain('Schedule');
  const listed = JSON.parse(await out('get', 'cj.v1beta1.batch', '-o', 'json')) as { items: JsonObject[] };
  expect(listed.items.map(({ apiVersion }) => apiVersion)).toEqual(['batch/v1beta1']);
  await file('cron.yaml', cronJob({ schedule: '0 4 * * *' }));
  const diff = await cli.berth('diff', '-f', path);
  expect(diff.code).toBe(1);
  expect(diff.out).toMatch(/-.*schedule: 0 3 /);
  expect(diff.out).toMatch(/\+.*schedule: 0 4 /);
  expect(diff.out).not.toContain('apiVersion: batch/v1\n');
  expect(await out('delete', '-f', path)).toBe('cronjob.batch "nightly" deleted\n');
});

it('a field that the version does not have is refused as one of the newest version', async () => {
  const wrong = await cli.berth('apply', '-f', await file('wrong.yaml', cronJob({ schedul: 'x' })));
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('did you mean "schedule"?')]);
  const { objects } = server.client;
  const sent = objects.create('batch/v1beta1/CronJob', cronJob({ schedul: 'x' }), { namespace: 'default' });
  await expect(sent).rejects.toThrow(/spec\.schedul/);
  await expect(objects.get('batch/v2alpha1/CronJob', { namespace: 'default', name: 'a' })).rejects.toThrow(
    'apiVersion "batch/v2alpha1" is not known for kind "CronJob": use "batch/v1" or "batch/v1beta1"',
  );
});

it('an empty selector of a budget means no pods in policy/v1beta1, and all of them in policy/v1', async () => {
  const budget = (name: string, apiVersion: string, selector: JsonObject): JsonObject => ({
    apiVersion,
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { minAvailable: 1, selector },
  });
  const objects = [budget('none', 'policy/v1beta1', {}), budget('all', 'policy/v1', {})];
  await out('apply', '-f', await file('budgets.yaml', ...objects));
  const selectorOf = async (noun: string, name: string) => ((await read(noun, name)).spec as JsonObject).selector;
  const key = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match';
  expect(await selectorOf('pdb', 'none')).toEqual({ matchExpressions: [{ key, operator: 'Exists' }] });
  expect(await selectorOf('pdb.v1beta1.policy', 'none')).toEqual({});
  expect(await selectorOf('pdb', 'all')).toEqual({});
  expect(await selectorOf('pdb.v1beta1.policy', 'all')).toEqual({ matchExpressions: [{ key, operator: 'DoesNotExist' }] });
});

it('a server-side apply owns the fields of the stored version', async () => {
  const path = await file('cron.yaml', { ...cronJob(), metadata: { name: 'owned' } });
  expect(await out('apply', '--server-side', '-f', path)).toBe('cronjob.batch/owned serverside-applied\n');
  expect(await out('apply', '--server-side', '-f', path)).toBe('cronjob.batch/owned serverside-applied\n');
  const shown = JSON.parse(await out('get', 'cj.v1beta1.batch', 'owned', '-o', 'json', '--show-managed-fields'));
  expect(shown.metadata.managedFields).toEqual([
    expect.objectContaining({ manager: 'berth', operation: 'Apply', apiVersion: 'batch/v1' }),
  ]);
});

it('watches and lists give the version that they ask for, as JSON and as protobuf', async () => {
  const { objects } = server.client;
  const stop = AbortSignal.timeout(10_000);
  for await (const [change] of objects.watch('batch/v1beta1/CronJob', { namespace: 'default' }, { signal: stop })) {
    expect(change?.object).toMatchObject({ apiVersion: 'batch/v1beta1', metadata: { name: 'owned' } });
    break;
  }
  const typed = server.client.resource(cronJobV1beta1);
  expect((await typed.list({ namespace: 'default' })).items[0]?.metadata?.name).toBe('owned');
  for await (const [change] of typed.watch({ namespace: 'default' }, { signal: stop })) {
    expect(change?.object).toMatchObject({ metadata: { name: 'owned' } });
    break;
  }
});

it('an autoscaler of autoscaling/v1 has the CPU usage as a field, and the rest in annotations', async () => {
  const spec = { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, maxReplicas: 5 };
  const older = (percent: number): JsonObject => ({
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web' },
    spec: { ...spec, targetCPUUtilizationPercentage: percent },
  });
  const path = await file('hpa-v1.yaml', older(50));
  // Kubernetes does not deprecate it.
  const applied = await cli.berth('apply', '-f', path);
  expect([applied.out, applied.err]).toEqual(['horizontalpodautoscaler.autoscaling/web created\n', '']);
  expect(await out('apply', '-f', path)).toContain('unchanged');
  const percent = { type: 'Utilization', averageUtilization: 50 };
  const cpu = { type: 'Resource', resource: { name: 'cpu', target: percent } };
  const memory = { type: 'Resource', resource: { name: 'memory', target: percent } };
  expect(await read('hpa', 'web')).toMatchObject({ apiVersion: 'autoscaling/v2', spec: { metrics: [cpu] } });
  await out('patch', 'hpa/web', '-p', JSON.stringify({ spec: { metrics: [cpu, memory] } }));
  const shown = await read('hpa.v1.autoscaling', 'web');
  expect(shown).toMatchObject({ apiVersion: 'autoscaling/v1', spec: { targetCPUUtilizationPercentage: 50 } });
  expect(shown.spec).not.toHaveProperty('metrics');
  expect(JSON.stringify(shown)).toContain('autoscaling.alpha.kubernetes.io/metrics');
  await file('hpa-v1.yaml', older(60));
  expect(await out('apply', '-f', path)).toContain('configured');
  const metrics = [memory, { ...cpu, resource: { ...cpu.resource, target: { ...percent, averageUtilization: 60 } } }];
  const newest = await read('hpa.v2beta2.autoscaling', 'web');
  expect(newest).toMatchObject({ apiVersion: 'autoscaling/v2beta2', spec: { metrics } });
  expect(JSON.stringify(newest)).not.toContain('autoscaling.alpha.kubernetes.io/');
  expect(await out('apply', '--server-side', '--force-conflicts', '-f', path)).toContain('serverside-applied');
  expect(await out('get', 'hpa.v1.autoscaling')).toContain('Deployment/web');
  expect(await out('explain', '--api-version', 'autoscaling/v1', 'hpa.spec')).toContain('targetCPUUtilizationPercentage');
  const wrong = await file('wrong.yaml', { ...older(50), spec: { ...spec, metrics: [cpu] } });
  expect((await cli.berth('apply', '-f', wrong)).err).toContain('spec.metrics');
  const unreadable = { ...older(50), metadata: { name: 'x', annotations: { 'autoscaling.alpha.kubernetes.io/metrics': '{' } } };
  const refused = server.client.objects.create('autoscaling/v1/HorizontalPodAutoscaler', unreadable, { namespace: 'default' });
  await expect(refused).rejects.toThrow('metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]');
});

it('an endpoint of discovery.k8s.io/v1beta1 has its node and zone in its topology', async () => {
  const topology = { 'kubernetes.io/hostname': 'n1', 'topology.kubernetes.io/zone': 'z' };
  const slice = { apiVersion: 'discovery.k8s.io/v1beta1', kind: 'EndpointSlice', metadata: { name: 'old' } };
  const endpoints = [{ addresses: ['10.1.2.3'], topology }];
  await out('apply', '-f', await file('slice.yaml', { ...slice, addressType: 'IPv4', endpoints }));
  expect(await read('endpointslices', 'old')).toMatchObject({ endpoints: [{ nodeName: 'n1', zone: 'z' }] });
  expect(await read('endpointslices.v1beta1.discovery.k8s.io', 'old')).toMatchObject({ ...slice, endpoints: [{ topology }] });
});

it('an event of events.k8s.io/v1 is an event of v1 with other names of its fields', async () => {
  const kind = 'events.k8s.io/v1/Event';
  const regarding = { kind: 'Pod', namespace: 'default', name: 'web' };
  const event = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'web.1', namespace: 'default' },
    regarding,
    ...{ note: 'told', reason: 'Telling', action: 'Tell', type: 'Normal', eventTime: '2026-01-01T00:00:00.000000Z' },
    ...{ reportingController: 'example.com/teller', reportingInstance: 'teller-1' },
  };
  const { objects } = server.client;
  expect(await objects.create(kind, event)).toMatchObject(event);
  const { action: _, reportingInstance: __, ...partial } = event;
  const missing = objects.create(kind, { ...partial, metadata: { name: 'web.2', namespace: 'default' } });
  await expect(missing).rejects.toThrow(/reportingInstance: is required.*action: is required/);
  const core = { involvedObject: regarding, message: 'told', reportingComponent: 'example.com/teller' };
  expect(await objects.get('Event', { namespace: 'default', name: 'web.1' })).toMatchObject({ apiVersion: 'v1', ...core });
  const chosen = await objects.list(kind, { namespace: 'default', fieldSelector: 'regarding.name=web,reportingController!=x' });
  expect(chosen.items).toEqual([expect.objectContaining({ apiVersion: 'events.k8s.io/v1', note: 'told', regarding })]);
  await expect(objects.list('Event', { fieldSelector: 'regarding.name=web' })).rejects.toThrow('regarding.name');
  expect(await out('get', 'events.events.k8s.io')).toMatch(/Telling +pod\/web +told/);
  expect(await read('events.events.k8s.io', 'web.1')).toMatchObject({ regarding });
  expect(await out('get', 'events')).toContain('told');
});

it('discovery names every version', async () => {
  const info = (await server.client.objects.kinds()).find(({ kind }) => kind === 'CronJob');
  expect([info?.apiVersion, info?.versions]).toEqual(['batch/v1', ['batch/v1', 'batch/v1beta1']]);
  const versions = (await out('api-versions')).split('\n');
  const older = ['autoscaling/v1', 'autoscaling/v2beta2', 'discovery.k8s.io/v1beta1', 'events.k8s.io/v1'];
  for (const version of ['batch/v1', 'batch/v1beta1', 'policy/v1beta1', ...older]) expect(versions).toContain(version);
  expect(await out('explain', '--api-version', 'batch/v1beta1', 'cj')).toContain('VERSION:    v1beta1\n');
  expect((await cli.berth('explain', '--api-version', 'batch/v3', 'cj')).err).toContain('use "batch/v1" or "batch/v1beta1"');
  expect(await out('api-resources')).toMatch(/cronjobs +cj +batch\/v1beta1 +true +CronJob/);
});

describe('rules of users that name another version of a kind', () => {
  const spec = { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, maxReplicas: 5 };
  const older = (name: string, percent: number): JsonObject => ({
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name, namespace: 'default' },
    spec: { ...spec, targetCPUUtilizationPercentage: percent },
  });
  const newer = (name: string, averageUtilization: number): JsonObject => ({
    ...older(name, 0),
    apiVersion: 'autoscaling/v2',
    spec: {
      ...spec,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } }],
    },
  });
  const create = (object: JsonObject) => server.client.objects.create(`${object.apiVersion}/${object.kind}`, object);
  const rule = {
    operations: ['CREATE'],
    apiGroups: ['autoscaling'],
    apiVersions: ['v1'],
    resources: ['horizontalpodautoscalers'],
  };

  /** Puts a policy in force while `work` runs. */
  async function under(match: JsonObject, expression: string, work: () => Promise<void>): Promise<void> {
    const { objects } = server.client;
    const metadata = { name: 'older' };
    const whole = { matchConstraints: match, validations: [{ expression, message: 'the rule is broken' }] };
    await objects.create('ValidatingAdmissionPolicy', { metadata, spec: whole });
    const bound = { policyName: 'older', validationActions: ['Deny'] };
    await objects.create('ValidatingAdmissionPolicyBinding', { metadata, spec: bound });
    await work();
    await objects.delete('ValidatingAdmissionPolicyBinding', metadata);
    await objects.delete('ValidatingAdmissionPolicy', metadata);
  }

  it('a policy sees objects in the version that it names, whichever they are written in', async () => {
    const few = "request.kind.version == 'v1' && object.spec.targetCPUUtilizationPercentage <= 80";
    await under({ resourceRules: [rule] }, few, async () => {
      await create(older('few', 80));
      await create(newer('few-too', 80));
      await expect(create(older('many', 81))).rejects.toThrow('the rule is broken');
      await expect(create(newer('many', 81))).rejects.toThrow('the rule is broken');
    });
  });

  it('"Exact" means the version of the request', async () => {
    await under({ resourceRules: [rule], matchPolicy: 'Exact' }, 'false', async () => {
      await expect(create(older('exact', 80))).rejects.toThrow('the rule is broken');
      await create(newer('exact', 80));
    });
  });

  it('a version of another group is a version of the kind as well', async () => {
    const events = { ...rule, apiGroups: ['events.k8s.io'], resources: ['events'] };
    const involvedObject = { kind: 'Pod', name: 'web', namespace: 'default' };
    const event = (message: string) => ({ metadata: { generateName: 'e-', namespace: 'default' }, involvedObject, message });
    await under({ resourceRules: [events] }, "object.note != 'bad'", async () => {
      await server.client.objects.create('Event', event('good'));
      await expect(server.client.objects.create('Event', event('bad'))).rejects.toThrow('the rule is broken');
    });
  });

  it('webhooks are sent, and change, objects of the version that they name', async () => {
    const hooks = await startWebhooks();
    const metadata = { name: 'older' };
    const asked = { sideEffects: 'None', admissionReviewVersions: ['v1'], rules: [rule] };
    const hook = { name: 'older.example.com', clientConfig: hooks.at('/older'), ...asked };
    hooks.handle('/older', () => patchOf([{ op: 'replace', path: '/spec/targetCPUUtilizationPercentage', value: 7 }]));
    await server.client.objects.create('MutatingWebhookConfiguration', { metadata, webhooks: [hook] });
    const made = await create(newer('hooked', 50));
    await server.client.objects.delete('MutatingWebhookConfiguration', metadata);
    hooks.close();
    expect(hooks.asked('/older')).toMatchObject([
      { kind: { version: 'v1' }, object: { apiVersion: 'autoscaling/v1', spec: { targetCPUUtilizationPercentage: 50 } } },
    ]);
    expect(made).toMatchObject({
      apiVersion: 'autoscaling/v2',
      spec: { metrics: [{ resource: { target: { averageUtilization: 7 } } }] },
    });
  });
});

it('a selector by a name that objects of JavaScript have is refused by that name', async () => {
  const options = { namespace: 'default', fieldSelector: 'constructor=x' };
  await expect(server.client.objects.list('events.k8s.io/v1/Event', options)).rejects.toThrow(
    'field label not supported: constructor',
  );
});
