import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// What small groups and paths of Kubernetes' HTTP API answer: events in their own group, metrics as tables, the
// version.
let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  const { client } = server;
  await client.nodes.create({ metadata: { name: 'n1', labels: { zone: 'a' } } });
  const containers = ['app', 'side'].map((name) => ({ name, image: 'busybox' }));
  const made = await client.pods.create({
    metadata: { namespace: 'default', name: 'web' },
    spec: { nodeName: 'n1', containers },
  });
  const usage = (cpu: string, memory: string) => ({ cpu: { string: cpu }, memory: { string: memory } });
  await client.nodeMetrics.create({
    metadata: { name: 'n1' },
    timestamp: { seconds: 1_700_000_000 },
    window: { seconds: 15 },
    usage: usage('250m', '1Gi'),
    pods: [
      {
        ...{ namespace: 'default', name: 'web', uid: made.metadata?.uid ?? '' },
        containers: [
          { name: 'app', usage: usage('100m', '10Mi') },
          { name: 'side', usage: usage('50m', '2Mi') },
        ],
      },
    ],
  });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

async function ask(path: string, headers = {}, { method = 'GET', body }: { method?: string; body?: object } = {}) {
  const [host, port] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  const call = request({ host, port, path, method, ca, cert, key, agent: false, headers: { ...headers } });
  call.end(body && JSON.stringify(body));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  let text = '';
  for await (const piece of response) text += piece;
  return { code: response.statusCode, text, json: () => JSON.parse(text) };
}

describe('events', () => {
  const inNewGroup = '/apis/events.k8s.io/v1/namespaces/default/events';
  const inCore = '/api/v1/namespaces/default/events';

  async function allow(user: string, group: string, verbs: string[]): Promise<void> {
    const metadata = { namespace: 'default', name: user };
    await server.client.roles.create({ metadata, rules: [{ apiGroups: [group], resources: ['events'], verbs }] });
    const subjects = [{ kind: 'User', name: user }];
    await server.client.roleBindings.create({ metadata, roleRef: { kind: 'Role', name: user }, subjects });
  }

  it('are read and written by what a role says of the group that is asked', async () => {
    const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
    await allow('newer', 'events.k8s.io', verbs);
    await allow('older', '', verbs);
    const eventTime = '2026-01-01T00:00:00.000000Z';
    const event = (name: string) => ({
      ...{ metadata: { namespace: 'default', name }, eventTime, reportingController: 'a.b/c', reportingInstance: 'd' },
      ...{ action: 'Do', reason: 'Done', type: 'Normal', regarding: { kind: 'Pod', namespace: 'default', name: 'web' } },
    });
    const codesOf = async (user: string, path: string, name: string) => {
      const as = { 'impersonate-user': user };
      const patch = { ...as, 'content-type': 'application/merge-patch+json' };
      const body =
        path === inCore ? { ...event(name), regarding: undefined, involvedObject: event(name).regarding } : event(name);
      if (path === inCore) Object.assign(body, { reportingController: undefined, reportingComponent: 'a.b/c' });
      const answers = [
        await ask(path, { ...as, 'content-type': 'application/json' }, { method: 'POST', body }),
        await ask(`${path}/${name}`, as),
        await ask(path, as),
        await ask(`${path}?watch=1&timeoutSeconds=1`, as),
        await ask(`${path}/${name}`, patch, { method: 'PATCH', body: { metadata: { labels: { a: 'b' } } } }),
        await ask(`${path}/${name}`, as, { method: 'DELETE' }),
      ];
      return answers.map(({ code }) => code);
    };
    const allowed = [201, 200, 200, 200, 200, 200];
    const refused = [403, 403, 403, 403, 403, 403];
    expect(await codesOf('newer', inNewGroup, 'one')).toEqual(allowed);
    expect(await codesOf('newer', inCore, 'two')).toEqual(refused);
    expect(await codesOf('older', inCore, 'three')).toEqual(allowed);
    expect(await codesOf('older', inNewGroup, 'four')).toEqual(refused);
  });
});

describe('metrics', () => {
  const group = '/apis/metrics.k8s.io/v1beta1';
  const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };

  it.each([
    ['nodes', `${group}/nodes`, ['n1', '250m', '1048576Ki', '15s']],
    ['one node', `${group}/nodes/n1`, ['n1', '250m', '1048576Ki', '15s']],
    ['pods, whose containers are summed up', `${group}/namespaces/default/pods`, ['web', '150m', '12288Ki', '15s']],
    ['one pod', `${group}/namespaces/default/pods/web`, ['web', '150m', '12288Ki', '15s']],
  ])('of %s are a table for who wants one', async (_, path, cells) => {
    const { columnDefinitions, rows, ...head } = (await ask(path, table)).json();
    expect(head).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    const older = (await ask(path, { accept: 'application/json;as=Table;v=v1beta1;g=meta.k8s.io' })).json();
    expect([older.apiVersion, older.rows[0].object.apiVersion]).toEqual(Array(2).fill('meta.k8s.io/v1beta1'));
    expect(columnDefinitions.map(({ name }: { name: string }) => name)).toEqual(['Name', 'CPU', 'Memory', 'Window']);
    expect(rows).toMatchObject([{ cells, object: { kind: 'PartialObjectMetadata', metadata: { name: cells[0] } } }]);
  });

  it('are selected by labels and names', async () => {
    const count = async (query: string) => (await ask(`${group}/nodes?${query}`)).json().items.length;
    expect(await count('labelSelector=zone%3Da')).toBe(1);
    expect(await count('labelSelector=zone%3Db')).toBe(0);
    expect(await count('fieldSelector=metadata.name%3Dn1')).toBe(1);
  });

  it('may be asked for without their figures', async () => {
    const partial = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' };
    const { kind, items } = (await ask(`${group}/nodes`, partial)).json();
    expect([kind, Object.keys(items[0])]).toEqual(['PartialObjectMetadataList', ['kind', 'apiVersion', 'metadata']]);
    const older = { accept: 'application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io' };
    const of = (await ask(`${group}/nodes`, older)).json();
    expect([of.apiVersion, of.items[0].apiVersion]).toEqual(Array(2).fill('meta.k8s.io/v1beta1'));
  });

  it('are not there for a pod that was not measured', async () => {
    expect((await ask(`${group}/namespaces/default/pods/none`)).code).toBe(404);
  });
});

it('the version and the index of paths are laid out for people', async () => {
  expect((await ask('/version')).text).toMatch(/^\{\n {2}"major": "1",\n {2}"minor": "33",\n/);
  expect((await ask('/')).text).toMatch(/^\{\n {2}"paths": \[\n {4}"\/api",\n/);
});

it.each(['Table', 'PartialObjectMetadata'])('a review is not to be had as %s', async (as) => {
  const spec = { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } };
  const headers = { accept: `application/json;as=${as};v=v1;g=meta.k8s.io`, 'content-type': 'application/json' };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const answer = await ask(path, headers, { method: 'POST', body: { spec } });
  expect(answer.json()).toMatchObject({ kind: 'Status', code: 406, reason: 'NotAcceptable' });
});

it('a review has no reason for what roles do not say, as in Kubernetes', async () => {
  const spec = { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } };
  const headers = { 'impersonate-user': 'bob', 'content-type': 'application/json' };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const { status } = (await ask(path, headers, { method: 'POST', body: { spec } })).json();
  expect(status.allowed).toBe(false);
  expect(status.reason ?? '').toBe('');
});
