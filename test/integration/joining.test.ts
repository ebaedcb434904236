import { X509Certificate } from 'node:crypto';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { requestCertificate } from '../../agent/identity/request-certificate.ts';
import { bootstrapTokenSecret } from '../../api/kinds/secret/bootstrap-token.ts';
import { authorityHash } from '../../api/meta/authority.ts';
import { CertificateRefused } from '../../client/certificates/until-signed.ts';
import { type Client, type ConnectOptions, systemClock } from '../../client/index.ts';
import { meetServer } from '../../host/join/meet-server.ts';
import type { RunningServer } from './apiserver-harness.ts';
import { type JoinableServer, joinToken, joinTokenText, startJoinableServer } from './joining-harness.ts';

// From a token to a certificate of a node and its successor, with the real server and the real controllers.
let joinable: JoinableServer;
let server: RunningServer;
let admin: Client;
beforeAll(async () => {
  joinable = await startJoinableServer();
  server = joinable.server;
  admin = server.client;
}, 60_000);
afterAll(() => joinable.stop());

const client = (credentials: Partial<ConnectOptions>): Client => joinable.reach(credentials);
const withToken = (text = joinTokenText) => client({ token: text });
const askFor = (nodeName: string, as: Client) =>
  requestCertificate({
    client: as.resource('CertificateSigningRequest'),
    nodeName,
    clock: systemClock,
    signal: AbortSignal.timeout(20_000),
  });
const join = async (nodeName: string): Promise<Client> => {
  const { certificate: cert, key } = await askFor(nodeName, withToken());
  return client({ cert, key });
};
const refused = (call: Promise<unknown>): Promise<{ code?: string; message: string }> =>
  call.then(
    () => expect.unreachable('the call should have been refused'),
    (error) => error,
  );

describe('joining', () => {
  it('gives the bearer of a token a certificate for its own node only', async () => {
    const { certificate, key, serverVersion } = await askFor('n2', withToken());
    const facts = new X509Certificate(certificate);
    expect(facts.subject).toBe('O=system:nodes\nCN=system:node:n2');
    expect(facts.checkIssued(new X509Certificate(server.info.ca))).toBe(true);
    expect(Date.now() - Date.parse(facts.validFrom)).toBeGreaterThanOrEqual(5 * 60_000 - 1_000);
    expect(Date.parse(facts.validTo) - Date.now()).toBeLessThanOrEqual(365 * 24 * 3600_000);
    expect(serverVersion).toMatch(/^\d+\.\d+\.\d+/);
    const node = client({ cert: certificate, key });
    await node.nodes.create({ metadata: { name: 'n2' } });
    expect(await refused(node.nodes.create({ metadata: { name: 'n3' } }))).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('works several times with one token', async () => {
    await Promise.all([join('m1'), join('m2'), join('m3')]);
  });

  it('lets a node renew its own certificate, and no other', async () => {
    const node = await join('renewing');
    expect(new X509Certificate((await askFor('renewing', node)).certificate).subject).toContain('CN=system:node:renewing');
    const error = await refused(askFor('other', node));
    expect(error).toBeInstanceOf(CertificateRefused);
    expect(error.message).toContain('may renew its own certificate only');
  });

  it('is denied for the name of a live node until that is deleted', async () => {
    await admin.nodes.create({ metadata: { name: 'taken' } });
    const ready = { type: 'Ready', status: 'True', reason: 'r' };
    await admin.nodes.patch({ name: 'taken', subresource: 'status' }, { status: { conditions: [ready] } });
    expect((await refused(askFor('taken', withToken()))).message).toMatch(/has a node taken.*alive.*--node-name/);
    await admin.nodes.delete({ name: 'taken' });
    await join('taken');
  });

  it('permits the bearer of a token nothing else, on open connections too', async () => {
    const joining = withToken();
    await askFor('somebody', joining);
    for (const call of [
      () => joining.nodes.list(),
      () => joining.secrets.get({ namespace: 'kube-system', name: 'bootstrap-token-abcdef' }),
      () => joining.objects.get('Pod', { namespace: 'default', name: 'x' }),
      () => joining.resource('CertificateSigningRequest').list(),
      () => joining.configMaps.create({ metadata: { namespace: 'default', name: 'x' } }),
    ])
      expect(await refused(call())).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('is rejected at once with a deleted token, and with an expired one, which is removed', async () => {
    const own = (id: string, expiresAt?: number) => bootstrapTokenSecret({ ...joinToken, id, expiresAt });
    const at = { namespace: 'kube-system', name: 'bootstrap-token-gggggg' };
    await admin.secrets.create(own('gggggg'));
    const joining = withToken('gggggg.0123456789abcdef');
    await askFor('early', joining);
    await admin.secrets.delete(at);
    expect(await refused(askFor('late', joining))).toMatchObject({ code: 'UNAUTHENTICATED' });
    await admin.secrets.create(own('hhhhhh', Date.now() + 2_000));
    const gone = () => refused(admin.secrets.get({ ...at, name: 'bootstrap-token-hhhhhh' }));
    await vi.waitFor(async () => expect(await gone()).toMatchObject({ code: 'NOT_FOUND' }), { timeout: 15_000 });
  });

  it('is possible where the server that was meant answers, and says what is in the way elsewhere', async () => {
    const [host = '', port] = server.info.address.split(':');
    const endpoint = { host, port: Number(port) };
    const hash = authorityHash(new X509Certificate(server.info.ca));
    expect(await meetServer(endpoint, [hash], Date.now)).toMatchObject({ skew: undefined });
    const why = async (at = endpoint, hashes = [hash], now = Date.now) => (await refused(meetServer(at, hashes, now))).message;
    expect(await why(endpoint, [`sha256:${'0'.repeat(64)}`])).toMatch(new RegExp(`another cluster.*${hash}.*sha256:0000`));
    expect(await why(endpoint, [hash], () => Date.now() - 600_000)).toMatch(/clock is 10 minutes behind the server's/);
    expect(await why({ ...endpoint, port: 1 })).toMatch(/nothing listens at 127\.0\.0\.1, port 1/);
    const stranger = createServer((socket) => socket.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    expect(await why({ host, port: (stranger.address() as AddressInfo).port })).toMatch(/no Berth server/);
    stranger.close();
  });

  it('uses a renewed certificate on a new connection while open streams continue', async () => {
    let held = await askFor('swapping', withToken());
    // The signs of life of a connection must go on as well, once nothing new uses it.
    const keepalive = { timeMs: 100, timeoutMs: 5_000 };
    const node = client({ certificate: () => held, keepalive });
    await node.nodes.create({ metadata: { name: 'swapping' } });
    const seen: string[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      const scope = { fieldSelector: 'metadata.name=swapping' };
      for await (const events of node.nodes.watch(scope, { signal: stop.signal }))
        for (const { object } of events) seen.push(object.metadata?.labels?.step ?? '');
    })().catch((error: { code?: string }) => expect(error.code).toBe('CANCELLED'));
    await vi.waitFor(() => expect(seen).toContain(''), { timeout: 30_000 });
    held = await askFor('swapping', node);
    await node.nodes.patch({ name: 'swapping' }, { metadata: { labels: { step: 'renewed' } } });
    await vi.waitFor(() => expect(seen.at(-1)).toBe('renewed'), { timeout: 30_000 });
    const since = Date.now();
    await vi.waitFor(() => expect(Date.now() - since).toBeGreaterThan(5 * keepalive.timeMs), { timeout: 30_000 });
    await node.nodes.patch({ name: 'swapping' }, { metadata: { labels: { step: 'later' } } });
    await vi.waitFor(() => expect(seen.at(-1)).toBe('later'), { timeout: 30_000 });
    stop.abort();
    await watching;
  });

  it('ends when the certificate expires, on open connections too', async () => {
    const node = await join('aging');
    await node.nodes.create({ metadata: { name: 'aging' } });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 366 * 86_400_000 });
    try {
      const error = await refused(node.nodes.get({ name: 'aging' }));
      expect(error).toMatchObject({
        code: 'UNAUTHENTICATED',
        message: expect.stringContaining('"system:node:aging" expired on'),
      });
    } finally {
      vi.useRealTimers();
    }
    expect((await node.nodes.get({ name: 'aging' })).metadata?.name).toBe('aging');
  });
});
