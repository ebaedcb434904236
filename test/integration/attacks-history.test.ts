import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { encodeContinue } from '../../apiserver/registry/reads/continue-token.ts';
import { type Client, connect } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

// A namespace is deleted and created anew for another tenant,
// who then looks for what the first one left in the history.

let server: RunningServer;
let tenant: Client;
let auditor: Client;
let node: Client;
const clients: Client[] = [];
const stopping = new AbortController();
const key = { namespace: 'team', name: 'key' };
/**
 * Versions: the old tenant's secret exists; the present namespace was created; the new tenant's secret was made,
 * and then changed.
 */
const versions = { old: '', birth: '', made: '', changed: '' };

const exactly = (resourceVersion: string) => ({ resourceVersion, resourceVersionMatch: 'Exact' }) as const;
const versionOf = (object: { metadata?: { resourceVersion?: string } }): string => object.metadata?.resourceVersion ?? '';
const dataOf = (value: string) => ({ key: Buffer.from(value) });
const beforeBirth = {
  code: 'OUT_OF_RANGE',
  message: expect.stringContaining('the present namespace "team" exists since version'),
};

function as(credentials: { token?: string; cert?: string; key?: string }): Client {
  const { address, ca } = server.info;
  const client = connect({ address, ca, ...credentials });
  clients.push(client);
  return client;
}

async function enroll(): Promise<void> {
  const { clusterRoleBindings, roleBindings, clusterRoles } = server.client;
  const bind = (name: string, role: string) => ({
    roleRef: { kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'User', name }],
  });
  await clusterRoles.create({
    metadata: { name: 'see-secrets' },
    rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'] }],
  });
  await roleBindings.create({ metadata: { namespace: 'team', name: 'tenant' }, ...bind('tenant', 'admin') });
  await clusterRoleBindings.create({ metadata: { name: 'auditor' }, ...bind('auditor', 'see-secrets') });
}

async function replaceNamespace(): Promise<void> {
  const { namespaces, secrets } = server.client;
  versions.old = versionOf(await secrets.create({ metadata: key, data: dataOf('first tenant') }));
  await secrets.delete(key);
  // As the controllers do it, which this server does not have.
  const gone = await namespaces.get({ name: 'team' });
  await namespaces.delete({ name: 'team' });
  const { metadata } = await namespaces.get({ name: 'team' }).catch(() => gone);
  await namespaces.finalize({ metadata, spec: { finalizers: [] } } as never).catch(() => {});
  versions.birth = versionOf(await namespaces.create({ metadata: { name: 'team' } }));
}

beforeAll(async () => {
  const first = await startServer({ backend: 'lmdb' });
  const file = join(first.dataDir, 'pki', 'tokens');
  const lines = ['tenant', 'auditor'].map((user) => formatToken(`token-of-${user}`, { user, groups: [] }));
  await writeFile(file, (await readFile(file, 'utf8')) + lines.join(''));
  server = first;
  await server.client.namespaces.create({ metadata: { name: 'team', labels: { tenant: 'first' } } });
  await replaceNamespace();
  await first.stop();
  server = await startServer({ backend: 'lmdb', dataDir: first.dataDir });
  await enroll();
  tenant = as({ token: 'token-of-tenant' });
  auditor = as({ token: 'token-of-auditor' });
  await issueNodeCredentials(server.dataDir, 'n1');
  node = as(await readPair(server.dataDir, 'node-n1'));
  const { secrets, pods } = server.client;
  versions.made = versionOf(await secrets.create({ metadata: key, data: dataOf('second') }));
  versions.changed = versionOf(await secrets.patch(key, { data: { key: Buffer.from('third').toString('base64') } }));
  const volumes = [{ name: 's', volumeSource: { secret: { secretName: 'key' } } }];
  const spec = { nodeName: 'n1', volumes, containers: [{ name: 'main', image: 'x' }] };
  await server.client.serviceAccounts.create({ metadata: { namespace: 'team', name: 'default' } }).catch(() => {});
  await pods.create({ metadata: { namespace: 'team', name: 'web' }, spec });
});
afterAll(async () => {
  stopping.abort();
  for (const client of clients) client.close();
  await server.stop();
  await server.remove();
});

describe('the next tenant of a namespace', () => {
  it('reads nothing of the one before at an old version: neither an object nor a list nor a page of one', async () => {
    await expect(tenant.secrets.get({ ...key, ...exactly(versions.old) })).rejects.toMatchObject(beforeBirth);
    await expect(tenant.secrets.list({ namespace: 'team', ...exactly(versions.old) })).rejects.toMatchObject(beforeBirth);
    const made = encodeContinue({ revision: Number(versions.old), after: 'secrets/team/a' }, 'secrets\0team\0\0');
    await expect(tenant.secrets.list({ namespace: 'team', continue: made })).rejects.toMatchObject(beforeBirth);
    const { items } = await server.client.secrets.list({ namespace: 'team', continue: made });
    expect(items.map(({ data }) => Buffer.from(data?.key ?? '').toString())).toEqual(['first tenant']);
  });

  it('reads nothing of it by a page of a version, which is exact without saying so, nor deletes what it lists', async () => {
    const page = { namespace: 'team', limit: 10, resourceVersion: versions.old };
    await expect(tenant.secrets.list(page)).rejects.toMatchObject(beforeBirth);
    await expect(tenant.objects.list('Secret', page)).rejects.toMatchObject(beforeBirth);
    await expect(tenant.objects.listTable('Secret', page)).rejects.toMatchObject(beforeBirth);
    await expect(tenant.objects.deleteCollection('Secret', page)).rejects.toMatchObject(beforeBirth);
    const named = { fieldSelector: 'metadata.name=team', limit: 10, resourceVersion: versions.old };
    await expect(tenant.namespaces.list(named)).rejects.toMatchObject(beforeBirth);
    const { items } = await auditor.secrets.list(page);
    expect(items.map(({ data }) => Buffer.from(data?.key ?? '').toString())).toEqual(['first tenant']);
  });

  it('receives no events of the one before in a watch from an old version', async () => {
    const watch = tenant.secrets.watch({ namespace: 'team', resourceVersion: versions.old }, { signal: stopping.signal });
    await expect(watch[Symbol.asyncIterator]().next()).rejects.toMatchObject(beforeBirth);
    const own = tenant.secrets.watch({ namespace: 'team', resourceVersion: versions.birth }, { signal: stopping.signal });
    const events = own[Symbol.asyncIterator]();
    expect((await events.next()).value?.[0]).toMatchObject({ type: 'ADDED', object: { data: dataOf('second') } });
  });

  it('finds only its own versions in the history of an object, and of the namespace', async () => {
    const history = async (client: Client) => (await client.objects.history('Secret', key)).revisions ?? [];
    expect((await history(tenant)).map(({ type }) => type)).toEqual(['MODIFIED', 'ADDED']);
    expect(await history(server.client)).toHaveLength(4);
    const team = { namespace: '', name: 'team' };
    const { revisions } = await tenant.objects.history('Namespace', team);
    expect(revisions?.at(-1)).toMatchObject({ type: 'ADDED', resourceVersion: versions.birth });
    const namespace = tenant.namespaces.get({ name: 'team', ...exactly(versions.old) });
    await expect(namespace).rejects.toMatchObject(beforeBirth);
    const selected = { fieldSelector: 'metadata.name=team', ...exactly(versions.old) };
    await expect(tenant.namespaces.list(selected)).rejects.toMatchObject(beforeBirth);
  });

  it('reads its own past, from the creation of its namespace on', async () => {
    const then = await tenant.secrets.get({ ...key, ...exactly(versions.made) });
    expect(Buffer.from(then.data?.key ?? '').toString()).toBe('second');
    expect((await tenant.secrets.list({ namespace: 'team', ...exactly(versions.birth) })).items).toEqual([]);
  });
});

describe('history from before the namespace was recreated', () => {
  it('is readable for administrators, and for users that may list the kind in all namespaces', async () => {
    for (const client of [server.client, auditor]) {
      const old = await client.secrets.get({ ...key, ...exactly(versions.old) });
      expect(Buffer.from(old.data?.key ?? '').toString()).toBe('first tenant');
    }
    await expect(auditor.objects.history('Secret', key)).resolves.toHaveProperty('revisions.length', 4);
  });

  it('is denied to a node, which reads only the current version of the Secrets of its pods', async () => {
    expect(Buffer.from((await node.secrets.get(key)).data?.key ?? '').toString()).toBe('third');
    const refused = { code: 'PERMISSION_DENIED', message: expect.stringContaining('a node reads only present ones') };
    await expect(node.secrets.get({ ...key, ...exactly(versions.made) })).rejects.toMatchObject(refused);
    await expect(node.objects.history('Secret', key)).rejects.toMatchObject(refused);
    const page = { fieldSelector: 'spec.nodeName=n1', limit: 10, resourceVersion: versions.made };
    await expect(node.pods.list(page)).rejects.toMatchObject(refused);
  });
});
