import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import { auditPath, openAudit } from '../../apiserver/main.ts';
import { encodeContinue } from '../../apiserver/registry/reads/continue-token.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type Answer, type Asked, asks } from './kubernetes-asks.ts';

// What a tenant with rights in one namespace may try against others by Kubernetes' HTTP API, as attacks*.test.ts does
// it over gRPC: the history of its namespace, texts that cost much, a full store, priorities, and the audit log.
let server: RunningServer;
let closeAudit: () => Promise<void>;
const ask = asks(() => server);

const api = '/api/v1/namespaces';
const secrets = `${api}/team/secrets`;
const maps = `${api}/default/configmaps`;
const users = ['tenant', 'auditor', 'guest', 'flooder'];
const namespaceLimits = { bytes: 200_000, objects: 40 };

const as = (token: string, path: string, asked: Asked = {}): Promise<Answer> => ask(path, { ...asked, token });
const post = (path: string, body: object) => made(ask(path, { method: 'POST', body }));
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const query = (words: Record<string, string | number>): string =>
  `?${new URLSearchParams(Object.entries(words).map(([name, value]) => [name, String(value)] as [string, string]))}`;

async function made(answer: Promise<Answer>): Promise<Answer['json']> {
  const { code, text, json } = await answer;
  if (code >= 300) throw new Error(text);
  return json;
}

async function bind(name: string, role: string, namespace?: string): Promise<void> {
  const rbac = 'rbac.authorization.k8s.io';
  const where = namespace === undefined ? 'clusterrolebindings' : `namespaces/${namespace}/rolebindings`;
  await post(`/apis/${rbac}/v1/${where}`, {
    metadata: { name: `${name}-${role}` },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: rbac, kind: 'User', name }],
  });
}

beforeAll(async () => {
  const first = await startServer({ backend: 'lmdb' });
  const { dataDir } = first;
  await first.stop();
  const file = join(dataDir, 'pki', 'tokens');
  const lines = users.map((user) => formatToken(user, { user, groups: [] }));
  await writeFile(file, (await readFile(file, 'utf8')) + lines.join(''));
  const opened = await openAudit({ dataDir, policyFile: undefined, log: pino({ level: 'silent' }) });
  closeAudit = opened.close;
  const limits = { namespaceLimits, audit: opened.audit };
  server = await startServer({ backend: 'lmdb', dataDir, ...limits, kubernetesListen: '127.0.0.1:0' });
  await post('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'see-secrets' },
    rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'] }],
  });
  await bind('auditor', 'see-secrets');
  await bind('tenant', 'edit', 'default');
  await bind('flooder', 'edit', 'default');
  await post(api, { metadata: { name: 'full' } });
  await bind('tenant', 'edit', 'full');
  await post(maps, { metadata: { name: 'target' }, data: { a: '1' } });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

describe('the next tenant of a namespace', () => {
  const versions = { old: '', birth: '' };
  const exactly = (more = {}) => query({ resourceVersion: versions.old, resourceVersionMatch: 'Exact', ...more });
  const page = () => query({ resourceVersion: versions.old, limit: 10 });

  beforeAll(async () => {
    await post(api, { metadata: { name: 'team' } });
    const old = await post(secrets, { metadata: { name: 'key' }, data: { key: base64('first tenant') } });
    versions.old = old.metadata.resourceVersion;
    await made(ask(`${secrets}/key`, { method: 'DELETE' }));
    const gone = await made(ask(`${api}/team`, { method: 'DELETE' }));
    await ask(`${api}/team/finalize`, { method: 'PUT', body: { ...gone, spec: { finalizers: [] } } });
    versions.birth = (await post(api, { metadata: { name: 'team' } })).metadata.resourceVersion;
    await bind('tenant', 'admin', 'team');
    await post(secrets, { metadata: { name: 'key' }, data: { key: base64('second') } });
  });
  const forged = () => encodeContinue({ revision: Number(versions.old), after: 'secrets/team/a' }, 'secrets\0team\0\0');
  const watch = (resourceVersion: string) => `${secrets}${query({ watch: 1, timeoutSeconds: 1, resourceVersion })}`;
  const expired = () => ({
    ...{ kind: 'Status', status: 'Failure', reason: 'Expired', code: 410 },
    message: expect.stringContaining(`the present namespace "team" exists since version ${versions.birth}`),
  });
  const asTable = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } };
  const named = () => query({ fieldSelector: 'metadata.name=team', resourceVersion: versions.old, limit: 10 });

  it.each<[string, () => string, Asked?]>([
    ['in a list', () => secrets + exactly()],
    ['in a page, which is exact without saying so', () => secrets + page()],
    ['in a table', () => secrets + page(), asTable],
    ['in a next page that was made up', () => secrets + query({ continue: forged() })],
    ['by deleting what it lists', () => secrets + page(), { method: 'DELETE' }],
    ['of the namespace itself', () => api + named()],
  ])('reads nothing of the one before %s: its version is gone', async (_, path, asked) => {
    const { code, json } = await as('tenant', path(), asked);
    expect({ code, json }).toEqual({ code: 410, json: { metadata: {}, apiVersion: 'v1', ...expired() } });
  });

  it('receives no events of it in a watch from an old version, as of one that is too old', async () => {
    const { code, text } = await as('tenant', watch(versions.old));
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([code, events]).toEqual([200, [{ type: 'ERROR', object: expect.objectContaining(expired()) }]]);
    const [own] = (await as('tenant', watch(versions.birth))).text.split('\n');
    expect(JSON.parse(own!)).toMatchObject({ type: 'ADDED', object: { data: { key: base64('second') } } });
  });

  it('reads its own where it asks for no older one, which an old version means without more', async () => {
    const asked: Record<string, string>[] = [{ resourceVersion: versions.old }, { resourceVersion: '0' }, {}];
    for (const words of asked) {
      expect((await as('tenant', `${secrets}/key${query(words)}`)).json.data).toEqual({ key: base64('second') });
      const { items } = (await as('tenant', secrets + query(words))).json;
      expect(items.map(({ data }: { data: object }) => data)).toEqual([{ key: base64('second') }]);
    }
    const birth = { resourceVersion: versions.birth, resourceVersionMatch: 'Exact' };
    expect((await as('tenant', secrets + query(birth))).json.items).toEqual([]);
  });

  it('is no bar to who may list the kind in all namespaces', async () => {
    for (const words of [exactly(), page(), query({ continue: forged() })]) {
      const { items } = (await as('auditor', secrets + words)).json;
      expect(items.map(({ data }: { data: object }) => data)).toEqual([{ key: base64('first tenant') }]);
    }
  });
});

const terms = (term: (at: number) => string): string => Array.from({ length: 1_001 }, (_, at) => term(at)).join(',');

describe.each([
  ['labelSelector', terms((at) => `k${at}`), 'must have at most 1000 terms'],
  ['labelSelector', 'a,'.repeat(15_000), 'must have at most 1000 terms'],
  ['fieldSelector', terms((at) => `metadata.name=${at}`), 'must have at most 1000 terms'],
  ['fieldSelector', '=', 'cannot read field selector'],
])('a %s of too much', (name, selector, why) => {
  it.each([
    ['list', 'GET', {}],
    ['watch', 'GET', { watch: 1 }],
    ['deletecollection', 'DELETE', {}],
  ])('in a %s is refused as such, and to a caller without rights as not permitted', async (verb, method, more) => {
    const path = maps + query({ [name]: selector, ...more });
    const refused = await as('tenant', path, { method });
    expect(refused).toMatchObject({ code: 400, json: { reason: 'BadRequest', message: expect.stringContaining(why) } });
    const denied = await as('guest', path, { method });
    const message = `configmaps is forbidden: User "guest" cannot ${verb} resource "configmaps" in API group "" in the namespace "default"`;
    expect(denied).toMatchObject({ code: 403, json: { reason: 'Forbidden', message, details: { kind: 'configmaps' } } });
  });
});

it.each(['labelSelector', 'fieldSelector'])('the raw %s of a review is bounded', async (name) => {
  const review = (selector: object) => {
    const resourceAttributes = { verb: 'list', resource: 'pods', [name]: selector };
    const body = { spec: { resourceAttributes } };
    return as('guest', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { method: 'POST', body });
  };
  const requirements = Array.from({ length: 1_001 }, (_, at) => ({ key: `k${at}`, operator: 'Exists' }));
  const answers = [
    await review({ rawSelector: 'a=b,'.repeat(100_000) }),
    await review({ rawSelector: terms((at) => `k${at}=v`) }),
    await review({ requirements }),
  ];
  expect(answers[0]!.json.message).toContain('must have at most 65536 characters');
  expect(answers[1]!.json.message).toContain('must have at most 1000 terms');
  for (const { code, json } of answers) expect([400, 422], json.message).toContain(code);
});

it('watches with long selectors are refused to a user who has many, until one ends; others may watch', async () => {
  const labelSelector = `a in (${Array.from({ length: 900 }, (_, at) => `${'b'.repeat(52)}${at}`).join(',')})`;
  const session = connectHttp2(`https://${server.info.kubernetes}`, { ca: server.info.ca });
  session.on('error', () => {});
  const watch = async () => {
    const path = maps + query({ watch: 1, labelSelector });
    const stream = session.request({ ':path': path, authorization: 'Bearer tenant' });
    const [headers] = await once(
      stream.on('error', () => {}),
      'response',
    );
    return { stream, code: headers[':status'] as number, wait: Number(headers['retry-after']) };
  };
  try {
    const open: ClientHttp2Stream[] = [];
    let last = await watch();
    for (; last.code === 200 && open.length < 100; last = await watch()) open.push(last.stream);
    expect([last.code, last.wait]).toEqual([429, expect.any(Number)]);
    let text = '';
    for await (const piece of last.stream) text += piece;
    expect(JSON.parse(text)).toMatchObject({ reason: 'TooManyRequests', message: expect.stringContaining('close some') });
    expect(open.length).toBeGreaterThan(50);
    expect((await as('guest', '/version')).code).toBe(200);
    expect((await ask(maps + query({ watch: 1, timeoutSeconds: 1, labelSelector }))).code).toBe(200);
    open[0]!.close(8);
    await expect.poll(async () => (await watch()).code).toBe(200);
  } finally {
    session.destroy();
  }
}, 60_000);

describe('what a tenant sends', () => {
  const nested = (levels: number) => `{"data":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;
  const operations = (text: string, times: number) => `[${Array(times).fill(text).join(',')}]`;
  const deep = nested(200_000);
  const isDeep = 'it is nested more than 128 levels deep';

  it.each<[string, string, string, number, string, string]>([
    ['of 200,000 levels', 'merge-patch+json', deep, 400, 'BadRequest', isDeep],
    ['of 200,000 levels', 'strategic-merge-patch+json', deep, 400, 'BadRequest', isDeep],
    ['of 200,000 levels', 'apply-patch+yaml', deep, 400, 'BadRequest', isDeep],
    [
      'of 200,000 levels',
      'json-patch+json',
      operations(`{"op":"add","path":"/data","value":${deep}}`, 1),
      400,
      'BadRequest',
      isDeep,
    ],
    [
      'of 10,001 operations',
      'json-patch+json',
      operations('{"op":"test","path":"/data/a","value":"1"}', 10_001),
      413,
      'RequestEntityTooLarge',
      'The allowed maximum operations in a JSON patch is 10000, got 10001',
    ],
    [
      'that nests by copying',
      'json-patch+json',
      operations('{"op":"copy","from":"/data","path":"/data/a"}', 9_000),
      422,
      'Invalid',
      'the value is nested more than 128 levels deep',
    ],
  ])('as a patch %s (%s) is its own fault', async (_, type, body, code, reason, why) => {
    const headers = { 'content-type': `application/${type}` };
    const answer = await as('tenant', `${maps}/target?fieldManager=x`, { method: 'PATCH', body, headers });
    expect(answer).toMatchObject({ code, json: { kind: 'Status', reason, message: expect.stringContaining(why) } });
    expect((await ask(`${maps}/target`)).json.data).toEqual({ a: '1' });
  });

  it.each([
    ['POST', ''],
    ['PUT', '/target'],
  ])('as an object of 200,000 levels by %s is its own fault', async (method, name) => {
    const answer = await as('tenant', maps + name, { method, body: deep });
    expect(answer).toMatchObject({ code: 400, json: { reason: 'BadRequest', message: expect.stringContaining(isDeep) } });
  });
});

describe('a namespace that is full', () => {
  const at = `${api}/full/configmaps`;
  const map = (name: string, size: number) => ({ metadata: { name }, data: { fill: 'x'.repeat(size) } });
  const write = (path: string, method: string, body: object, type = 'application/json') =>
    as('tenant', path, { method, body, headers: { 'content-type': type } });
  const full = (name: string, what = 'bytes') => ({
    code: 403,
    json: {
      ...{ kind: 'Status', reason: 'Forbidden', details: { name, kind: 'configmaps' } },
      message: expect.stringMatching(
        new RegExp(`^configmaps "${name}" is forbidden: namespace "full" holds \\d+ ${what} and may hold`),
      ),
    },
  });

  it('takes no more than its bytes from creations at once, nor by changes, nor in a trial', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `fill-${i}`);
    const answers = await Promise.all(names.map((name) => write(at, 'POST', map(name, 10_000))));
    const refused = answers.flatMap((each, i) => (each.code === 201 ? [] : [[names[i]!, each] as const]));
    expect(answers.length - refused.length).toBe(19);
    for (const [name, answer] of refused) expect(answer).toMatchObject(full(name));
    const kept = names.find((_, i) => answers[i]!.code === 201)!;
    expect(await write(`${at}/${kept}`, 'PUT', map(kept, 30_000))).toMatchObject(full(kept));
    const patch = { data: { more: 'x'.repeat(20_000) } };
    expect(await write(`${at}/${kept}`, 'PATCH', patch, 'application/merge-patch+json')).toMatchObject(full(kept));
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', ...map('new', 20_000) };
    const apply = `${at}/new?fieldManager=x`;
    expect(await write(apply, 'PATCH', applied, 'application/apply-patch+yaml')).toMatchObject(full('new'));
    expect(await write(`${at}?dryRun=All`, 'POST', map('trial', 20_000))).toMatchObject(full('trial'));
    expect((await ask(maps, { method: 'POST', body: map('free', 20_000) })).code).toBe(201);
  });

  it('has room again for what is deleted, and bounds small objects by their number', async () => {
    expect((await as('tenant', at, { method: 'DELETE' })).code).toBe(200);
    const names = Array.from({ length: 60 }, (_, i) => `small-${i}`);
    const answers = await Promise.all(names.map((name) => write(at, 'POST', map(name, 1))));
    const refused = answers.flatMap((each, i) => (each.code === 201 ? [] : [[names[i]!, each] as const]));
    expect(refused.length).toBeGreaterThanOrEqual(20);
    expect(refused.length).toBeLessThan(30);
    for (const [name, answer] of refused) expect(answer).toMatchObject(full(name, 'objects'));
  });
});

describe('priorities', () => {
  const pods = `${api}/default/pods`;
  const spec = { containers: [{ name: 'main', image: 'x' }] };
  const refusedPod = (name: string, why: string) => ({
    code: 403,
    json: { reason: 'Forbidden', message: `pods "${name}" is forbidden: ${why}`, details: { name, kind: 'pods' } },
  });

  it('of the system are for no pod of a tenant, when it is made or later', async () => {
    const create = (name: string, more: object) =>
      as('tenant', pods, { method: 'POST', body: { metadata: { name }, spec: { ...spec, ...more } } });
    for (const priorityClassName of ['system-node-critical', 'system-cluster-critical'])
      expect(await create('vip', { priorityClassName })).toMatchObject(
        refusedPod(
          'vip',
          `pods with the priority class ${priorityClassName} are only permitted in namespace kube-system ` +
            '(berth server --system-priority-namespaces)',
        ),
      );
    const computed = 'priority admission controller computed 0 from the given PriorityClass name';
    expect(await create('vip', { priority: 2_000_001_000 })).toMatchObject(
      refusedPod('vip', `the integer value of priority (2000001000) must not be provided in pod spec; ${computed}`),
    );
    expect((await create('plain', {})).code).toBe(201);
    const body = { spec: { priorityClassName: 'system-node-critical', priority: 2_000_001_000 } };
    const headers = { 'content-type': 'application/merge-patch+json' };
    const raised = await as('tenant', `${pods}/plain`, { method: 'PATCH', body, headers });
    expect(raised).toMatchObject({ code: 422, json: { reason: 'Invalid', details: { name: 'plain', kind: 'Pod' } } });
  });

  it('have one default: a second is refused by its name', async () => {
    const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
    const create = (name: string) =>
      ask(classes, { method: 'POST', body: { metadata: { name }, value: 1, globalDefault: true } });
    expect((await create('usual')).code).toBe(201);
    const details = { name: 'second', group: 'scheduling.k8s.io', kind: 'priorityclasses' };
    const why = 'PriorityClass usual is already marked as default. Only one default can exist';
    const message = `priorityclasses.scheduling.k8s.io "second" is forbidden: ${why}`;
    expect(await create('second')).toMatchObject({ code: 403, json: { reason: 'Forbidden', message, details } });
    await made(ask(`${classes}/usual`, { method: 'DELETE' }));
  });
});

it('lines of before are still in the audit log after creations that are invalid, of which few are written', async () => {
  await post(api, { metadata: { name: 'before-the-flood' } });
  const body = { metadata: { name: 'X'.repeat(2_000) } };
  let left = 600;
  const one = async (): Promise<void> => {
    while (left-- > 0) {
      const { code, json } = await as('flooder', maps, { method: 'POST', body });
      expect([code, json.reason]).toEqual([422, 'Invalid']);
    }
  };
  await Promise.all(Array.from({ length: 16 }, one));
  await post(api, { metadata: { name: 'after-the-flood' } });
  await closeAudit();
  const lines = (await readFile(auditPath(server.dataDir), 'utf8')).split('\n').filter(Boolean);
  const flood = lines.filter((line) => line.includes('"flooder"') && line.includes('INVALID_ARGUMENT'));
  // The last of them says that more are left out.
  expect(flood).toHaveLength(500);
  expect(JSON.parse(flood.at(-1)!)).toMatchObject({ moreRefused: true });
  for (const line of flood) expect(line.length).toBeLessThan(4_000);
  for (const name of ['before-the-flood', 'after-the-flood'])
    expect(lines.filter((line) => line.includes(`"${name}"`))).not.toEqual([]);
}, 60_000);
