import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { type Client, connect } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';
import { attackHttp2, attackTls, message } from './attacker.ts';

// What tenants can take from others by not reading what they ask for.

let metrics: MetricsRegistry;
const MiB = 1024 * 1024;
let server: RunningServer;
const sessions: ClientHttp2Session[] = [];
const clients: Client[] = [];

/** "greedy" and "grasping" may edit in the namespace team, "modest" in the namespace default. */
beforeAll(async () => {
  const first = await startServer();
  await first.stop();
  const file = join(first.dataDir, 'pki', 'tokens');
  const users = ['greedy', 'grasping', 'modest'].map((user) => formatToken(`token-of-${user}`, { user, groups: [] }));
  await writeFile(file, (await readFile(file, 'utf8')) + users.join(''));
  metrics = new MetricsRegistry();
  server = await startServer({
    dataDir: first.dataDir,
    metrics,
    tls: { minVersion: '1.2' },
    answerLimits: { bytes: 12 * MiB, userBytes: 4 * MiB, userSmall: 50, takeMs: 1_000 },
    // Tenants have 4.5 MiB, which two lists fill; no answer is cut off while a test runs.
    listLimits: { maxBytes: 12 * MiB, waitMs: 60_000, firstWaitMs: 2_000, takeMs: 60_000 },
  });
  const { namespaces, configMaps, roleBindings, serviceAccounts } = server.client;
  await namespaces.create({ metadata: { name: 'team' } });
  const bind = (namespace: string, name: string) =>
    roleBindings.create({
      metadata: { namespace, name },
      roleRef: { kind: 'ClusterRole', name: 'edit' },
      subjects: [{ kind: 'User', name }],
    });
  for (const name of ['greedy', 'grasping']) await bind('team', name);
  await bind('default', 'modest');
  await serviceAccounts.create({ metadata: { namespace: 'team', name: 'puppet' } });
  await roleBindings.create({
    metadata: { namespace: 'team', name: 'accounts' },
    roleRef: { kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'Group', name: 'system:serviceaccounts:team' }],
  });
  for (const namespace of ['default', 'team']) {
    const data = { large: 'x'.repeat(900_000) };
    for (const name of ['large', 'larger']) await configMaps.create({ metadata: { namespace, name }, data });
    await configMaps.create({ metadata: { namespace, name: 'small' }, data: { small: 'x'.repeat(5_000) } });
  }
  await issueNodeCredentials(server.dataDir, 'n1');
});
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  for (const client of clients.splice(0)) client.close();
  await expect.poll(() => held('answer') + held('list'), { timeout: 10_000 }).toBe(0);
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const value = (sample: string): number => {
  const line = formatMetrics(metrics, 'prometheus')
    .split('\n')
    .find((each) => each.startsWith(`${sample} `));
  return Number(line?.slice(sample.length + 1) ?? 0);
};
const held = (what: 'answer' | 'list') => value(`berth_apiserver_${what}_bytes{priority_level="tenants"}`);
const refusals = () => value('apiserver_flowcontrol_rejected_requests_total{priority_level="tenants",reason="answers"}');

/** A connection on which little of an answer can be sent. */
async function openUnread(pair: { cert?: string; key?: string } = {}): Promise<ClientHttp2Session> {
  const { address, ca } = server.info;
  const session = connectHttp2(`https://${address}`, { ca, ...pair, settings: { initialWindowSize: 1_000 } });
  session.setMaxListeners(0);
  session.on('error', () => {});
  sessions.push(session);
  await once(session, 'remoteSettings');
  return session;
}

/** Asks and reads nothing of the answer. */
function ask(
  session: ClientHttp2Session,
  user: string | undefined,
  request: { path: string; body: Buffer; as?: string },
): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': request.path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(user && { authorization: `Bearer token-of-${user}` }),
    ...(request.as && { 'impersonate-user': request.as }),
  });
  stream.on('error', () => {});
  stream.end(message(request.body));
  return stream;
}

/** The headers of the answer, in which a refusal stands. */
async function get(session: ClientHttp2Session, user: string, name: string, as?: string): Promise<IncomingHttpHeaders> {
  const body = encodeMessage('berth.meta.v1.GetRequest', { namespace: 'team', name });
  const [headers] = await once(
    ask(session, user, { path: '/berth.core.v1.ConfigMaps/Get', body, ...(as && { as }) }),
    'response',
  );
  return headers;
}
const isRefused = (headers: IncomingHttpHeaders): boolean => headers['grpc-status'] === '8';
const reasonOf = (headers?: IncomingHttpHeaders): string => decodeURIComponent(String(headers?.['grpc-message']));

function as(token: string): Client {
  const { address, ca } = server.info;
  const client = connect({ address, ca, token });
  clients.push(client);
  return client;
}

async function node(): Promise<Client> {
  const { address, ca } = server.info;
  const client = connect({ address, ca, ...(await readPair(server.dataDir, 'node-n1')) });
  clients.push(client);
  return client;
}

describe('answers that an editor of a namespace asks for and does not read', () => {
  it('are bounded, those of the accounts that it acts as with its own; all others are answered', async () => {
    const session = await openUnread();
    const before = refusals();
    const puppet = 'system:serviceaccount:team:puppet';
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => get(session, 'greedy', 'large', i % 2 === 0 ? puppet : undefined)),
    );
    const refused = answers.filter(isRefused);
    // Four of 900 KB fit; a cut-off one may have made room meanwhile.
    expect(refused.length).toBeGreaterThan(20);
    expect(reasonOf(refused[0])).toMatch(
      /user "greedy" has answers of \d+ bytes on their way .*\(priority level "tenants"\): read them/,
    );
    expect(held('answer')).toBeLessThanOrEqual(4 * MiB);
    expect(refusals() - before).toBe(refused.length);
    const others = [server.client, as('token-of-modest')];
    for (const client of others)
      expect((await client.configMaps.get({ namespace: 'default', name: 'large' })).data?.large).toHaveLength(900_000);
    expect((await (await node()).storageClasses.get({ name: 'local-path' })).metadata?.name).toBe('local-path');
    const itself = as('token-of-greedy');
    expect((await itself.configMaps.get({ namespace: 'team', name: 'large' })).data?.large).toHaveLength(900_000);
  });

  it('are bounded for all tokens of all service accounts of the namespace together', async () => {
    const { serviceAccounts } = as('token-of-greedy');
    const tokens: string[] = [];
    for (let i = 0; i < 4; i++) {
      const at = { namespace: 'team', name: `made-${i}` };
      await serviceAccounts.create({ metadata: at });
      tokens.push((await serviceAccounts.createToken(at, {})).token ?? '');
    }
    const session = await openUnread();
    const body = encodeMessage('berth.meta.v1.GetRequest', { namespace: 'team', name: 'large' });
    const headers = {
      ':method': 'POST',
      ':path': '/berth.core.v1.ConfigMaps/Get',
      'content-type': 'application/grpc',
      te: 'trailers',
    };
    const answers = await Promise.all(
      Array.from({ length: 24 }, async (_, i) => {
        const stream = session.request({ ...headers, authorization: `Bearer ${tokens[i % 4]}` });
        stream.on('error', () => {});
        stream.end(message(body));
        return (await once(stream, 'response'))[0] as IncomingHttpHeaders;
      }),
    );
    expect(held('answer')).toBeLessThanOrEqual(4 * MiB);
    expect(reasonOf(answers.find(isRefused))).toContain('namespace "team" (all its service accounts) has answers of');
  });

  it('are bounded by their number where they are small', async () => {
    const session = await openUnread();
    const answers = await Promise.all(Array.from({ length: 120 }, () => get(session, 'greedy', 'small')));
    expect(answers.filter(isRefused).length).toBe(70);
    expect((await as('token-of-modest').configMaps.get({ namespace: 'default', name: 'small' })).metadata?.name).toBe('small');
  });

  it('are not asked for in the name of an account that there is not', async () => {
    const session = await openUnread();
    const answer = await get(session, 'greedy', 'small', 'system:serviceaccount:team:nobody');
    expect(answer['grpc-status']).toBe('7');
    expect(reasonOf(answer)).toContain('there is no service account team/nobody');
    const unauthorized = await get(session, 'greedy', 'small', 'system:serviceaccount:default:nobody');
    expect(reasonOf(unauthorized)).toContain('cannot impersonate serviceaccounts');
    // A controller makes it a moment after its namespace.
    expect(isRefused(await get(session, 'greedy', 'small', 'system:serviceaccount:team:default'))).toBe(false);
  });
});

it('two readers of a namespace that fill the room for lists make neither administrators nor nodes wait, and other tenants for a moment', async () => {
  const list = (session: ClientHttp2Session, kind: string, namespace: string, user?: string): ClientHttp2Stream => {
    const body = encodeMessage('berth.meta.v1.ObjectListRequest', { kind: { kind }, namespace, accept: 'json' });
    return ask(session, user, { path: '/berth.meta.v1.Objects/List', body });
  };
  const session = await openUnread();
  const waiting = () => value('berth_apiserver_lists_waiting{priority_level="tenants"}');
  for (let i = 0; i < 4; i++) for (const user of ['greedy', 'grasping']) list(session, 'ConfigMap', 'team', user);
  await expect.poll(() => held('list')).toBeGreaterThan(2 * MiB);
  await expect.poll(waiting).toBe(6);
  const served: string[] = [];
  const serve = async (who: string, stream: ClientHttp2Stream) => {
    const [headers] = await once(stream, 'response');
    expect(headers['grpc-status']).toBeUndefined();
    served.push(who);
  };
  const modest = serve('modest', list(await openUnread(), 'ConfigMap', 'default', 'modest'));
  await expect.poll(waiting).toBe(7);
  await serve('admin', list(await openUnread(await readPair(server.dataDir, 'admin')), 'ConfigMap', 'team'));
  await serve('node', list(await openUnread(await readPair(server.dataDir, 'node-n1')), 'StorageClass', ''));
  await modest;
  expect(served).toEqual(['admin', 'node', 'modest']);
});

it('speaks TLS 1.2 when it is allowed, with forward secret ciphers only and without renegotiation', async () => {
  const { address } = server.info;
  const attacker = await attackHttp2(address, { maxVersion: 'TLSv1.2' });
  expect(attacker.socket.getProtocol()).toBe('TLSv1.2');
  expect(attacker.socket.getCipher().name).toMatch(/^ECDHE-ECDSA-(AES\d+-GCM|CHACHA20)/);
  attacker.socket.renegotiate({}, () => {});
  await attacker.ended();
  expect(attacker.error?.message).toContain('no renegotiation');
  await expect(attackTls(address, { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA:ECDHE-ECDSA-AES128-SHA' })).rejects.toThrow();
  await expect(attackTls(address, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })).rejects.toThrow();
});
