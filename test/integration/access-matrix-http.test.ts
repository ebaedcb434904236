import { readFile } from 'node:fs/promises';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { groupOf } from '../../api/kinds/identity.ts';
import { kindId, kinds } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { placeOfAction } from '../../apiserver/verbs/actions/action.ts';
import { actionsOf } from '../../apiserver/verbs/actions/index.ts';
import { askers, startAskedServer } from './access-askers.ts';
import { everyMethod } from './access-requests.ts';
import type { RunningServer } from './apiserver-harness.ts';

// The requests of the HTTP door that mean what a method of gRPC means, as the same callers. Each row has to be that of
// access-matrix.txt, which the test of gRPC writes.

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly type?: string;
}

const name = 'none';
const dryRun = 'dryRun=All';

function rootOf({ apiVersion, plural, namespaced }: Kind): string {
  const group = groupOf(apiVersion) === '' ? `/api/${apiVersion}` : `/apis/${apiVersion}`;
  return `${group}/${namespaced ? 'namespaces/default/' : ''}${plural}`;
}

function standard(kind: Kind): Readonly<Record<string, Request>> {
  const all = rootOf(kind);
  const one = `${all}/${name}`;
  const metadata = kind.namespaced ? { namespace: 'default', name } : { name };
  // A role that every user that may bind at all holds.
  const more = kind.kind.endsWith('RoleBinding') ? { roleRef: { kind: 'ClusterRole', name: 'system:discovery' } } : {};
  const body = { metadata, ...more };
  const put = (subresource: string): Request => ({ method: 'PUT', path: `${one}${subresource}?${dryRun}`, body });
  const patch = (subresource: string): Request => ({
    ...{ method: 'PATCH', path: `${one}${subresource}?${dryRun}`, body: {}, type: 'application/merge-patch+json' },
  });
  const actions = actionsOf(kindId(kind)).map((action): [string, Request] => {
    const { verb, subresource } = placeOfAction(action);
    return [action.method, { ...put(`/${subresource}`), method: verb === 'create' ? 'POST' : 'PUT', body: { metadata } }];
  });
  return {
    ...Object.fromEntries(actions),
    Create: { method: 'POST', path: `${all}?${dryRun}`, body },
    Update: put(''),
    UpdateStatus: put('/status'),
    GetScale: { method: 'GET', path: `${one}/scale` },
    UpdateScale: put('/scale'),
    PatchScale: patch('/scale'),
    ...Object.fromEntries(Object.entries(kind.subresources ?? {}).map(([part, { method }]) => [method, put(`/${part}`)])),
    Get: { method: 'GET', path: one },
    List: { method: 'GET', path: all },
    Watch: { method: 'GET', path: `${all}?watch=1` },
    Patch: patch(''),
    Delete: { method: 'DELETE', path: `${one}?${dryRun}` },
    DeleteCollection: { method: 'DELETE', path: `${all}?${dryRun}&labelSelector=no%3Dsuch` },
  };
}

const pod = `/api/v1/namespaces/default/pods/${name}`;
const post = (path: string, body: object): Request => ({ method: 'POST', path, body });
const get = (path: string): Request => ({ method: 'GET', path });
const authorization = '/apis/authorization.k8s.io/v1';
const authentication = '/apis/authentication.k8s.io/v1';
const read = { nonResourceAttributes: { verb: 'get', path: '/' } };
const inDefault = { user: 'x', resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } };

const special: Readonly<Record<string, Request>> = {
  'berth.core.v1.Pods/Logs': get(`${pod}/log`),
  'berth.core.v1.Pods/Exec': get(`${pod}/exec?command=x&stdout=1`),
  'berth.core.v1.Pods/Attach': get(`${pod}/attach?stdout=1`),
  'berth.core.v1.Pods/PortForward': get(`${pod}/portforward?ports=80`),
  'berth.meta.v1.Objects/Kinds': get('/apis'),
  'berth.server.v1.Pages/Get': get('/metrics'),
  'berth.authentication.v1.SelfSubjectReviews/Create': post(`${authentication}/selfsubjectreviews`, {}),
  'berth.authentication.v1.TokenReviews/Create': post(`${authentication}/tokenreviews`, { spec: { token: 'x' } }),
  'berth.authorization.v1.LocalSubjectAccessReviews/Create': post(
    `${authorization}/namespaces/default/localsubjectaccessreviews`,
    { spec: inDefault },
  ),
  'berth.authorization.v1.SelfSubjectAccessReviews/Create': post(`${authorization}/selfsubjectaccessreviews`, { spec: read }),
  'berth.authorization.v1.SubjectAccessReviews/Create': post(`${authorization}/subjectaccessreviews`, {
    spec: { user: 'x', ...read },
  }),
  'berth.authorization.v1.SelfSubjectRulesReviews/Create': post(`${authorization}/selfsubjectrulesreviews`, {
    spec: { namespace: 'default' },
  }),
};

/** Methods that Kubernetes' API does not have. */
const onlyGrpc = [
  /^berth\.core\.v1\.Pods\/(BindStream|ReadFiles|WriteFiles)$/,
  /^berth\.meta\.v1\.Objects\/(?!Kinds)/,
  /^berth\.(metrics\.v1\.UsageHistories|node\.v1\.(NetChecks|Tunnel)|ops\.v1|scheduling\.v1\.Placements)/,
  /^berth\.server\.v1\.(Backups|Certificates|Extensions|SecretKeys)\/|^berth\.authentication\.v1\.TokenKeys\//,
];

/** What gRPC has no method for, and who may use it. */
const onlyHttp: readonly (readonly [Request, readonly string[]])[] = [
  [get(`${pod}/proxy/`), ['edit', 'admin', 'cluster-admin']],
  [get(`/api/v1/namespaces/default/services/${name}/proxy/`), ['edit', 'admin', 'cluster-admin']],
  [get(`/api/v1/nodes/${name}/proxy/`), ['cluster-admin']],
  [get('/apis/metrics.k8s.io/v1beta1/nodes'), ['cluster-admin']],
  [get('/apis/metrics.k8s.io/v1beta1/namespaces/default/pods'), ['view', 'edit', 'admin', 'cluster-admin']],
  [get('/api/v1/componentstatuses'), ['cluster-admin']],
  [get('/api/v1/componentstatuses/scheduler'), ['cluster-admin']],
  [get('/openapi/v2'), askers.map(({ who }) => who)],
];

let server: RunningServer;
const sessions = new Map<string, ClientHttp2Session>();

beforeAll(async () => {
  server = await startAskedServer({ kubernetesListen: '127.0.0.1:0' });
  for (const who of ['', ...askers.map((each) => each.who)])
    sessions.set(who, connectHttp2(`https://${server.info.kubernetes}`, { ca: server.info.ca }));
});
afterAll(async () => {
  for (const each of sessions.values()) each.destroy();
  await server.stop();
  await server.remove();
});

function codeOf({ method, path, body, type = 'application/json' }: Request, who: string): Promise<number> {
  const headers = { ':method': method, ':path': path, ...(body && { 'content-type': type }) };
  return new Promise((resolve, reject) => {
    const stream = sessions.get(who)!.request({ ...headers, ...(who !== '' && { authorization: `Bearer ${who}` }) });
    stream.on('error', reject);
    stream.on('response', (answer) => {
      resolve(answer[':status']!);
      stream.close(8);
    });
    stream.end(body && JSON.stringify(body));
  });
}

async function rowOf(request: Request): Promise<string[]> {
  const [anonymous, ...codes] = await Promise.all(['', ...askers.map(({ who }) => who)].map((who) => codeOf(request, who)));
  expect(anonymous, `${request.method} ${request.path} without credentials`).toBe(401);
  for (const code of codes) expect([401, 405, 500], `${request.method} ${request.path}`).not.toContain(code);
  return codes.map((code) => (code === 403 ? '.' : 'yes'));
}

test('every request is allowed to those that may call the same method of gRPC', async () => {
  const table = await readFile(new URL('./access-matrix.txt', import.meta.url), 'utf8');
  const wanted = new Map(
    table
      .split('\n')
      .map((line) => line.split(/ {2,}/))
      .map(([method, ...cells]) => [method, cells]),
  );
  const byService = new Map(kinds.map((kind) => [kind.service, kind]));
  let rows = 0;
  for (const { path } of everyMethod()) {
    const method = path.slice(1);
    const [service = '', verb = ''] = method.split('/');
    const kind = byService.get(service);
    const request = special[method] ?? (kind && standard(kind)[verb]);
    if (onlyGrpc.some((each) => each.test(method))) continue;
    if (!request) throw new Error(`say how ${method} is asked for over HTTP, or that it is not`);
    expect([method, ...(await rowOf(request))]).toEqual([method, ...wanted.get(method)!]);
    rows++;
  }
  expect(rows).toBeGreaterThan(400);
}, 180_000);

test.each(onlyHttp)('what gRPC has no method for is allowed to these: %j %j', async (request, allowed) => {
  const row = await rowOf(request);
  expect(askers.filter((_, index) => row[index] === 'yes').map(({ who }) => who)).toEqual(allowed);
});
