import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import { type Client, connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// Who may do what, over the network and on the command line.

let server: RunningServer;
let shell: CommandLine;
const clients: Client[] = [];
const denied = { code: 'PERMISSION_DENIED', reason: 'Forbidden' };

/** A server with users "anna" and "bert", who come with tokens and have no roles yet. */
beforeAll(async () => {
  const first = await startServer();
  await first.stop();
  const file = join(first.dataDir, 'pki', 'tokens');
  const lines = ['anna', 'bert'].map((user) => formatToken(`token-of-${user}`, { user, groups: ['dev'] }));
  await writeFile(file, (await readFile(file, 'utf8')) + lines.join(''));
  server = await startServer({ dataDir: first.dataDir });
  shell = await openCommandLine(server.admin);
});
afterAll(async () => {
  for (const client of clients) client.close();
  await shell.close();
  await server.stop();
  await server.remove();
});

function as(user: string): Client {
  const { address, ca } = server.info;
  const client = connect({ address, ca, token: `token-of-${user}` });
  clients.push(client);
  return client;
}

const configMap = (name: string) => ({ metadata: { namespace: 'default', name } });

test('a right counts from the moment at which the binding was made, and not after it was deleted', async () => {
  const anna = as('anna');
  const list = () => anna.configMaps.list({ namespace: 'default' });
  for (let round = 0; round < 5; round++) {
    await expect(list()).rejects.toMatchObject({
      ...denied,
      message:
        'user "anna" cannot list configmaps in the namespace "default": no role allows it; berth auth can-i --list shows what you may do',
    });
    await server.client.roleBindings.create({
      metadata: { namespace: 'default', name: 'anna' },
      roleRef: { kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'User', name: 'anna' }],
    });
    expect((await list()).items).toEqual([]);
    await expect(anna.configMaps.list({})).rejects.toMatchObject({
      ...denied,
      message: expect.stringContaining('in all namespaces'),
    });
    await expect(anna.configMaps.create(configMap('x'))).rejects.toMatchObject(denied);
    await server.client.roleBindings.delete({ namespace: 'default', name: 'anna' });
  }
});

test('items of a stream are judged one by one', async () => {
  await shell.berth('create', 'role', 'names', '--verb=create,delete', '--resource=configmaps');
  await shell.berth('create', 'rolebinding', 'names', '--role=names', '--user=bert');
  const bert = as('bert');
  const bulk = bert.bulkWriter();
  const made = await bulk.resource('ConfigMap').create(configMap('bulk'));
  expect(made.metadata?.name).toBe('bulk');
  await expect(bulk.resource('Secret').create(configMap('bulk'))).rejects.toMatchObject(denied);
  await bulk.resource('ConfigMap').delete({ namespace: 'default', name: 'bulk' });
  await bulk.close();
});

test('no user grants more than it holds, by roles or bindings, in any kind of write', async () => {
  await shell.berth('create', 'rolebinding', 'admin-bert', '--clusterrole=admin', '--user=bert');
  const bert = as('bert');
  const role = (verbs: string[], resources: string[]) => ({
    metadata: { namespace: 'default', name: 'mine' },
    rules: [{ apiGroups: [''], resources, verbs }],
  });
  expect((await bert.roles.create(role(['get'], ['pods']))).metadata?.name).toBe('mine');
  const key = { namespace: 'default', name: 'mine' };
  const more = { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] };
  await expect(bert.roles.patch(key, more)).rejects.toMatchObject(denied);
  await expect(bert.roles.update({ ...(await bert.roles.get(key)), ...more })).rejects.toMatchObject(denied);
  await expect(bert.roles.create({ ...more, metadata: { namespace: 'default', name: 'all' } })).rejects.toMatchObject(denied);
  expect((await bert.roles.get(key)).rules).toHaveLength(1);
  const binding = (name: string) => ({
    metadata: { namespace: 'default', name: `gives-${name}` },
    roleRef: { kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', name: 'bert' }],
  });
  expect((await bert.roleBindings.create(binding('edit'))).metadata?.name).toBe('gives-edit');
  await expect(bert.roleBindings.create(binding('cluster-admin'))).rejects.toMatchObject({
    ...denied,
    message: expect.stringContaining('cannot grant the ClusterRole "cluster-admin"'),
  });
  await expect(bert.clusterRoleBindings.create({ ...binding('edit'), metadata: { name: 'x' } })).rejects.toMatchObject(denied);
  for (const name of ['admin-bert', 'gives-edit']) await server.client.roleBindings.delete({ namespace: 'default', name });
});

test('to attach from the start needs the right to read the log, too', async () => {
  const key = { namespace: 'default', name: 'attacher' };
  const right = (resource: string, verb: string) => ({ apiGroups: [''], resources: [resource], verbs: [verb] });
  await server.client.roles.create({ metadata: key, rules: [right('pods/attach', 'create')] });
  await server.client.roleBindings.create({
    metadata: key,
    roleRef: { kind: 'Role', name: key.name },
    subjects: [{ kind: 'User', name: 'anna' }],
  });
  const anna = as('anna');
  const attach = (fromStart: boolean) =>
    anna.pods
      .attach({ ...key, fromStart }, {})
      .output()
      [Symbol.asyncIterator]()
      .next();
  await expect(attach(false)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(attach(true)).rejects.toMatchObject({ ...denied, message: expect.stringContaining('pods/log') });
  await server.client.roles.update({ metadata: key, rules: [right('pods/attach', 'create'), right('pods/log', 'get')] });
  await expect.poll(() => attach(true).catch(({ code }) => code)).toBe('NOT_FOUND');
  await server.client.roleBindings.delete(key);
  await server.client.roles.delete(key);
});

test('an aggregated role gets the rules of what has its label, and loses them', async () => {
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
  const rules = [{ apiGroups: ['example.com'], resources: ['toys'], verbs: ['get'] }];
  await server.client.clusterRoles.create({ metadata: { name: 'toys', labels }, rules });
  const adminRules = async () => (await server.client.clusterRoles.get({ name: 'admin' })).rules;
  await expect.poll(adminRules).toContainEqual(rules[0]);
  await server.client.clusterRoles.delete({ name: 'toys' });
  await expect.poll(adminRules).not.toContainEqual(rules[0]);
});

describe('on the command line', () => {
  test('auth whoami, and as another user', async () => {
    expect((await shell.berth('auth', 'whoami')).out).toBe(
      'ATTRIBUTE   VALUE\nUsername    admin\nGroups      [system:masters system:authenticated]\n',
    );
    const { out } = await shell.berth('auth', 'whoami', '--as', 'ännä, b', '--as-group', 'dev,x', '--as-group=ops', '-o', 'json');
    expect(JSON.parse(out).status.userInfo).toEqual({ username: 'ännä, b', groups: ['dev,x', 'ops', 'system:authenticated'] });
    const account = await shell.berth('auth', 'whoami', '--as=system:serviceaccount:default:default', '-o', 'yaml');
    expect(account.out).toContain('- system:serviceaccounts:default');
    const named = await shell.berth('auth', 'whoami', '--as=jane', '-o', 'jsonpath={.status.userInfo.username}');
    expect(named.out).toBe('jane');
    const missing = await shell.berth('auth', 'whoami', '--as=system:serviceaccount:default:bot-x');
    expect(missing.err).toContain(
      'there is no service account default/bot-x; make it with "berth create serviceaccount bot-x -n default"',
    );
  });

  test('auth can-i', async () => {
    const ask = (...words: string[]) => shell.berth('auth', 'can-i', ...words);
    expect(await ask('delete', 'pods')).toEqual({ code: 0, out: 'yes\n', err: '' });
    expect(await ask('delete', 'pods', '--as=carla')).toEqual({ code: 1, out: 'no\n', err: '' });
    expect(await ask('delete', 'pods', '--as=carla', '-q')).toEqual({ code: 1, out: '', err: '' });
    expect((await ask('get', '/apis', '--as=carla')).out).toBe('yes\n');
    await shell.berth('create', 'clusterrole', 'logs', '--verb=get', '--resource=po/log,leases', '--resource-name=web');
    await shell.berth('create', 'rolebinding', 'logs', '--clusterrole=logs', '--group=helpers');
    const carla = ['--as=carla', '--as-group=helpers'];
    expect((await ask('get', 'pod/web', '--subresource=log', ...carla)).out).toBe('yes\n');
    expect((await ask('get', 'po/db', '--subresource=log', ...carla)).code).toBe(1);
    expect((await ask('get', 'leases.coordination.k8s.io/web', ...carla)).out).toBe('yes\n');
    expect((await ask('get', 'pod/web', '--subresource=log', '-A', ...carla)).code).toBe(1);
    const { out } = await ask('--list', ...carla);
    expect(out).toMatch(/^RESOURCES +NON-RESOURCE URLS +RESOURCE NAMES +VERBS\n/);
    expect(out).toMatch(/^pods\/log +\[\] +\[web\] +\[get\]$/m);
    expect(out).toMatch(/^ +\[\/apis\] +\[\] +\[get\]$/m);
    expect((await ask('frobnicate', 'toys')).err).toContain('Warning: "frobnicate" is no verb');
    expect((await ask('get')).err).toContain('error: say what: can-i VERB RESOURCE[/NAME], or can-i --list\n');
  });

  test('impersonation needs to be allowed', async () => {
    const { address, ca } = server.info;
    const bert = connect({ address, ca, token: 'token-of-bert', impersonate: { user: 'admin', groups: ['system:masters'] } });
    clients.push(bert);
    await expect(bert.secrets.list({})).rejects.toMatchObject({
      ...denied,
      message: expect.stringContaining('user "bert" cannot impersonate users'),
    });
    expect((await shell.berth('get', 'pods', '--as-group=x')).err).toBe('error: --as-group needs a user as well: --as USER\n');
    expect((await shell.berth('get', 'pods', '--as=anna')).err).toContain(
      'user "anna" cannot list pods in the namespace "default"',
    );
  });

  test('create role and rolebinding say what is missing', async () => {
    const err = async (...words: string[]) => (await shell.berth('create', ...words)).err;
    expect(await err('role', 'r', '--resource=pods')).toContain('say what may be done: --verb');
    expect(await err('role', 'r', '--verb=get')).toContain('say with what: --resource');
    expect(await err('role', 'r', '--verb=get', '--resource=toys')).toContain('no resource "toys"');
    expect(await err('rolebinding', 'b', '--user=x')).toContain('either --role=NAME or --clusterrole=NAME');
    expect(await err('clusterrolebinding', 'b', '--clusterrole=view', '--serviceaccount=x')).toContain('NAMESPACE:NAME');
  });
});

describe('create user', () => {
  test('makes a certificate, a role and a context that is ready to use', async () => {
    const made = await shell.berth('create', 'user', 'dora', '--clusterrole=view', '--group=ops', '--expires=2h');
    expect(made).toEqual({
      code: 0,
      out: 'user dora created, with the role view in the namespace default\ntry it: berth --context dora get pods\n',
      err: '',
    });
    expect((await shell.berth('auth', 'whoami', '--context', 'dora')).out).toContain('[ops system:authenticated]');
    expect((await shell.berth('get', 'configmaps', '--context', 'dora')).code).toBe(0);
    expect((await shell.berth('delete', 'configmaps', 'x', '--context', 'dora')).err).toBe(
      'error: user "dora" cannot delete configmaps in the namespace "default": no role allows it; berth auth can-i --list shows what you may do\n',
    );
    expect((await shell.berth('create', 'user', 'dora')).err).toContain('has a context "dora"');
  });

  test('writes a file to take away, readable by its owner only', async () => {
    const file = join(shell.folder, 'eve.config');
    const made = await shell.berth('create', 'user', 'eve', '--clusterrole=view', '-A', `--file=${file}`);
    expect(made.out).toContain(`with the cluster role view everywhere\ntry it: BERTH_CONFIG=${file} berth get pods\n`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const own = process.env.BERTH_CONFIG;
    process.env.BERTH_CONFIG = file;
    expect((await shell.berth('get', 'pods', '-A')).code).toBe(0);
    process.env.BERTH_CONFIG = own;
  });

  test.each([
    [['root', '--group=system:masters'], 'no request may ask for a certificate of the group system:masters'],
    [['system:kube-scheduler'], `"system:kube-scheduler" is a name of the system's own`],
    [['x', '--clusterrole=view', '--as=anna'], 'user "anna" cannot create rolebindings'],
    [['x', '--expires=5s'], 'good for 10 minutes at least'],
    [['x', '-A'], '-A gives a cluster role everywhere'],
    [['x', '--role=a', '--clusterrole=b'], 'give either --role or --clusterrole'],
  ])('refuses %j', async (words, why) => {
    const { code, err } = await shell.berth('create', 'user', ...words);
    expect(code).toBe(1);
    expect(err).toContain(why);
  });

  test('approving for a signer must be allowed for that signer', async () => {
    await shell.berth('create', 'clusterrole', 'approvers', '--verb=get,create,update,patch', '--resource=csr,csr/approval');
    await shell.berth('create', 'clusterrolebinding', 'approvers', '--clusterrole=approvers', '--user=frank');
    const { err } = await shell.berth('create', 'user', 'grace', '--as=frank');
    expect(err).toContain('user "frank" cannot approve signers');
  });
});

describe('service accounts', () => {
  test('have tokens that end with them, also on a connection that is open', async () => {
    expect((await shell.berth('create', 'serviceaccount', 'bot')).out).toBe('serviceaccount/bot created\n');
    await shell.berth('create', 'rolebinding', 'bot', '--clusterrole=view', '--serviceaccount=default:bot');
    const { out } = await shell.berth('create', 'token', 'bot', '--duration=10m');
    const { address, ca } = server.info;
    const bot = connect({ address, ca, token: out.trim() });
    clients.push(bot);
    expect((await bot.reviews.whoAmI()).groups).toContain('system:serviceaccounts:default');
    expect((await bot.configMaps.list({ namespace: 'default' })).items).toEqual([]);
    await expect(bot.secrets.list({ namespace: 'default' })).rejects.toMatchObject(denied);
    await server.client.serviceAccounts.delete({ namespace: 'default', name: 'bot' });
    await expect(bot.reviews.whoAmI()).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringContaining('the service account "default/bot" that it is of does not exist any more'),
    });
  });

  test('are refused with the token of a pod that is gone, and with one for another audience', async () => {
    await shell.berth('create', 'sa', 'web');
    const containers = [{ name: 'main', image: 'x' }];
    await server.client.pods.create({
      metadata: { namespace: 'default', name: 'web' },
      spec: { serviceAccountName: 'web', containers },
    });
    const { out } = await shell.berth('create', 'token', 'web', '--bound-object-kind=Pod', '--bound-object-name=web');
    const { address, ca } = server.info;
    const web = connect({ address, ca, token: out.trim() });
    clients.push(web);
    expect((await web.reviews.whoAmI()).username).toBe('system:serviceaccount:default:web');
    await server.client.pods.delete({ namespace: 'default', name: 'web' }, { gracePeriodSeconds: 0 });
    await expect.poll(() => web.reviews.whoAmI().catch((error: unknown) => error)).toMatchObject({ code: 'UNAUTHENTICATED' });
    const vault = (await shell.berth('create', 'token', 'web', '--audience=vault')).out.trim();
    const other = connect({ address, ca, token: vault });
    clients.push(other);
    await expect(other.reviews.whoAmI()).rejects.toMatchObject({ message: expect.stringContaining('it is for vault') });
    expect((await shell.berth('create', 'token', 'none')).err).toContain('serviceaccount "none"');
    expect((await shell.berth('create', 'token', 'web', '--duration=1m')).err).toContain('must be between 600 and 2592000');
  });

  test('are told apart for others by TokenReviews, and asked about in one namespace only', async () => {
    await shell.berth('create', 'sa', 'asker');
    await server.client.pods.create({
      metadata: { namespace: 'default', name: 'asking' },
      spec: { serviceAccountName: 'asker', containers: [{ name: 'main', image: 'x' }] },
    });
    const pod = await server.client.pods.get({ namespace: 'default', name: 'asking' });
    const bound = { kind: 'Pod', name: 'asking' };
    const account = { namespace: 'default', name: 'asker' };
    const make = async (audiences: string[]) =>
      (await server.client.serviceAccounts.createToken(account, { audiences, boundObjectRef: bound })).token!;
    const [vault, own] = [await make(['vault', 'bank']), await make([])];
    const { reviews } = server.client;
    const user = {
      username: 'system:serviceaccount:default:asker',
      uid: (await server.client.serviceAccounts.get(account)).metadata?.uid,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      extra: {
        'authentication.kubernetes.io/credential-id': { items: [expect.stringMatching(/^JTI=/)] },
        'authentication.kubernetes.io/pod-name': { items: ['asking'] },
        'authentication.kubernetes.io/pod-uid': { items: [pod.metadata?.uid] },
      },
    };
    expect(await reviews.token({ token: vault, audiences: ['vault', 'x'] })).toEqual({
      authenticated: true,
      audiences: ['vault'],
      user,
    });
    expect(await reviews.token({ token: own })).toMatchObject({ authenticated: true, user: { username: user.username } });
    expect(await reviews.token({ token: 'token-of-anna' })).toMatchObject({ authenticated: true, user: { username: 'anna' } });
    const refused = async (token: string, audiences: string[], why: string) =>
      expect(await reviews.token({ token, audiences })).toEqual({ authenticated: false, error: expect.stringContaining(why) });
    await refused(vault, [], 'it is for vault, bank, not for the API server');
    await refused(own, ['vault'], 'not for vault');
    await refused(`${own.slice(0, -8)}AAAAAAAA`, [], 'its signature is wrong');
    await refused('token-of-anna', ['vault'], 'not known to this server');
    await refused('nobody', [], 'not known to this server');
    await expect(reviews.token({})).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(as('anna').reviews.token({ token: own })).rejects.toMatchObject(denied);

    const question = { user: 'bert', resourceAttributes: { namespace: 'default', verb: 'get', resource: 'pods' } };
    await shell.berth('create', 'rolebinding', 'admin-anna', '--clusterrole=admin', '--user=anna');
    expect(await as('anna').reviews.canIn('default', question)).toMatchObject({ allowed: false, reason: '' });
    await expect(as('anna').reviews.canIn('kube-system', question)).rejects.toMatchObject(denied);
    await expect(as('anna').reviews.can(question)).rejects.toMatchObject(denied);
    const elsewhere = { ...question, resourceAttributes: { ...question.resourceAttributes, namespace: 'kube-system' } };
    await expect(as('anna').reviews.canIn('default', elsewhere)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('must match metadata.namespace'),
    });
    await server.client.roleBindings.delete({ namespace: 'default', name: 'admin-anna' });
  });
});
