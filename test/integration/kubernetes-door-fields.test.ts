import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { envelope, openEnvelope } from '../../apiserver/http/protobuf/kubernetes-protobuf.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks } from './kubernetes-asks.ts';

// What becomes of fields that a kind does not have, and of those that come twice, over Kubernetes' HTTP API.
let server: RunningServer;
const ask = asks(() => server);

const deployments = '/apis/apps/v1/namespaces/default/deployments';
const spec = {
  selector: { matchLabels: { app: 'a' } },
  template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'a', image: 'x' }] } },
};
const deploymentOf = (name: string, more: object = {}) => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name } },
  spec: { ...spec, ...more },
});
/** A text that has `replicas` twice, and a field that there is not. */
const wrongText = (name: string): string =>
  JSON.stringify(deploymentOf(name, { replica: 1, replicas: 3 })).replace('"replicas":3', '"replicas":2,"replicas":3');

const warningsOf = (header: string | undefined): string[] =>
  [...(header ?? '').matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, text]) => JSON.parse(`"${text}"`));

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  await ask(deployments, { method: 'POST', body: deploymentOf('old') });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const both = ['duplicate field "spec.replicas"', 'unknown field "spec.replica"'];

interface Way {
  readonly of: string;
  readonly path: string;
  readonly method: string;
  readonly type?: string;
  readonly body: string;
  readonly told: readonly string[];
}

const patchOf = (type: string): Way => ({
  ...{ of: `a patch of ${type}`, path: `${deployments}/old`, method: 'PATCH', type: `application/${type}+json` },
  ...{ body: '{"spec":{"replica":1,"replicas":2,"replicas":3}}', told: both },
});

const ways: readonly Way[] = [
  { of: 'a create', path: deployments, method: 'POST', body: wrongText('new'), told: both },
  { of: 'an update', path: `${deployments}/old`, method: 'PUT', body: wrongText('old'), told: both },
  {
    ...{ of: 'YAML', path: deployments, method: 'POST', type: 'application/yaml', told: both },
    body: `apiVersion: apps/v1
kind: Deployment
metadata: &m {name: yaml}
spec:
  replica: 1
  replicas: 2
  replicas: 3
  selector: {matchLabels: &l {app: a}}
  template:
    metadata: {labels: *l}
    spec: {containers: [{name: a, image: x}]}
`,
  },
  patchOf('merge-patch'),
  patchOf('strategic-merge-patch'),
  {
    ...{ of: 'a JSON patch', path: `${deployments}/old`, method: 'PATCH', type: 'application/json-patch+json' },
    ...{ body: '[{"op":"add","path":"/spec/replica","value":1}]', told: ['unknown field "spec.replica"'] },
  },
];

describe.each(ways)('$of with wrong fields', ({ path, method, type, body, told }) => {
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  const send = (query: string) => ask(`${path}?${query}`, { method, body, headers });
  const isPatch = method === 'PATCH';

  it('is refused by fieldValidation=Strict', async () => {
    const { code, json } = await send('fieldValidation=Strict');
    const error = `strict decoding error: ${told.join(', ')}`;
    expect([code, json.reason]).toEqual(isPatch ? [422, 'Invalid'] : [400, 'BadRequest']);
    const whole = `Deployment in version "v1" cannot be handled as a Deployment: ${error}`;
    expect(json.message).toBe(isPatch ? ` "" is invalid: patch: Invalid value: ${JSON.stringify(body)}: ${error}` : whole);
  });

  it.each(['', 'fieldValidation=Warn'])('is carried out with warnings (%s)', async (query) => {
    const { code, headers: answered, json } = await send(`${query}&dryRun=All`);
    expect([code, warningsOf(answered.warning)]).toEqual([method === 'POST' ? 201 : 200, told]);
    expect(json.spec).not.toHaveProperty('replica');
    if (told === both) expect(json.spec.replicas).toBe(3);
  });

  it('is carried out without a word by fieldValidation=Ignore', async () => {
    const { code, headers: answered } = await send('fieldValidation=Ignore&dryRun=All');
    expect([code < 300, answered.warning]).toEqual([true, undefined]);
  });
});

it('an apply with a field that the kind does not have is refused in each mode', async () => {
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  for (const mode of ['Ignore', 'Warn', 'Strict']) {
    const path = `${deployments}/applied?fieldManager=m&fieldValidation=${mode}`;
    const { code, json } = await ask(path, { method: 'PATCH', body: deploymentOf('applied', { replica: 1 }), headers });
    expect([code, json.message]).toEqual([
      400,
      'failed to create typed patch object (default/applied; apps/v1, Kind=Deployment): ' +
        '.spec.replica: field not declared in schema',
    ]);
  }
});

it('a Scale and a review are judged as objects are', async () => {
  const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'old' }, spec: { replicas: 2, size: 5 } };
  const scaled = await ask(`${deployments}/old/scale`, { method: 'PUT', body: scale });
  expect([scaled.code, warningsOf(scaled.headers.warning)]).toEqual([200, ['unknown field "spec.size"']]);
  const refused = await ask(`${deployments}/old/scale?fieldValidation=Strict`, { method: 'PUT', body: scale });
  const why = 'Scale in version "v1" cannot be handled as a Scale: strict decoding error: unknown field "spec.size"';
  expect([refused.code, refused.json.message]).toEqual([400, why]);
  const headers = { 'content-type': 'application/merge-patch+json' };
  const patched = await ask(`${deployments}/old/scale`, { method: 'PATCH', body: { spec: { size: 5 } }, headers });
  expect([patched.code, warningsOf(patched.headers.warning)]).toEqual([200, ['unknown field "spec.size"']]);
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace: 'a', x: 1 } };
  const reviewed = await ask('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', { method: 'POST', body: review });
  expect([reviewed.code, warningsOf(reviewed.headers.warning)]).toEqual([201, ['unknown field "spec.x"']]);
});

it('what Go clients send of zero values is taken without a warning, and defaults come', async () => {
  // As `kubectl create deployment` of 1.33 sends it.
  const template = { metadata: { creationTimestamp: null, labels: { app: 'go' } } };
  const body = {
    ...{ kind: 'Deployment', apiVersion: 'apps/v1', metadata: { name: 'go', creationTimestamp: null, labels: { app: 'go' } } },
    spec: {
      ...{ replicas: 1, selector: { matchLabels: { app: 'go' } }, strategy: {} },
      template: { ...template, spec: { containers: [{ name: 'nginx', image: 'nginx', resources: {} }] } },
    },
    status: {},
  };
  const path = `${deployments}?fieldManager=kubectl-create&fieldValidation=Strict`;
  const { code, headers, json } = await ask(path, { method: 'POST', body });
  expect([code, headers.warning]).toEqual([201, undefined]);
  expect(json.spec).toMatchObject({
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } },
    template: { spec: { restartPolicy: 'Always', containers: [{ imagePullPolicy: 'Always' }] } },
  });
  const again = await ask(`${deployments}/go`, {
    method: 'PUT',
    body: { ...body, metadata: { name: 'go', labels: { app: 'go' } } },
  });
  expect(again.json.metadata.generation).toBe(1);
});

it('wrong letters are other fields: the case counts', async () => {
  const wrong = await ask(`${deployments}?fieldValidation=Strict`, { method: 'POST', body: deploymentOf('c', { Replicas: 2 }) });
  const error = 'strict decoding error: unknown field "spec.Replicas"';
  expect(wrong.json.message).toBe(`Deployment in version "v1" cannot be handled as a Deployment: ${error}`);
});

it('twenty warnings at most come of one body', async () => {
  const wrong = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field${index}`, 1]));
  const { code, headers } = await ask(`${deployments}?dryRun=All`, { method: 'POST', body: deploymentOf('many', wrong) });
  expect([code, warningsOf(headers.warning).length]).toEqual([201, 20]);
});

// Each as the kubectl of that version sent it.
const cronJob = (apiVersion: string) => ({
  ...{ kind: 'CronJob', apiVersion, metadata: { name: `of-${apiVersion.split('/')[1]}`, creationTimestamp: null }, status: {} },
  spec: {
    schedule: '* * * * *',
    jobTemplate: {
      metadata: { name: `of-${apiVersion.split('/')[1]}`, creationTimestamp: null },
      spec: {
        template: {
          metadata: { creationTimestamp: null },
          spec: { containers: [{ name: 'z', image: 'x', resources: {} }], restartPolicy: 'OnFailure' },
        },
      },
    },
  },
});
const sent: readonly [string, string, string | object][] = [
  ['create cronjob of 1.20', '/apis/batch/v1beta1/namespaces/default/cronjobs', cronJob('batch/v1beta1')],
  ['create cronjob of 1.31', '/apis/batch/v1/namespaces/default/cronjobs', cronJob('batch/v1')],
  [
    'create cronjob of 1.33',
    '/apis/batch/v1/namespaces/default/cronjobs',
    'azhzAAoTCghiYXRjaC92MRIHQ3JvbkpvYhKVAQoSCgJjORIAGgAiACoAMgA4AEIAEn0KCSogKiAqICogKhoAKm4KEgoCYzkSABoA' +
      'IgAqADIAOABCABJYMlYKEAoAEgAaACIAKgAyADgAQgASQhIbCgJjORIBeCoAQgBqAHIAgAEAiAEAkAEAogEAGglPbkZhaWx1cmUy' +
      'AEIASgBSAFgAYABoAIIBAIoBAJoBAMIBABoAGgAiAA==',
  ],
  [
    'create deployment of 1.33',
    deployments,
    'azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EqcBCiEKBHdlYjESABoAIgAqADIAOABCAFoLCgNhcHASBHdlYjESdAgBEg0KCwoD' +
      'YXBwEgR3ZWIxGlkKHQoAEgAaACIAKgAyADgAQgBaCwoDYXBwEgR3ZWIxEjgSGgoBeBIBeCoAQgBqAHIAgAEAiAEAkAEAogEAGgAy' +
      'AEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACICCgAoADgAGgwIABAAGAAgACgAOAAaACIA',
  ],
  [
    'create job of 1.33',
    '/apis/batch/v1/namespaces/default/jobs',
    'azhzAAoPCghiYXRjaC92MRIDSm9iEnQKEgoCazISABoAIgAqADIAOABCABJUMlIKEAoAEgAaACIAKgAyADgAQgASPhIbCgJrMhIB' +
      'eCoAQgBqAHIAgAEAiAEAkAEAogEAGgVOZXZlcjIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAGgggACgAMAA6ABoAIgA=',
  ],
];

it.each(sent)('the body of kubectl %s is taken without a warning of templates', async (_of, path, body) => {
  const isText = typeof body === 'string';
  const headers: Record<string, string> = isText ? { 'content-type': 'application/vnd.kubernetes.protobuf' } : {};
  const { code, headers: answered } = await ask(`${path}?fieldValidation=Strict`, {
    ...{ method: 'POST', headers, body: isText ? Buffer.from(body, 'base64') : body },
  });
  const deprecated = /^batch\/v1beta1 CronJob is deprecated/;
  expect([code, warningsOf(answered.warning).filter((text) => !deprecated.test(text))]).toEqual([201, []]);
});

describe('a body as Go clients write it in protobuf', () => {
  const type = 'application/vnd.kubernetes.protobuf';
  const kind = { kind: 'Deployment', apiVersion: 'apps/v1' };
  // Go writes all plain fields, empty or not.
  const container = { name: 'c', image: 'x', imagePullPolicy: '', terminationMessagePath: '', workingDir: '', stdin: false };
  const metadata = { generateName: '', namespace: '', uid: '', resourceVersion: '', generation: 0, creationTimestamp: {} };
  const podSpec = { containers: [container], restartPolicy: '', dnsPolicy: '', hostNetwork: false, schedulerName: '' };
  const written = {
    metadata: { ...metadata, name: 'proto' },
    spec: {
      ...{ replicas: 0, selector: { matchLabels: { app: 'p' } }, minReadySeconds: 0, paused: false, strategy: { type: '' } },
      template: { metadata: { ...metadata, name: '', labels: { app: 'p' } }, spec: podSpec },
    },
    status: { observedGeneration: 0, replicas: 0 },
  };
  const bodyOf = (object: object): Buffer => envelope(kind, encodeMessage('berth.apps.v1.Deployment', object));

  it('gets defaults where nothing was given, and keeps a zero that was', async () => {
    const { code, json } = await ask(deployments, { method: 'POST', body: bodyOf(written), headers: { 'content-type': type } });
    expect(code).toBe(201);
    expect(json.spec).toMatchObject({
      ...{ replicas: 0, strategy: { type: 'RollingUpdate' }, revisionHistoryLimit: 10 },
      template: {
        spec: {
          ...{ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', schedulerName: 'default-scheduler' },
          containers: [{ imagePullPolicy: 'Always', terminationMessagePath: '/dev/termination-log' }],
        },
      },
    });
    expect(json.metadata.creationTimestamp).not.toMatch(/^(1970|0001)/);
  });

  it('read and written back is the same object', async () => {
    const { bytes, json } = await ask(`${deployments}/proto`, { headers: { accept: type } });
    expect(json).toBeUndefined();
    const read = decodeMessage<typeof written>('berth.apps.v1.Deployment', openEnvelope(bytes).bytes);
    const { minReadySeconds, paused } = written.spec;
    const back = { ...read, spec: { ...read.spec, minReadySeconds, paused }, status: written.status };
    const updated = await ask(`${deployments}/proto`, { method: 'PUT', body: bodyOf(back), headers: { 'content-type': type } });
    expect([updated.code, updated.json.metadata.generation]).toEqual([200, 1]);
    expect(updated.json.metadata.resourceVersion).toBe((read.metadata as { resourceVersion?: string }).resourceVersion);
  });

  it('of an object that is being deleted may name its times, with the nanoseconds that Go writes', async () => {
    await ask(`${deployments}/proto`, {
      ...{ method: 'PATCH', body: { metadata: { finalizers: ['example.com/kept'] } } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    await ask(`${deployments}/proto`, { method: 'DELETE' });
    const { bytes } = await ask(`${deployments}/proto`, { headers: { accept: type } });
    const read = decodeMessage<{ metadata: Record<string, object> }>('berth.apps.v1.Deployment', openEnvelope(bytes).bytes);
    const times = ['creationTimestamp', 'deletionTimestamp'].map((name) => [name, { ...read.metadata[name], nanos: 0 }]);
    const back = { ...read, metadata: { ...read.metadata, ...Object.fromEntries(times) }, status: { replicas: 0 } };
    const path = `${deployments}/proto/status`;
    const updated = await ask(path, { method: 'PUT', body: bodyOf(back), headers: { 'content-type': type } });
    expect([updated.code, updated.json.message]).toEqual([200, undefined]);
  });
});

it('an empty text of JSON in a plain field is nothing, as in Go', async () => {
  const body = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's' },
    spec: { type: '', clusterIP: '', ports: [{ port: 80 }] },
  };
  const { code, json } = await ask('/api/v1/namespaces/default/services', { method: 'POST', body });
  expect([code, json.spec.type, json.spec.ports[0].targetPort]).toEqual([201, 'ClusterIP', 80]);
});
