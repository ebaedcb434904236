import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// What of Kubernetes' HTTP API is an action or a computed answer: reviews, evictions, tokens, deletions.
let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

interface Answer {
  readonly code: number;
  readonly bytes: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of any answer
  readonly json: any;
  readonly headers: IncomingMessage['headers'];
}

async function ask(
  method: string,
  path: string,
  body?: object | string | Buffer,
  headers: Readonly<Record<string, string | string[]>> = {},
): Promise<Answer> {
  const [host, port] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  const sent = typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body;
  const type = sent === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) };
  const call = request({ host, port, path, method, ca, cert, key, agent: false, headers: { ...type, ...headers } });
  call.end(sent);
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  const bytes = Buffer.concat(pieces);
  const isJson = /^application\/(?:.+\+)?json/.test(response.headers['content-type'] ?? '');
  return {
    code: response.statusCode!,
    bytes,
    headers: response.headers,
    json: isJson ? JSON.parse(bytes.toString()) : undefined,
  };
}

const post = (path: string, body: object, headers = {}) => ask('POST', path, body, headers);
const inDefault = '/api/v1/namespaces/default';
const AUTHORIZATION = '/apis/authorization.k8s.io/v1';
const AUTHENTICATION = '/apis/authentication.k8s.io/v1';

const podOf = (name: string, more: object = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name }, ...more } },
  spec: { containers: [{ name: 'main', image: 'busybox' }] },
});
const nodeOf = (name: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { zone: 'a' } } });
const ready = { conditions: [{ type: 'Ready', status: 'True' }], phase: 'Running' };
const patchType = { 'content-type': 'application/merge-patch+json' };

describe('a review', () => {
  const may = (verb: string) => ({
    ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview' },
    spec: { resourceAttributes: { verb, resource: 'pods', namespace: 'default' } },
  });

  it('of the own access is answered with 201', async () => {
    const own = await post(`${AUTHORIZATION}/selfsubjectaccessreviews`, may('get'));
    expect(own).toMatchObject({ code: 201, json: { kind: 'SelfSubjectAccessReview', status: { allowed: true } } });
    const bob = await post(`${AUTHORIZATION}/selfsubjectaccessreviews`, may('get'), { 'impersonate-user': 'bob' });
    expect(bob).toMatchObject({ code: 201, json: { status: { allowed: false } } });
  });

  it('may be sent and read as YAML and as protobuf', async () => {
    const yaml = { 'content-type': 'application/yaml', accept: 'application/yaml' };
    const answer = await ask('POST', `${AUTHORIZATION}/selfsubjectaccessreviews`, JSON.stringify(may('get')), yaml);
    expect(answer.bytes.toString()).toContain('allowed: true');
    const PROTOBUF = 'application/vnd.kubernetes.protobuf';
    const first = await post(`${AUTHENTICATION}/selfsubjectreviews`, {}, { accept: PROTOBUF });
    expect(first.bytes.subarray(0, 4).toString('latin1')).toBe('k8s\0');
    const back = await ask('POST', `${AUTHENTICATION}/selfsubjectreviews`, first.bytes, { 'content-type': PROTOBUF });
    expect(back).toMatchObject({ code: 201, json: { status: { userInfo: { username: 'admin' } } } });
  });

  it('of others says what they may do', async () => {
    const spec = { user: 'bob', resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } };
    const all = await post(`${AUTHORIZATION}/subjectaccessreviews`, { spec });
    expect(all).toMatchObject({ code: 201, json: { kind: 'SubjectAccessReview', status: { allowed: false } } });
    const local = await post(`${AUTHORIZATION}/namespaces/default/localsubjectaccessreviews`, { spec });
    expect(local).toMatchObject({ code: 201, json: { metadata: { namespace: 'default' }, status: { allowed: false } } });
  });

  it('of rules lists them', async () => {
    const { json } = await post(`${AUTHORIZATION}/selfsubjectrulesreviews`, { spec: { namespace: 'default' } });
    expect(json.status.resourceRules).toContainEqual({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] });
  });

  it('of the caller says who it is, in the version of kubectl 1.27 as well', async () => {
    for (const version of ['v1', 'v1beta1']) {
      const { json } = await post(`/apis/authentication.k8s.io/${version}/selfsubjectreviews`, {});
      expect(json).toMatchObject({ apiVersion: `authentication.k8s.io/${version}`, status: { userInfo: { username: 'admin' } } });
    }
  });

  it('of a token says whose it is', async () => {
    await post(`${inDefault}/serviceaccounts`, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'bot' } });
    const made = await post(`${inDefault}/serviceaccounts/bot/token`, {});
    expect(made).toMatchObject({ code: 201, json: { kind: 'TokenRequest', metadata: { name: 'bot' } } });
    // What the request did not say.
    const audiences = ['https://kubernetes.default.svc.cluster.local'];
    expect(made.json.spec).toEqual({ audiences, expirationSeconds: 3600 });
    const { token } = made.json.status;
    const { json } = await post(`${AUTHENTICATION}/tokenreviews`, { spec: { token } });
    expect(json.status).toMatchObject({ authenticated: true, user: { username: 'system:serviceaccount:default:bot' } });
  });

  it('of a token from a dry run says whose it is, too: as in Kubernetes nothing is stored of any token', async () => {
    await post(`${inDefault}/serviceaccounts`, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'dry' } });
    const made = await post(`${inDefault}/serviceaccounts/dry/token?dryRun=All`, {});
    const { json } = await post(`${AUTHENTICATION}/tokenreviews`, { spec: { token: made.json.status.token } });
    expect(json.status).toMatchObject({ authenticated: true, user: { username: 'system:serviceaccount:default:dry' } });
  });

  it('makes a token for a pod, and none for another of its name', async () => {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'binder' } };
    await post(`${inDefault}/serviceaccounts`, account);
    const spec = { serviceAccountName: 'binder', containers: [{ name: 'a', image: 'x' }] };
    const pod = { metadata: { name: 'bound' }, spec };
    const { uid } = (await post(`${inDefault}/pods`, { apiVersion: 'v1', kind: 'Pod', ...pod })).json.metadata;
    const bind = (uid: string) => {
      const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'bound', uid };
      return post(`${inDefault}/serviceaccounts/binder/token`, { spec: { boundObjectRef } });
    };
    expect(await bind(uid)).toMatchObject({ code: 201, json: { spec: { boundObjectRef: { name: 'bound', uid } } } });
    expect(await bind('another')).toMatchObject({ code: 409, json: { reason: 'Conflict' } });
  });

  it.each([
    ['of another method', 'GET', `${AUTHORIZATION}/subjectaccessreviews`, 405],
    ['that names no user', 'POST', `${AUTHORIZATION}/subjectaccessreviews`, 422],
    ['in no namespace', 'POST', `${AUTHORIZATION}/localsubjectaccessreviews`, 405],
  ])('%s is refused', async (_, method, path, code) => {
    const spec = { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } };
    expect((await ask(method, path, method === 'POST' ? { spec } : undefined)).code).toBe(code);
  });

  it('stands in discovery', async () => {
    const { json } = await ask('GET', AUTHORIZATION);
    expect(json.resources).toContainEqual({
      ...{ name: 'localsubjectaccessreviews', singularName: 'localsubjectaccessreview', namespaced: true },
      ...{ kind: 'LocalSubjectAccessReview', verbs: ['create'] },
    });
  });
});

describe('a caller that impersonates another', () => {
  const as = { 'impersonate-user': 'bob', 'impersonate-group': ['dev', 'ops, too'], 'impersonate-uid': '7' };
  const extra = { 'impersonate-extra-example.com%2fteam': ['a', 'b%'], 'impersonate-extra-scopes': 'view' };

  it('is that user with its groups, uid and extra texts', async () => {
    const { json } = await post(`${AUTHENTICATION}/selfsubjectreviews`, {}, { ...as, ...extra });
    expect(json.status.userInfo).toEqual({
      ...{ username: 'bob', uid: '7', groups: ['dev', 'ops, too', 'system:authenticated'] },
      extra: { 'example.com/team': ['a', 'b%'], scopes: ['view'] },
    });
  });

  it('needs a right to each of them', async () => {
    await post('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'impersonator' } },
      rules: [
        { verbs: ['impersonate'], apiGroups: [''], resources: ['users'] },
        {
          verbs: ['impersonate'],
          apiGroups: ['authentication.k8s.io'],
          resources: ['userextras/scopes'],
          resourceNames: ['view'],
        },
      ],
    });
    await post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'impersonator' } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'impersonator' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'mask' }],
    });
    await post(`${inDefault}/serviceaccounts`, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'mask' } });
    const { json } = await post(`${inDefault}/serviceaccounts/mask/token`, {});
    const authorization = { authorization: `Bearer ${json.status.token}`, 'impersonate-user': 'bob' };
    const who = async (more: object) => {
      const answer = await post(`${AUTHENTICATION}/selfsubjectreviews`, {}, { ...authorization, ...more });
      return answer.code === 201 ? 'allowed' : answer.json.message;
    };
    expect(await who({ 'impersonate-extra-scopes': 'view' })).toBe('allowed');
    expect(await who({ 'impersonate-extra-scopes': 'edit' })).toContain('cannot impersonate resource "userextras/scopes"');
    expect(await who({ 'impersonate-uid': '7' })).toContain('cannot impersonate resource "uids"');
    expect(await who({ 'impersonate-group': 'dev' })).toContain('cannot impersonate resource "groups"');
  });

  it('has to name one', async () => {
    const answer = await post(`${AUTHENTICATION}/selfsubjectreviews`, {}, { 'impersonate-uid': '7' });
    expect(answer).toMatchObject({ code: 400, json: { message: expect.stringContaining('needs a user as well') } });
  });
});

describe('the issuer of tokens', () => {
  it('is told of as tokens name it, with its keys', async () => {
    const { json } = await ask('GET', '/.well-known/openid-configuration');
    const issuer = 'https://kubernetes.default.svc.cluster.local';
    expect(json).toMatchObject({
      issuer,
      jwks_uri: `${issuer}/openid/v1/jwks`,
      id_token_signing_alg_values_supported: ['ES256'],
    });
    const keys = await ask('GET', '/openid/v1/jwks');
    expect(keys.headers['content-type']).toBe('application/jwk-set+json');
    expect(keys.json).toMatchObject({ keys: [{ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: expect.any(String) }] });
  });

  it('is known to service accounts, and to users who may see it', async () => {
    const path = '/.well-known/openid-configuration';
    const account = await ask('GET', path, undefined, { 'impersonate-user': 'system:serviceaccount:default:bot' });
    expect(account.code).toBe(200);
    expect((await ask('GET', path, undefined, { 'impersonate-user': 'bob' })).code).toBe(403);
  });
});

describe('a pod', () => {
  it('is bound by its subresource, and by a Binding in its namespace', async () => {
    await post('/api/v1/nodes', nodeOf('bound'));
    for (const [name, path] of [
      ['one', `${inDefault}/pods/one/binding`],
      ['two', `${inDefault}/bindings`],
    ] as const) {
      await post(`${inDefault}/pods`, podOf(name));
      const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: 'bound' } };
      expect(await post(path, body)).toMatchObject({ code: 201, json: { kind: 'Status', status: 'Success', code: 201 } });
      expect((await ask('GET', `${inDefault}/pods/${name}`)).json.spec.nodeName).toBe('bound');
    }
  });

  it.each(['policy/v1', 'policy/v1beta1'])('is evicted by an Eviction of %s', async (apiVersion) => {
    const name = `evicted-${apiVersion.slice(7)}`;
    await post(`${inDefault}/pods`, podOf(name));
    const answer = await post(`${inDefault}/pods/${name}/eviction`, { apiVersion, kind: 'Eviction', metadata: { name } });
    expect(answer).toMatchObject({ code: 201, json: { kind: 'Status', status: 'Success', code: 201 } });
    expect((await ask('GET', `${inDefault}/pods/${name}`)).code).toBe(404);
  });

  it('that its budget protects is not evicted, which is said as Kubernetes says it', async () => {
    const selector = { matchLabels: { app: 'kept' } };
    const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'all' } };
    await post('/apis/policy/v1/namespaces/default/poddisruptionbudgets', { ...budget, spec: { minAvailable: 1, selector } });
    await post(`${inDefault}/pods`, podOf('kept'));
    const target = { kind: 'Node', name: 'bound' };
    await post(`${inDefault}/pods/kept/binding`, { metadata: { name: 'kept' }, target });
    await ask('PATCH', `${inDefault}/pods/kept/status`, { status: ready }, patchType);
    const answer = await post(`${inDefault}/pods/kept/eviction`, { metadata: { name: 'kept' } });
    expect(answer).toMatchObject({
      code: 429,
      json: {
        ...{ reason: 'TooManyRequests', message: "Cannot evict pod as it would violate the pod's disruption budget." },
        details: { causes: [{ reason: 'DisruptionBudget' }] },
      },
    });
    expect(answer.headers['retry-after']).toBeUndefined();
  });

  it('is not what an Eviction of another name is for', async () => {
    const answer = await post(`${inDefault}/pods/kept/eviction`, { metadata: { name: 'other' } });
    expect(answer).toMatchObject({ code: 400, json: { message: expect.stringContaining('does not match') } });
  });
});

describe('a deletion', () => {
  const map = (name: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...more } });
  const maps = `${inDefault}/configmaps`;

  it('of an object that is gone at once is answered with a Status', async () => {
    const { uid } = (await post(maps, map('gone'))).json.metadata;
    const { code, json } = await ask('DELETE', `${maps}/gone`);
    const details = { name: 'gone', kind: 'configmaps', uid };
    expect([code, json]).toEqual([200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }]);
  });

  it('of an object that waits for its finalizers is answered with it', async () => {
    await post(maps, map('waits', { finalizers: ['example.com/wait'] }));
    const { json } = await ask('DELETE', `${maps}/waits`);
    expect(json).toMatchObject({ kind: 'ConfigMap', metadata: { deletionTimestamp: expect.any(String) } });
  });

  it('of a pod is answered with the pod, gone or not', async () => {
    await post(`${inDefault}/pods`, podOf('brief'));
    const { json } = await ask('DELETE', `${inDefault}/pods/brief`, { gracePeriodSeconds: 0 });
    expect(json).toMatchObject({ kind: 'Pod', metadata: { name: 'brief' } });
  });

  it('takes its policy from the query and its preconditions from the body', async () => {
    await post(maps, map('policy'));
    const wrong = await ask('DELETE', `${maps}/policy`, { preconditions: { uid: 'other' } });
    expect(wrong).toMatchObject({ code: 409, json: { reason: 'Conflict' } });
    const { json } = await ask('DELETE', `${maps}/policy?propagationPolicy=Orphan`);
    expect(json.metadata.finalizers).toEqual(['orphan']);
  });

  it('of a collection in no namespace is refused', async () => {
    expect((await ask('DELETE', '/api/v1/configmaps')).code).toBe(405);
  });

  it('is answered in protobuf to clients of that', async () => {
    await post(maps, map('binary'));
    const { bytes } = await ask('DELETE', `${maps}/binary`, undefined, { accept: 'application/vnd.kubernetes.protobuf' });
    expect(bytes.toString('latin1')).toMatch(/^k8s\0.*Status.*Success.*binary.*configmaps/s);
  });

  it('of a namespace ends when its finalizers are replaced by none', async () => {
    const at = '/api/v1/namespaces/ending';
    await post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ending' } });
    const { json } = await ask('DELETE', at);
    expect(json).toMatchObject({ kind: 'Namespace', status: { phase: 'Terminating' } });
    const finalized = await ask('PUT', `${at}/finalize`, { ...json, spec: { finalizers: [] } });
    expect(finalized).toMatchObject({ code: 200, json: { kind: 'Namespace', metadata: { name: 'ending' } } });
    expect((await ask('GET', at)).code).toBe(404);
  });
});
