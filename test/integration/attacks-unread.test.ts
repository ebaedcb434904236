import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { attackHttp2, attackTls, message } from './attacker.ts';

const metrics = new MetricsRegistry();
const MiB = 1024 * 1024;
let server: RunningServer;
const sessions: ClientHttp2Session[] = [];

beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-unread-'));
  await mkdir(join(dataDir, 'pki'), { mode: 0o700 });
  const line = (user: string) => `${createHash('sha256').update(`token-of-${user}`).digest('hex')},${user},system:masters\n`;
  await writeFile(join(dataDir, 'pki', 'tokens'), ['greedy', 'modest'].map(line).join(''), { mode: 0o600 });
  server = await startServer({
    dataDir,
    metrics,
    tls: { minVersion: '1.2' },
    answerLimits: { bytes: 8 * MiB, userBytes: 4 * MiB, takeMs: 1_000 },
  });
  const data = { large: 'x'.repeat(900_000) };
  await server.client.configMaps.create({ metadata: { namespace: 'default', name: 'large' }, data });
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  await server.stop();
  await server.remove();
});

const value = (sample: string): number => {
  const line = formatMetrics(metrics, 'prometheus')
    .split('\n')
    .find((each) => each.startsWith(`${sample} `));
  return Number(line?.slice(sample.length + 1) ?? 0);
};

/** Asks and reads nothing of the answer; the headers of it, in which a refusal stands. */
async function askWithoutReading(session: ClientHttp2Session, user: string): Promise<IncomingHttpHeaders> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/berth.core.v1.ConfigMaps/Get',
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer token-of-${user}`,
  });
  stream.on('error', () => {});
  stream.end(message(encodeMessage('berth.meta.v1.GetRequest', { namespace: 'default', name: 'large' })));
  const [headers] = await once(stream, 'response');
  return headers;
}

it('bounds the answers that a client asks for and does not read; others are answered, and so is he when they were cut off', async () => {
  const { address, ca } = server.info;
  const session = connectHttp2(`https://${address}`, { ca, settings: { initialWindowSize: 1_000 } });
  session.setMaxListeners(0);
  session.on('error', () => {});
  sessions.push(session);
  await once(session, 'remoteSettings');
  const answers = await Promise.all(Array.from({ length: 40 }, () => askWithoutReading(session, 'greedy')));
  const refused = answers.filter((headers) => headers['grpc-status'] === '8');
  // Four of 900 KB fit; a cut-off one may have made room meanwhile.
  expect(refused.length).toBeGreaterThan(20);
  expect(decodeURIComponent(String(refused[0]?.['grpc-message']))).toMatch(/user "greedy" has answers of \d+ bytes on their way/);
  expect(value('berth_apiserver_answer_bytes')).toBeLessThanOrEqual(4 * MiB);
  expect(value('apiserver_flowcontrol_rejected_requests_total{reason="answers"}')).toBe(refused.length);
  for (const user of ['modest', 'greedy']) {
    const client = connect({ address, ca, token: `token-of-${user}` });
    expect((await client.configMaps.get({ namespace: 'default', name: 'large' })).data?.large).toHaveLength(900_000);
    client.close();
  }
  await expect.poll(() => value('berth_apiserver_answer_bytes'), { timeout: 10_000 }).toBe(0);
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
