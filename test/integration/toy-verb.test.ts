import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConfigMap } from '../../api/generated/types.ts';
import type { AnyObject } from '../../apiserver/registry/any-object.ts';
import type { Action } from '../../apiserver/verbs/actions/action.ts';
import { actions } from '../../apiserver/verbs/actions/index.ts';
import { CallWrite } from '../../apiserver/verbs/call-write.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// A verb of one kind is one value: without another change the server serves it, says so in discovery, and asks roles
// for it.
const paint: Action<ConfigMap> = {
  of: 'ConfigMap',
  method: 'Paint',
  access: 'update-paint',
  body: { kind: 'ConfigMap', apiVersions: ['v1'], message: 'berth.core.v1.ConfigMap' },
  answer: 'object',
  prepare({ object, options }, { registry }, call) {
    const { namespace = '', name = '' } = object.metadata ?? {};
    const context = new CallWrite(options, call);
    const compute = (previous: AnyObject) => ({ ...previous, data: object.data });
    const run = () => registry.store('ConfigMap').change({ namespace, name }, { context, verb: 'update', compute });
    return { run: async () => ({ bytes: await run() }) };
  },
};

/** The list as this test has it: longer by one. */
const listed = actions as Action[];

let server: RunningServer;
let painter: string;
let bystander: string;

const at = (name: string) => ({ namespace: 'default', name });

async function tokenFor(name: string): Promise<string> {
  await server.client.serviceAccounts.create({ metadata: at(name) });
  return (await server.client.serviceAccounts.createToken(at(name), {})).token ?? '';
}

beforeAll(async () => {
  listed.push(paint as Action);
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  [painter, bystander] = await Promise.all([tokenFor('painter'), tokenFor('bystander')]);
  const { roles, roleBindings, configMaps } = server.client;
  await roles.create({ metadata: at('paint'), rules: [{ verbs: ['update'], apiGroups: [''], resources: ['configmaps/paint'] }] });
  await roleBindings.create({
    metadata: at('paint'),
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'paint' },
    subjects: [{ kind: 'ServiceAccount', ...at('painter') }],
  });
  await configMaps.create({ metadata: at('wall'), data: { color: 'white' } });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
  listed.splice(listed.indexOf(paint as Action), 1);
});

async function ask(method: string, path: string, token: string, body?: object): Promise<{ code: number; answer: unknown }> {
  const [host, port] = server.info.kubernetes!.split(':');
  const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
  const call = request({ host, port, path, method, ca: server.admin.ca, agent: false, headers });
  call.end(body && JSON.stringify(body));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return { code: response.statusCode ?? 0, answer: await json(response) };
}

const path = '/api/v1/namespaces/default/configmaps/wall/paint';
const red = { data: { color: 'red' } };

describe('a verb that is in the list of actions alone', () => {
  it('is refused to a caller without a role for its subresource', async () => {
    const { code, answer } = await ask('PUT', path, bystander, red);
    expect([code, answer]).toEqual([403, expect.objectContaining({ reason: 'Forbidden' })]);
    expect((answer as { message: string }).message).toContain('cannot update resource "configmaps/paint"');
  });

  it('is carried out for a caller with one, and answers the object', async () => {
    expect(await ask('PUT', path, painter, red)).toMatchObject({ code: 200, answer: { kind: 'ConfigMap', ...red } });
    expect((await server.client.configMaps.get(at('wall'))).data).toEqual(red.data);
  });

  it('is refused under another method of HTTP', async () => {
    expect(await ask('POST', path, painter, red)).toMatchObject({ code: 405, answer: { reason: 'MethodNotAllowed' } });
  });

  it('is told by discovery', async () => {
    const { answer } = await ask('GET', '/api/v1', painter);
    const part = { name: 'configmaps/paint', singularName: '', namespaced: true, kind: 'ConfigMap', verbs: ['update'] };
    expect((answer as { resources: object[] }).resources).toContainEqual(part);
  });
});
