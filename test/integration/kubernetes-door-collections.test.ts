import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks } from './kubernetes-asks.ts';

// Deletions of collections, which are answered with the list of what was deleted.
let server: RunningServer;
const ask = asks(() => server);

const maps = '/api/v1/namespaces/default/configmaps';
const mapOf = (name: string, more: object = {}) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { key: name } },
  metadata: { name, labels: { sweep: 'yes' }, ...more },
});
const swept = `${maps}?labelSelector=sweep%3Dyes`;
const make = async (...names: string[]) => {
  for (const name of names) await ask(maps, { method: 'POST', body: mapOf(name) });
};
const namesOf = (items: readonly { metadata: { name: string } }[]) => items.map(({ metadata }) => metadata.name);
const sweep = (query = '', headers = {}) => ask(`${swept}${query}`, { method: 'DELETE', headers });

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

describe('a deletion of a collection', () => {
  it('is answered with the objects as they were', async () => {
    await make('a', 'b');
    const before = (await ask(swept)).json;
    const { code, json } = await sweep();
    expect([code, json]).toEqual([200, before]);
    expect(namesOf(json.items)).toEqual(['a', 'b']);
    expect((await ask(swept)).json.items).toEqual([]);
  });

  it('with an empty continue token is answered as one without', async () => {
    await make('c');
    expect(namesOf((await sweep('&continue=')).json.items)).toEqual(['c']);
  });

  it('shows objects that wait for their finalizers, and leaves them', async () => {
    await ask(maps, { method: 'POST', body: mapOf('kept', { finalizers: ['example.com/wait'] }) });
    expect(namesOf((await sweep()).json.items)).toEqual(['kept']);
    expect((await ask(`${maps}/kept`)).json.metadata.deletionTimestamp).toBeDefined();
    const patch = { metadata: { finalizers: null } };
    const headers = { 'content-type': 'application/merge-patch+json' };
    await ask(`${maps}/kept`, { method: 'PATCH', body: patch, headers });
  });

  it('of nothing is answered with an empty list', async () => {
    expect((await sweep()).json).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1', items: [] });
  });

  it('in a dry run shows what it would delete', async () => {
    await make('dry');
    expect(namesOf((await sweep('&dryRun=All')).json.items)).toEqual(['dry']);
    expect(namesOf((await sweep()).json.items)).toEqual(['dry']);
  });

  it('with a limit deletes one page, and shows it with the token of the next', async () => {
    await make('one', 'three', 'two');
    const { json } = await sweep('&limit=2');
    expect([namesOf(json.items), typeof json.metadata.continue]).toEqual([['one', 'three'], 'string']);
    expect(namesOf((await ask(swept)).json.items)).toEqual(['two']);
    const next = await sweep(`&continue=${json.metadata.continue}`);
    expect([namesOf(next.json.items), next.json.metadata.continue]).toEqual([['two'], undefined]);
    expect((await ask(swept)).json.items).toEqual([]);
  });

  it('is answered in every form of a list', async () => {
    const as = (form: string) => `application/json;as=${form};g=meta.k8s.io;v=v1`;
    await make('formed');
    const table = await sweep('&dryRun=All', { accept: as('Table') });
    expect(table.json).toMatchObject({ kind: 'Table', rows: [{ cells: ['formed', 1, expect.any(String)] }] });
    const partial = await sweep('&dryRun=All', { accept: as('PartialObjectMetadataList') });
    expect(partial.json).toMatchObject({ kind: 'PartialObjectMetadataList', items: [{ kind: 'PartialObjectMetadata' }] });
    const refused = await sweep('', { accept: 'text/html' });
    const { bytes, headers } = await sweep('', { accept: 'application/vnd.kubernetes.protobuf' });
    expect([refused.code, headers['content-type']]).toEqual([406, 'application/vnd.kubernetes.protobuf']);
    expect(bytes.toString('latin1')).toMatch(/^k8s\0.*ConfigMapList.*formed/s);
  });

  it('of several pages shows all of them', async () => {
    const names = ['p1', 'p2', 'p3', 'p4'];
    for (const name of names) {
      const body = { ...mapOf(name), data: { text: name.repeat(200_000) } };
      await ask(maps, { method: 'POST', body });
    }
    expect(namesOf((await sweep()).json.items)).toEqual(names);
  });

  it('of a kind without a history shows what it deleted', async () => {
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'gone', labels: { sweep: 'yes' } } };
    await ask(leases, { method: 'POST', body: lease });
    const { json } = await ask(`${leases}?labelSelector=sweep%3Dyes`, { method: 'DELETE' });
    expect([json.kind, namesOf(json.items)]).toEqual(['LeaseList', ['gone']]);
  });

  it('that fails for one object is answered with the failure', async () => {
    await make('first');
    const options = { preconditions: { resourceVersion: '1' } };
    const { code, json } = await ask(swept, { method: 'DELETE', body: options });
    expect([code, json.kind, json.reason]).toEqual([409, 'Status', 'Conflict']);
    expect(namesOf((await sweep()).json.items)).toEqual(['first']);
  });

  it('needs the right to delete the collection, and none to list', async () => {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['deletecollection'] }];
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
    const meta = { metadata: { name: 'sweeper' } };
    await ask(`${rbac}/roles`, { method: 'POST', body: { ...meta, rules } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'sweeper' };
    const subjects = [{ kind: 'User', name: 'sweeper', apiGroup: 'rbac.authorization.k8s.io' }];
    await ask(`${rbac}/rolebindings`, { method: 'POST', body: { ...meta, roleRef, subjects } });
    await make('swept');
    const as = { 'impersonate-user': 'sweeper' };
    expect((await ask(swept, { headers: as })).code).toBe(403);
    const { code, json } = await sweep('', as);
    expect([code, namesOf(json.items)]).toEqual([200, ['swept']]);
    const other = await sweep('', { 'impersonate-user': 'other' });
    expect(other.code).toBe(403);
  });
});
