import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { cronTabs } from './custom-kinds-harness.ts';
import { type Asked, asks } from './kubernetes-asks.ts';

// The APIServices of what the server serves itself, over Kubernetes' HTTP API.
let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0', backend: 'lmdb' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const ask = asks(() => server);
const all = '/apis/apiregistration.k8s.io/v1/apiservices';
const one = (name: string): string => `${all}/${name}`;
const send = (method: string, path: string, body?: Asked['body'], headers: Asked['headers'] = {}) =>
  ask(path, { method, ...(body !== undefined && { body }), headers });
const patch = (name: string, body: object) => send('PATCH', one(name), body, { 'content-type': 'application/merge-patch+json' });
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const remote = { service: { namespace: 'default', name: 'x', port: 443 } };
const specOf = async (name: string) => (await ask(one(name))).json.spec;

describe('the groups of the program', () => {
  it('have an object each, which is available', async () => {
    const { json } = await ask(all);
    const named = new Map(json.items.map((item: { metadata: { name: string } }) => [item.metadata.name, item]));
    const { json: groups } = await ask('/apis');
    const served: string[] = groups.groups.flatMap(({ name, versions }: { name: string; versions: { version: string }[] }) =>
      name === 'apiregistration.k8s.io' ? [] : versions.map(({ version }) => `${version}.${name}`),
    );
    expect([...named.keys()].sort()).toEqual([...served, 'v1.'].sort());
    expect(named.get('v1.apps')).toMatchObject({
      metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' } },
      spec: { group: 'apps', version: 'v1', groupPriorityMinimum: 17_800, versionPriority: 15 },
      status: { conditions: [{ type: 'Available', status: 'True', reason: 'Local' }] },
    });
  });

  it('go on being served when their objects change or go, and the objects come back', async () => {
    const before = (await ask(one('v1.apps'))).json;
    expect((await send('DELETE', one('v1.apps'))).code).toBe(200);
    expect((await ask('/apis/apps/v1/deployments')).code).toBe(200);
    await until('the object is as it should be', async () => (await ask(one('v1.apps'))).code === 200);
    const again = (await ask(one('v1.apps'))).json;
    expect(again.metadata.uid).not.toBe(before.metadata.uid);
    expect(again.spec).toEqual(before.spec);
    const label = { metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': null } } };
    // The second time it stays so for a moment: the server has just written it.
    for (const _ of ['at once', 'after a moment']) {
      expect((await patch('v1.batch', { ...label, spec: remote })).code).toBe(200);
      expect((await ask('/apis/batch/v1/jobs')).code).toBe(200);
      await until('the object is as it should be', async () => (await specOf('v1.batch')).service === undefined);
    }
    expect((await ask(one('v1.batch'))).json.metadata.labels).toEqual({
      'kube-aggregator.kubernetes.io/automanaged': 'onstart',
    });
  });

  it('are shown to a watch as they come back', async () => {
    const { json } = await ask(all);
    const { resourceVersion } = json.metadata;
    const field = 'fieldSelector=metadata.name%3Dv1.policy';
    const watch = ask(`${all}?watch=true&timeoutSeconds=3&resourceVersion=${resourceVersion}&${field}`);
    expect((await send('DELETE', one('v1.policy'))).code).toBe(200);
    const types = (await watch).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).type);
    expect(types).toEqual(['DELETED', 'ADDED']);
  });

  it('are available whatever a writer of their status says', async () => {
    const status = { conditions: [{ type: 'Available', status: 'False', reason: 'Gone' }] };
    const path = `${one('v1.apps')}/status`;
    expect((await send('PATCH', path, { status }, { 'content-type': 'application/merge-patch+json' })).code).toBe(200);
    await until(
      'the object is as it should be',
      async () => (await ask(one('v1.apps'))).json.status.conditions[0].reason === 'Local',
    );
  });

  it('are shown with the columns of kubectl', async () => {
    const { json } = await ask(one('v1.'), { headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' } });
    expect(json.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual(['Name', 'Service', 'Available', 'Age']);
    expect(json.rows[0].cells.slice(0, 3)).toEqual(['v1.', 'Local', 'True']);
  });
});

describe('the groups of custom kinds', () => {
  it('have an object for each version as long as a definition serves it', async () => {
    expect((await send('POST', definitions, cronTabs())).code).toBe(201);
    await until('the object is as it should be', async () => (await ask(one('v1.stable.example.com'))).code === 200);
    expect((await ask(one('v1.stable.example.com'))).json).toMatchObject({
      metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': 'true' } },
      spec: { group: 'stable.example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 },
      status: { conditions: [{ type: 'Available', status: 'True', reason: 'Local' }] },
    });
    expect((await patch('v1.stable.example.com', { spec: remote })).code).toBe(200);
    await until('the object is as it should be', async () => (await specOf('v1.stable.example.com')).service === undefined);
    expect((await send('DELETE', `${definitions}/crontabs.stable.example.com`)).code).toBe(200);
    await until('the object is as it should be', async () => (await ask(one('v1.stable.example.com'))).code === 404);
  });
});

describe('objects of users', () => {
  const object = (group: string, more: object = {}, labels = {}) => ({
    ...{ apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata: { name: `v1.${group}`, labels } },
    spec: { group, version: 'v1', groupPriorityMinimum: 1000, versionPriority: 15, ...more },
  });

  it('are validated as Kubernetes does', async () => {
    const { code, json } = await send('POST', all, { ...object('wild.example.com'), metadata: { name: 'other' } });
    expect([code, json.reason, json.details.causes[0].field]).toEqual([422, 'Invalid', 'metadata.name']);
  });

  it('stay, unless they claim to be kept by the server', async () => {
    const automanaged = { 'kube-aggregator.kubernetes.io/automanaged': 'true' };
    expect((await send('POST', all, object('mine.example.com', remote))).code).toBe(201);
    expect((await send('POST', all, object('claimed.example.com', {}, automanaged))).code).toBe(201);
    await until('the object is as it should be', async () => (await ask(one('v1.claimed.example.com'))).code === 404);
    expect((await ask(one('v1.mine.example.com'))).json.spec.service).toEqual(remote.service);
  });

  it('are not to be made, changed or deleted by the admins of a namespace', async () => {
    const metadata = { namespace: 'default', name: 'tenant' };
    const subjects = [{ kind: 'User', name: 'tenant' }];
    await server.client.roleBindings.create({ metadata, roleRef: { kind: 'ClusterRole', name: 'admin' }, subjects });
    const as = { 'impersonate-user': 'tenant' };
    const refused = [
      await send('POST', all, object('theirs.example.com', remote), as),
      await send('PATCH', one('v1.mine.example.com'), {}, { ...as, 'content-type': 'application/merge-patch+json' }),
      await send('DELETE', one('v1.mine.example.com'), undefined, as),
    ];
    expect(refused.map(({ code }) => code)).toEqual([403, 403, 403]);
  });
});

it.each([
  ['system:kube-scheduler', 200],
  ['system:kube-controller-manager', 200],
  ['anna', 403],
])('the ConfigMap that extension servers read answers %s with %i', async (user, expected) => {
  const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
  expect((await ask(path, { headers: { 'impersonate-user': user } })).code).toBe(expected);
});
