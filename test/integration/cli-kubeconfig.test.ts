import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { upsertContext } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// `berth kubeconfig`, and whether what it writes lets a client of Kubernetes in.
let server: RunningServer;
let line: CommandLine;
let home: string;
const env = { KUBECONFIG: process.env.KUBECONFIG, HOME: process.env.HOME };

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  line = await openCommandLine(server.admin);
  home = join(line.folder, 'home');
  process.env.HOME = home;
  delete process.env.KUBECONFIG;
});
afterAll(async () => {
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await line.close();
  await server.stop();
  await server.remove();
});

async function ok(...words: string[]): Promise<string> {
  const { code, out, err } = await line.berth(...words);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

async function refusal(...words: string[]): Promise<string> {
  const { code, out, err } = await line.berth(...words);
  expect([code, out]).toEqual([1, '']);
  return err;
}

const decode = (text: string | undefined): string | undefined => text && Buffer.from(text, 'base64').toString('utf8');

/** Who a client of Kubernetes is that uses the current context of a kubeconfig. */
async function whoIs(text: string): Promise<{ code: number | undefined; user: unknown }> {
  const file = parse(text);
  const { context } = file.contexts.find((each: { name: string }) => each.name === file['current-context']);
  const { cluster } = file.clusters.find((each: { name: string }) => each.name === context.cluster);
  const { user } = file.users.find((each: { name: string }) => each.name === context.user);
  const call = request(`${cluster.server}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
    method: 'POST',
    agent: false,
    ca: decode(cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
    headers: { 'content-type': 'application/json', ...(user.token ? { authorization: `Bearer ${user.token}` } : {}) },
  });
  call.end(JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  const json = JSON.parse(Buffer.concat(pieces).toString('utf8'));
  return { code: response.statusCode, user: json.status?.userInfo?.username };
}

it('prints one that lets the user of the context in, with a certificate or with a token', async () => {
  expect(await whoIs(await ok('kubeconfig'))).toEqual({ code: 201, user: 'admin' });
  const account = await server.client.serviceAccounts.create({ metadata: { name: 'robot', namespace: 'default' } });
  const { name } = account.metadata!;
  const token = (await ok('create', 'token', name!)).trim();
  await upsertContext({ name: 'robot', options: { address: server.admin.address, ca: server.admin.ca, token }, use: false });
  const robot = { code: 201, user: 'system:serviceaccount:default:robot' };
  expect(await whoIs(await ok('--context', 'robot', 'kubeconfig'))).toEqual(robot);
  expect(await whoIs(await ok('kubeconfig', '--user', 'robot'))).toEqual(robot);
  expect(parse(await ok('kubeconfig', '--user', 'robot', '-n', 'team')).contexts).toEqual([
    { name: 'robot', context: { cluster: 'robot', user: 'robot', namespace: 'team' } },
  ]);
});

it('has the certificates of files that the configuration names, and the path of a token', async () => {
  const pki = join(server.dataDir, 'pki');
  const path = join(line.folder, 'files');
  const token = join(line.folder, 'token');
  await writeFile(token, await readFile(join(pki, 'admin.token')), { mode: 0o600 });
  await writeFile(
    path,
    `clusters: [{name: c, cluster: {server: "https://${server.admin.address}", certificate-authority: ${pki}/ca.crt}}]
users: [{name: f, user: {client-certificate: ${pki}/admin.crt, client-key: ${pki}/admin.key}}, {name: t, user: {tokenFile: token}}]
contexts: [{name: x, context: {cluster: c, user: f}}]
current-context: x
`,
    { mode: 0o600 },
  );
  const before = process.env.BERTH_CONFIG;
  process.env.BERTH_CONFIG = path;
  try {
    expect(await whoIs(await ok('kubeconfig'))).toEqual({ code: 201, user: 'admin' });
    expect(parse(await ok('kubeconfig', '--user', 't')).users).toEqual([{ name: 't', user: { tokenFile: token } }]);
    expect(JSON.parse(await ok('config', 'view', '--flatten', '-o', 'json')).clusters[0].cluster).toEqual({
      server: `https://${server.admin.address}`,
      'certificate-authority-data': Buffer.from(server.info.ca).toString('base64'),
    });
  } finally {
    process.env.BERTH_CONFIG = before;
  }
});

it('merges into the file that kubectl reads, and says what to type', async () => {
  const file = join(home, '.kube', 'config');
  expect(await ok('kubeconfig', '--merge')).toBe(
    `context "here" written to ${file}; it is the context in use\ntry it: kubectl get nodes\n`,
  );
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await whoIs(await readFile(file, 'utf8'))).toEqual({ code: 201, user: 'admin' });
  const other = join(line.folder, 'other');
  process.env.KUBECONFIG = `${other}:${file}`;
  expect(await ok('kubeconfig', '--merge', '--name', 'far', '--server', 'https://far:6443/', '--keep-current')).toBe(
    `context "far" written to ${other}; the context in use is as before\ntry it: kubectl --context far get nodes\n`,
  );
  const clusters = async () => parse(await readFile(other, 'utf8')).clusters;
  // The certificate need not have the name that the user gave: it has this one.
  expect(await clusters()).toMatchObject([{ cluster: { server: 'https://far:6443', 'tls-server-name': 'kubernetes' } }]);
  await ok('kubeconfig', '--merge', '--name', 'far');
  expect((await clusters())[0].cluster).not.toHaveProperty('tls-server-name');
  delete process.env.KUBECONFIG;
});

it('writes a file of its own, but over no other contexts', async () => {
  const file = join(line.folder, 'alone');
  expect(await ok('kubeconfig', '-o', file)).toContain(`try it: kubectl --kubeconfig ${file} get nodes\n`);
  expect(await ok('kubeconfig', '-o', file)).toContain(`context "here" written to ${file}\n`);
  expect(await ok('kubeconfig', '-o', '-')).toBe(await readFile(file, 'utf8'));
  await ok('kubeconfig', '--merge', file, '--name', 'more');
  expect(await refusal('kubeconfig', '-o', file)).toContain(`${file} has other contexts; nothing was changed: --merge ${file}`);
});

it('changes nothing in a file that is broken', async () => {
  const file = join(line.folder, 'broken');
  await writeFile(file, 'clusters: [');
  expect(await refusal('kubeconfig', '--merge', file)).toMatch(
    /broken is no kubeconfig .*: line 1, column \d+: .*; nothing was changed/,
  );
  expect(await readFile(file, 'utf8')).toBe('clusters: [');
});

it.each([
  [['-o', 'x', '--merge'], '-o writes a file of its own and --merge adds to one: give one of them'],
  [['--keep-current'], '--keep-current is for --merge'],
  [['--server', 'far:6443'], '--server takes a URL, e.g. https://192.0.2.10:6443, not "far:6443"'],
  [['--user', 'none'], 'has no user "none" (known: here, robot)'],
  [['--as', 'joe'], '--as is not written into a kubeconfig'],
])('refuses %j', async (words, message) => {
  expect(await refusal('kubeconfig', ...words)).toContain(message);
});

it('proposes a command that a user may run who is no administrator', async () => {
  await ok('create', 'user', 'anna', '--clusterrole=view');
  const file = join(line.folder, 'annas');
  const tried = `try it: kubectl --kubeconfig ${file} get pods\n`;
  expect(await ok('--context', 'anna', 'kubeconfig', '-o', file)).toContain(tried);
  expect(await ok('--context', 'anna', 'kubeconfig', '--merge', file)).toContain(tried);
});

it('says so where the server does not serve kubectl', async () => {
  const off = await startServer();
  await upsertContext({ name: 'off', options: off.admin, use: false });
  expect(await refusal('--context', 'off', 'kubeconfig')).toContain(
    "the server does not serve Kubernetes' HTTP API: it runs with --kubernetes-listen off",
  );
  await off.stop();
  await off.remove();
});
