import { createHmac } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod, TokenRequestSpec } from '../../api/generated/types.ts';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { type Client, type ConnectOptions, connect } from '../../client/index.ts';
import { createTestPki } from '../fakes/test-pki.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

// Attempts to escalate privileges. Each is refused, with its reason.

let server: RunningServer;
const clients: Client[] = [];
const users = ['editor', 'maker', 'actor', 'guest'];
const bytesOf = (object: object): string => Buffer.from(JSON.stringify(object)).toString('base64url');

function as(who: string | Partial<ConnectOptions>): Client {
  const { address, ca } = server.info;
  const client = connect({ address, ca, ...(typeof who === 'string' ? { token: `token-of-${who}` } : who) });
  clients.push(client);
  return client;
}

const firstOf = async (stream: AsyncIterable<unknown>) => stream[Symbol.asyncIterator]().next();

const podOf = (name: string, spec: Pod['spec'] = {}, namespace = 'default'): Pod => ({
  metadata: { namespace, name },
  spec: { containers: [{ name: 'main', image: 'x' }], ...spec },
});
const shows = (audience?: string): Pod['spec'] => ({
  serviceAccountName: 'strong',
  volumes: [
    {
      name: 't',
      volumeSource: { projected: { sources: [{ serviceAccountToken: { path: 't', ...(audience && { audience }) } }] } },
    },
  ],
});

/**
 * "editor" may edit in the namespace default, "maker" create and read pods there, "actor" act as the user anna;
 * "strong" is an account with rights.
 */
beforeAll(async () => {
  const first = await startServer();
  await first.stop();
  const file = join(first.dataDir, 'pki', 'tokens');
  const lines = users.map((user) => formatToken(`token-of-${user}`, { user, groups: [] }));
  await writeFile(file, (await readFile(file, 'utf8')) + lines.join(''));
  server = await startServer({ dataDir: first.dataDir });
  const { clusterRoles, clusterRoleBindings, roleBindings, serviceAccounts, pods, nodes } = server.client;
  const subjects = (name: string) => [{ kind: 'User', name }];
  await roleBindings.create({
    metadata: { namespace: 'default', name: 'editor' },
    roleRef: { kind: 'ClusterRole', name: 'edit' },
    subjects: subjects('editor'),
  });
  await clusterRoles.create({
    metadata: { name: 'makers' },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['create', 'get', 'update', 'patch'] }],
  });
  await roleBindings.create({
    metadata: { namespace: 'default', name: 'makers' },
    roleRef: { kind: 'ClusterRole', name: 'makers' },
    subjects: subjects('maker'),
  });
  await clusterRoles.create({
    metadata: { name: 'actors' },
    rules: [{ apiGroups: [''], resources: ['users'], resourceNames: ['anna'], verbs: ['impersonate'] }],
  });
  await clusterRoleBindings.create({
    metadata: { name: 'actors' },
    roleRef: { kind: 'ClusterRole', name: 'actors' },
    subjects: subjects('actor'),
  });
  await serviceAccounts.create({ metadata: { namespace: 'default', name: 'strong' } });
  await serviceAccounts.create({ metadata: { namespace: 'kube-system', name: 'other' } });
  for (const name of ['n1', 'n2']) await nodes.create({ metadata: { name } });
  await pods.create(podOf('mine', { ...shows(), nodeName: 'n1' }));
  await pods.create(podOf('theirs', { ...shows(), nodeName: 'n2' }));
  await pods.create(podOf('open', shows()));
  await pods.create(podOf('plain', { nodeName: 'n1', automountServiceAccountToken: false }));
});
afterAll(async () => {
  for (const client of clients) client.close();
  await server.stop();
  await server.remove();
});

describe('a stolen certificate of the node n1 gets', () => {
  let n1: Client;
  const uidOf = async (name: string) => (await server.client.pods.get({ namespace: 'default', name })).metadata?.uid ?? '';
  const strong = { namespace: 'default', name: 'strong' };
  beforeAll(async () => {
    await issueNodeCredentials(server.dataDir, 'n1');
    n1 = as(await readPair(server.dataDir, 'node-n1'));
  });

  it('a token of its pod, as its agent does', async () => {
    const bound = { kind: 'Pod', name: 'mine', uid: await uidOf('mine') };
    const { token } = await n1.serviceAccounts.createToken(strong, { boundObjectRef: bound });
    expect((await as({ token: token! }).reviews.whoAmI()).username).toBe('system:serviceaccount:default:strong');
  });

  it.each<
    [
      string,
      {
        account?: { namespace: string; name: string };
        spec: (uidOf: (name: string) => Promise<string>) => Promise<TokenRequestSpec>;
      },
      string,
    ]
  >([
    ["of another node's pod", { spec: async (uid) => pod('theirs', await uid('theirs')) }, 'does not run on this node'],
    ["of another node's pod, under a wrong uid", { spec: async () => pod('theirs', 'x') }, 'does not run on this node'],
    ['of a pod that no node has', { spec: async (uid) => pod('open', await uid('open')) }, 'does not run on this node'],
    ['that is bound to nothing', { spec: async () => ({}) }, 'it is not bound to a pod'],
    ['without a uid', { spec: async () => pod('mine') }, 'without a uid'],
    ['with the uid of another pod', { spec: async (uid) => pod('mine', await uid('plain')) }, 'its uid is'],
    [
      'for an audience of its own',
      { spec: async (uid) => ({ ...pod('mine', await uid('mine')), audiences: ['vault'] }) },
      'no volume of the pod "mine" shows a token for "vault"',
    ],
    [
      'of a pod that shows none',
      { account: { namespace: 'default', name: 'default' }, spec: async (uid) => pod('plain', await uid('plain')) },
      'shows a token for the API server',
    ],
    [
      'of an account that none of its pods has',
      { account: { namespace: 'kube-system', name: 'other' }, spec: async () => ({}) },
      'a node may do only',
    ],
  ])('no token %s', async (_, { account = strong, spec }, why) => {
    if (account.name === 'default') await server.client.serviceAccounts.create({ metadata: account }).catch(() => {});
    await expect(n1.serviceAccounts.createToken(account, await spec(uidOf))).rejects.toThrow(why);
  });

  const pod = (name: string, uid?: string): TokenRequestSpec => ({ boundObjectRef: { kind: 'Pod', name, ...(uid && { uid }) } });

  it('no account for a mirror pod that it makes, and so no token of one', async () => {
    const uid = (await server.client.nodes.get({ name: 'n1' })).metadata?.uid;
    const mirror = (name: string, spec: Pod['spec'] = {}): Pod => ({
      ...podOf(name, { ...spec, nodeName: 'n1' }),
      metadata: {
        ...{ namespace: 'default', name, annotations: { 'kubernetes.io/config.mirror': 'x' } },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid, controller: true }],
      },
    });
    await expect(n1.pods.create(mirror('m', { serviceAccountName: 'strong' }))).rejects.toThrow(
      'may not reference service accounts',
    );
    await expect(n1.pods.create(mirror('m', shows()))).rejects.toThrow('may not reference service accounts');
    const made = await n1.pods.create(mirror('m'));
    const wish = n1.serviceAccounts.createToken(strong, pod('m', made.metadata?.uid));
    await expect(wish).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(as('maker').pods.create(mirror('n'))).rejects.toThrow('which only the agent of a node may set');
  });

  it('nothing through the node itself: there is no way from one node to the pods of another', async () => {
    const theirs = { namespace: 'default', name: 'theirs' };
    await expect(n1.pods.get(theirs)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    const control = n1.tunnel.control('n2', AbortSignal.timeout(10_000));
    await expect(firstOf(control.requests())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(firstOf(n1.pods.logs(theirs))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });
});

describe('a forged bearer token', () => {
  const claims = { iss: 'https://kubernetes.default.svc.cluster.local', sub: 'system:serviceaccount:default:strong' };
  it.each<[string, (kid: string, token: string) => string, string]>([
    ['without a signature', (_, token) => `${bytesOf({ alg: 'none' })}.${token.split('.')[1]}.`, 'not signed with ES256'],
    [
      'signed with the published key as a secret',
      (kid, token) => {
        const content = `${bytesOf({ alg: 'HS256', kid })}.${token.split('.')[1]}`;
        return `${content}.${createHmac('sha256', kid).update(content).digest('base64url')}`;
      },
      'not signed with ES256',
    ],
    [
      'of a key that is none',
      () => `${bytesOf({ alg: 'ES256', kid: '../../ca' })}.${bytesOf(claims)}.AAAA`,
      'a key of this cluster',
    ],
    ['with an empty signature', (_, token) => `${token.split('.').slice(0, 2).join('.')}.`, 'its signature is wrong'],
    ['that is two', (_, token) => `${token}, Bearer ${token}`, 'not known'],
    ['that is a hash of the token file', () => 'a'.repeat(64), 'not known'],
  ])('%s does not count', async (_, forge, why) => {
    const account = { namespace: 'default', name: 'strong' };
    const { token = '' } = await server.client.serviceAccounts.createToken(account);
    const { kid } = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString());
    await expect(as({ token: forge(kid, token) }).reviews.whoAmI()).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringContaining(why),
    });
  });

  it('a certificate for an administrator, signed by a foreign authority, is rejected', async () => {
    const { issue } = await createTestPki();
    const thief = as(await issue('CN=admin, O=system:masters'));
    await expect(thief.reviews.whoAmI()).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringContaining('the client certificate of "admin" does not count here'),
    });
  });
});

describe('a user that may create pods', () => {
  it('may use every account of the namespace, as docs/security.md says, and none of another', async () => {
    expect((await as('maker').pods.create(podOf('uses-strong', shows()))).spec?.serviceAccountName).toBe('strong');
    await expect(as('maker').pods.create(podOf('uses-other', { serviceAccountName: 'other' }))).rejects.toThrow(
      'error looking up service account default/other',
    );
    const token = as('maker').serviceAccounts.createToken({ namespace: 'default', name: 'strong' });
    await expect(token).rejects.toThrow('user "maker" cannot create serviceaccounts/token');
  });

  const at = { namespace: 'default', name: 'mine' };
  it.each<[string, (client: Client) => Promise<unknown>, string]>([
    ['read logs', (client) => firstOf(client.pods.logs(at)), 'get pods/log'],
    ['bind a pod to a node', (client) => client.pods.bind({ namespace: 'default', name: 'open' }, 'n1'), 'create pods/binding'],
    ['evict', (client) => client.pods.evict(at), 'create pods/eviction'],
    ['write a status', async (client) => client.pods.updateStatus(await client.pods.get(at)), 'update pods/status'],
    [
      'add a container',
      async (client) => client.pods.updateEphemeralContainers(await client.pods.get(at)),
      'update pods/ephemeralcontainers',
    ],
    ['resize', async (client) => client.pods.updateResize(await client.pods.get(at)), 'update pods/resize'],
    [
      'make one elsewhere',
      (client) => client.pods.create(podOf('x', {}, 'kube-system')),
      'cannot create pods in the namespace "kube-system"',
    ],
  ])('may not %s without the right to', async (_, attempt, why) => {
    await expect(attempt(as('maker'))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining(why),
    });
  });

  it.each([
    ['create', 'pods', 'exec'],
    ['create', 'pods', 'attach'],
    ['create', 'pods', 'portforward'],
    ['create', 'nodes', 'proxy'],
    ['get', 'nodes', 'proxy'],
    ['get', 'secrets', ''],
  ])('has no right to %s %s/%s with it', async (verb, resource, subresource) => {
    const question = { resourceAttributes: { namespace: 'default', verb, resource, subresource } };
    expect(await as('maker').reviews.canI(question)).toMatchObject({ allowed: false, reason: '' });
  });

  it.each<[string, Record<string, unknown>]>([
    ['another namespace', { metadata: { namespace: 'kube-system' } }],
    ['another name', { metadata: { name: 'plain' } }],
    ['another uid', { metadata: { uid: 'x' } }],
    ['another account', { spec: { serviceAccountName: 'default' } }],
    ['a way to the machine', { spec: { hostNetwork: true, hostPID: true } }],
    ['a folder of the machine', { spec: { volumes: [{ name: 'h', hostPath: { path: '/' } }] } }],
  ])('cannot give one that runs %s', async (_, patch) => {
    await expect(as('editor').pods.patch(at, patch)).rejects.toMatchObject({
      code: expect.stringMatching(/INVALID_ARGUMENT|ABORTED/),
    });
    const kept = await server.client.pods.get(at);
    expect([kept.metadata?.name, kept.spec?.serviceAccountName, kept.spec?.hostNetwork ?? false]).toEqual([
      'mine',
      'strong',
      false,
    ]);
  });
});

describe('a user that may impersonate some users', () => {
  const strong = 'system:serviceaccount:default:strong';
  it('acts as those users', async () => {
    const acting = async (who: string, user: string) =>
      (await as({ token: `token-of-${who}`, impersonate: { user } }).reviews.whoAmI()).username;
    expect(await acting('actor', 'anna')).toBe('anna');
    expect(await acting('editor', strong)).toBe(strong);
  });

  it.each<[string, string, string, readonly string[], string]>([
    ['another user', 'actor', 'admin', [], 'cannot impersonate users'],
    ['a user in a group of administrators', 'actor', 'anna', ['system:masters'], 'cannot impersonate groups'],
    ['a node', 'actor', 'system:node:n1', ['system:nodes'], 'cannot impersonate users'],
    [
      'an account of another namespace',
      'editor',
      'system:serviceaccount:kube-system:other',
      [],
      'cannot impersonate serviceaccounts',
    ],
    ['an account in a group of administrators', 'editor', strong, ['system:masters'], 'cannot impersonate groups'],
    ['an account with a name of two', 'editor', `${strong}:x`, [], 'cannot impersonate users'],
    ['a user, without the permission', 'guest', 'anna', [], 'cannot impersonate users'],
  ])('does not do so as %s', async (_, who, user, groups, why) => {
    const attempt = as({ token: `token-of-${who}`, impersonate: { user, groups } }).reviews.whoAmI();
    await expect(attempt).rejects.toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringContaining(why) });
  });

  it('cannot create a token for an account of another namespace', async () => {
    const other = as('editor').serviceAccounts.createToken({ namespace: 'kube-system', name: 'other' });
    await expect(other).rejects.toThrow('user "editor" cannot create serviceaccounts/token in the namespace "kube-system"');
  });
});

describe('a namespace that is held to the level baseline', () => {
  it.each<[string, Pod['spec'], string]>([
    [
      'the machine with a folder of it',
      { volumes: [{ name: 'v', volumeSource: { hostPath: { path: '/' } } }] },
      'hostPath volumes',
    ],
    ['the network of the machine', { hostNetwork: true }, 'host namespaces'],
    ['everything', { containers: [{ name: 'main', image: 'x', securityContext: { privileged: true } }] }, 'privileged'],
  ])('gives no pod %s, not even one of an administrator', async (_, spec, why) => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
    await server.client.namespaces.create({ metadata: { name: 'held', labels } }).catch(() => {});
    await expect(server.client.pods.create(podOf('x', spec, 'held'))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining(why),
    });
  });
});

describe('an editor of a namespace', () => {
  it('cannot create a pod with a system priority class outside of kube-system', async () => {
    for (const spec of [{ priorityClassName: 'system-node-critical' }, { priority: 2_000_001_000 }])
      await expect(as('editor').pods.create(podOf('vip', spec))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await as('editor').pods.create(podOf('plain-first'));
    const patch = { spec: { priorityClassName: 'system-node-critical', priority: 2_000_001_000 } };
    const raised = as('editor').pods.patch({ namespace: 'default', name: 'plain-first' }, patch);
    await expect(raised).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
