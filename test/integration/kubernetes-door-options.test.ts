import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { cronTab, cronTabs } from './custom-kinds-harness.ts';
import { asks } from './kubernetes-asks.ts';

// What Kubernetes' HTTP API says of the options of writes, and what custom objects answer there.
let server: RunningServer;
const ask = asks(() => server);

const maps = '/api/v1/namespaces/default/configmaps';
const mapOf = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const typed = (type: string) => ({ 'content-type': `application/${type}` });
const MERGE = typed('merge-patch+json');
const APPLY = typed('apply-patch+yaml');

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  await ask(maps, { method: 'POST', body: mapOf('a') });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

describe('options that cannot be are invalid, as objects of their own:', () => {
  const supported = (...values: string[]) => `supported values: ${values.map((each) => `"${each}"`).join(', ')}`;
  const unknownManager = 'fieldManager: Invalid value: "\\u0007": invalid character "\\u0007"';
  it.each([
    ['POST', maps, 'dryRun=Some', {}, 'CreateOptions', `dryRun: Unsupported value: "Some": ${supported('All')}`],
    [
      ...['POST', maps, `fieldManager=${'x'.repeat(129)}`, {}, 'CreateOptions'],
      'fieldManager: Too long: may not be more than 128 bytes',
    ],
    ['PUT', `${maps}/a`, 'fieldManager=%07', {}, 'UpdateOptions', unknownManager],
    [
      ...['PUT', `${maps}/a`, 'fieldValidation=Foo', {}, 'UpdateOptions'],
      `fieldValidation: Unsupported value: "Foo": ${supported('', 'Ignore', 'Strict', 'Warn')}`,
    ],
    ['PATCH', `${maps}/a`, 'force=false', MERGE, 'PatchOptions', 'force: Forbidden: may not be specified for non-apply patch'],
    ['PATCH', `${maps}/a`, '', APPLY, 'PatchOptions', 'fieldManager: Required value: is required for apply patch'],
    [
      ...['DELETE', `${maps}/a`, 'propagationPolicy=Foo', {}, 'DeleteOptions'],
      `propagationPolicy: Unsupported value: "Foo": ${supported('Foreground', 'Background', 'Orphan', 'nil')}`,
    ],
    [
      ...['DELETE', maps, 'propagationPolicy=Orphan&orphanDependents=true', {}, 'DeleteOptions'],
      'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
    ],
  ] as [string, string, string, Record<string, string>, string, string][])(
    '%s %s?%s',
    async (method, path, query, headers, kind, why) => {
      const body = method === 'DELETE' ? {} : { body: mapOf('a') };
      const { code, json } = await ask(`${path}?${query}`, { method, ...body, headers });
      const message = `${kind}.meta.k8s.io "" is invalid: ${why}`;
      expect([code, json]).toMatchObject([422, { reason: 'Invalid', message, details: { group: 'meta.k8s.io', kind } }]);
    },
  );
});

it('an apply that makes an object is answered as a create, and a later one as a change', async () => {
  const apply = () => ask(`${maps}/made?fieldManager=me`, { method: 'PATCH', body: mapOf('made'), headers: APPLY });
  expect([(await apply()).code, (await apply()).code]).toEqual([201, 200]);
});

it('a JSON patch whose test fails is invalid, in the words that controllers look for', async () => {
  const body = [{ op: 'test', path: '/metadata/name', value: 'b' }];
  const { code, json } = await ask(`${maps}/a`, { method: 'PATCH', body, headers: typed('json-patch+json') });
  const why = 'operation 0 (test /metadata/name): the value is another';
  const message = `the server rejected our request due to an error in our request: ${why}`;
  expect([code, json]).toMatchObject([422, { reason: 'Invalid', message }]);
});

it.each([
  ['an unknown operation', [{ op: 'merge', path: '/a' }], 422, 'Invalid', /^the server rejected our request .*op must be add/],
  ['an operation without a path', [{ op: 'remove' }], 422, 'Invalid', /path must be/],
  ['a copy from nowhere', [{ op: 'copy', path: '/a' }], 422, 'Invalid', /copy needs from/],
  ['what is no operation', [1], 400, 'BadRequest', /operation 0: is no object/],
  ['no list', { op: 'remove', path: '/a' }, 400, 'BadRequest', /is a list of operations/],
  [
    'too many operations',
    Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' })),
    413,
    'RequestEntityTooLarge',
    /^Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001$/,
  ],
])('a JSON patch with %s is refused as in Kubernetes', async (_, body, code, reason, message) => {
  const answer = await ask(`${maps}/a`, { method: 'PATCH', body, headers: typed('json-patch+json') });
  expect([answer.code, answer.json.reason]).toEqual([code, reason]);
  expect(answer.json.message).toMatch(message);
});

it.each([
  ['an account', { serviceAccountName: 'none' }, /^error looking up service account default\/none: /],
  ['a class of priority', { priorityClassName: 'none' }, /^no PriorityClass with name none was found$/],
  ['a class of runtime', { runtimeClassName: 'none' }, /^pod rejected: RuntimeClass "none" not found/],
])('a pod that names %s that is not there is forbidden, once', async (_, names, why) => {
  const spec = { containers: [{ name: 'a', image: 'x' }], ...names };
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec };
  const { code, json } = await ask('/api/v1/namespaces/default/pods', { method: 'POST', body });
  expect([code, json]).toMatchObject([403, { reason: 'Forbidden', details: { name: 'p', kind: 'pods' } }]);
  const beginning = 'pods "p" is forbidden: ';
  expect(json.message.slice(0, beginning.length)).toBe(beginning);
  expect(json.message.slice(beginning.length)).toMatch(why);
});

it('a patch that names another object is a bad request', async () => {
  const message = 'the name of the object (b) does not match the name on the URL (a)';
  for (const [query, headers] of [
    ['', MERGE],
    ['?fieldManager=me', APPLY],
  ] as const) {
    const { code, json } = await ask(`${maps}/a${query}`, { method: 'PATCH', body: mapOf('b'), headers });
    expect([code, json]).toMatchObject([400, { reason: 'BadRequest', message }]);
  }
});

describe('a custom object', () => {
  const place = '/apis/stable.example.com/v1/namespaces/default/crontabs';

  beforeAll(async () => {
    await ask('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: cronTabs() });
    await until('the custom kind is served', async () => (await ask(place)).code === 200);
    await ask(place, { method: 'POST', body: cronTab('nightly') });
  });

  it('shows its scale, and is scaled by it', async () => {
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale' };
    const before = await ask(`${place}/nightly/scale`);
    expect([before.code, before.json]).toMatchObject([200, { ...scale, spec: { replicas: 1 }, status: { replicas: 0 } }]);
    const body = { ...before.json, spec: { replicas: 3 } };
    expect((await ask(`${place}/nightly/scale`, { method: 'PUT', body })).code).toBe(200);
    expect((await ask(`${place}/nightly/scale`)).json).toMatchObject({ spec: { replicas: 3 } });
  });

  it('takes no strategic merge patch: the answer says which it takes', async () => {
    const headers = typed('strategic-merge-patch+json');
    const { code, json } = await ask(`${place}/nightly`, { method: 'PATCH', body: { spec: {} }, headers });
    const known = ['json-patch+json', 'merge-patch+json', 'apply-patch+yaml', 'apply-patch+json'];
    const list = known.map((each) => `application/${each}`).join(', ');
    const message = `the body of the request was in an unknown format - accepted media types include: ${list}`;
    expect([code, json]).toMatchObject([415, { reason: 'UnsupportedMediaType', message }]);
  });
});

describe('a deletion that does not say what happens to dependents', () => {
  const job = (name: string) => ({
    ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name } },
    spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
  });
  const jobs = '/apis/batch/v1/namespaces/default/jobs';
  const orphaned = { metadata: { finalizers: ['orphan'] } };

  it('leaves the pods of a Job, with a warning', async () => {
    await ask(jobs, { method: 'POST', body: job('unsaid') });
    const { json, headers } = await ask(`${jobs}/unsaid`, { method: 'DELETE' });
    expect(headers.warning).toContain('child pods are preserved by default when jobs are deleted');
    expect([json, (await ask(`${jobs}/unsaid`)).json]).toMatchObject([orphaned, orphaned]);
  });

  it('takes the pods of a Job where the request says so, and those of other kinds', async () => {
    await ask(jobs, { method: 'POST', body: job('said') });
    const said = await ask(`${jobs}/said?propagationPolicy=Background`, { method: 'DELETE' });
    const map = await ask(`${maps}/a`, { method: 'DELETE' });
    expect([said.code, map.code, said.headers.warning, map.headers.warning]).toEqual([200, 200, undefined, undefined]);
    expect((await ask(`${jobs}/said`)).code).toBe(404);
  });

  it('leaves the pods of each Job of a collection', async () => {
    await ask(jobs, { method: 'POST', body: job('one-of-many') });
    const { headers } = await ask(jobs, { method: 'DELETE' });
    expect(headers.warning).toContain('child pods are preserved');
    expect((await ask(`${jobs}/one-of-many`)).json).toMatchObject(orphaned);
  });
});
