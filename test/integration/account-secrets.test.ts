import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks } from './kubernetes-asks.ts';

// Secrets of type kubernetes.io/service-account-token, which the server fills.
let server: RunningServer;
const ask = asks(() => server);

const at = '/api/v1/namespaces/default';
const type = 'kubernetes.io/service-account-token';
const NAME = 'kubernetes.io/service-account.name';
const UID = 'kubernetes.io/service-account.uid';
const asText = (base64: string) => Buffer.from(base64, 'base64').toString();
const asBase64 = (text: string) => Buffer.from(text).toString('base64');
const post = (path: string, body: object) => ask(`${at}/${path}`, { method: 'POST', body });
const get = (name: string) => ask(`${at}/secrets/${name}`);
const remove = (path: string) => ask(`${at}/${path}`, { method: 'DELETE' });
const makeAccount = async (name: string): Promise<string> =>
  (await post('serviceaccounts', { metadata: { name } })).json.metadata.uid;
const makeSecret = (name: string, account: string, more: object = {}) =>
  post('secrets', { metadata: { name, annotations: { [NAME]: account } }, type, ...more });
const user = (token: string) => ask('/apis/authentication.k8s.io/v1/selfsubjectreviews', { method: 'POST', body: {}, token });

/** The Secret once the server has put a token into it. */
const filled = (name: string) =>
  until('the token', async () => {
    const { json } = await get(name);
    return json.data?.token ? json : undefined;
  });
const gone = (name: string) => until('the deletion', async () => (await get(name)).code === 404 || undefined);
const tokenOf = async (name: string) => asText((await filled(name)).data.token);

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0', backend: 'lmdb' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

it('a Secret of an account gets its token, the authorities and the namespace', async () => {
  const uid = await makeAccount('builder');
  const { headers } = await makeSecret('new', 'builder', { data: { own: asBase64('kept') } });
  expect(headers.warning).toBeUndefined();
  const { data, metadata } = await filled('new');
  const { token, ...others } = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, asText(value as string)]));
  expect(others).toEqual({ namespace: 'default', 'ca.crt': server.info.ca, own: 'kept' });
  expect(metadata.annotations).toEqual({ [NAME]: 'builder', [UID]: uid });
  expect((await user(token!)).json.status.userInfo).toEqual({
    username: 'system:serviceaccount:default:builder',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
    uid,
  });
  expect(JSON.parse(Buffer.from(token!.split('.')[1]!, 'base64url').toString())).not.toHaveProperty('exp');
});

it('its token has the rights of the account, and no others', async () => {
  await makeAccount('reader');
  await makeSecret('of-reader', 'reader');
  const token = await tokenOf('of-reader');
  expect((await ask(`${at}/configmaps`, { token })).code).toBe(403);
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings';
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
  const subjects = [{ kind: 'ServiceAccount', name: 'reader', namespace: 'default' }];
  await ask(rbac, { method: 'POST', body: { metadata: { name: 'reader' }, roleRef, subjects } });
  expect((await ask(`${at}/configmaps`, { token })).code).toBe(200);
});

it('its token ends with the Secret, and is good again in another that holds it', async () => {
  await makeAccount('brief');
  await makeSecret('brief', 'brief');
  const { data, metadata } = await filled('brief');
  const token = asText(data.token);
  expect((await user(token)).code).toBe(201);
  await remove('secrets/brief');
  const refused = await user(token);
  expect([refused.code, refused.json.reason]).toEqual([401, 'Unauthorized']);
  await makeSecret('brief', 'brief');
  await filled('brief');
  expect((await user(token)).code).toBe(401);
  await remove('secrets/brief');
  await post('secrets', { metadata: { name: 'brief', annotations: metadata.annotations }, type, data });
  expect((await user(token)).code).toBe(201);
});

it('its token ends as soon as the deletion of the Secret has begun', async () => {
  await makeAccount('waits');
  const metadata = { name: 'waits', annotations: { [NAME]: 'waits' }, finalizers: ['example.com/wait'] };
  await post('secrets', { metadata, type });
  const token = await tokenOf('waits');
  await remove('secrets/waits');
  expect([(await get('waits')).code, (await user(token)).code]).toEqual([200, 401]);
});

it('a Secret is deleted with its account, and its token ends with that', async () => {
  await makeAccount('leaving');
  await makeSecret('leaving', 'leaving');
  const token = await tokenOf('leaving');
  await remove('serviceaccounts/leaving');
  expect((await user(token)).code).toBe(401);
  await gone('leaving');
});

it('a Secret of an account that does not exist is deleted, also where another has its name', async () => {
  await makeSecret('lost', 'nobody');
  await gone('lost');
  await makeAccount('other');
  const annotations = { [NAME]: 'other', [UID]: 'of-an-earlier-one' };
  await post('secrets', { metadata: { name: 'earlier', annotations }, type });
  await gone('earlier');
});

it('what is taken out of the Secret is put into it again, and a token of its own stays', async () => {
  await makeAccount('mended');
  await makeSecret('mended', 'mended', { data: { token: asBase64('own') } });
  const ca = (json: { data?: Record<string, string> }) => json.data?.['ca.crt'];
  const whole = () =>
    until('the authorities', async () => (ca((await get('mended')).json) ? (await get('mended')).json : undefined));
  const first = await whole();
  expect(asText(first.data.token)).toBe('own');
  expect((await user('own')).code).toBe(401);
  const headers = { 'content-type': 'application/merge-patch+json' };
  await ask(`${at}/secrets/mended`, { method: 'PATCH', body: { data: { token: null, 'ca.crt': null } }, headers });
  expect((await user(await tokenOf('mended'))).code).toBe(201);
  expect(ca(await whole())).toBe(ca(first));
});

it('a token survives a restart of the server', async () => {
  await makeAccount('lasting');
  await makeSecret('lasting', 'lasting');
  const token = await tokenOf('lasting');
  const { dataDir } = server;
  await server.stop();
  server = await startServer({ kubernetesListen: '127.0.0.1:0', backend: 'lmdb', dataDir });
  expect((await user(token)).code).toBe(201);
  expect((await get('lasting')).json.data.token).toBe(asBase64(token));
});
