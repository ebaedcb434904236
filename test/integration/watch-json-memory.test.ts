import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { afterEach, expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { message } from './attacker.ts';
import { heldBytes, killProcess, startServerProcess } from './server-process.ts';

const MiB = 1024 * 1024;
const OBJECTS = 1_500;
const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A watch of all objects of a kind as JSON, from the present on; resolves when it has shown the present. */
async function watchAsJson(session: ClientHttp2Session, kind: string): Promise<void> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/berth.meta.v1.Objects/Watch',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => {});
  const options = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
  stream.end(message(encodeMessage('berth.meta.v1.ObjectListRequest', { kind: { kind }, accept: 'json', options })));
  let last = '';
  await new Promise<void>((resolve) => {
    stream.on('data', (chunk: Buffer) => {
      last = (last + chunk.toString('latin1')).slice(-500);
      if (last.includes('initial-events-end')) resolve();
    });
  });
}

async function open({ admin }: RunningServer): Promise<ClientHttp2Session> {
  const { address, ca, cert, key } = admin as { address: string; ca: string; cert: string; key: string };
  const session = connectHttp2(`https://${address}`, { ca, cert, key });
  session.on('error', () => {});
  await once(session, 'connect');
  return session;
}

it('keeps little of what was encoded for JSON watches while they go on, and nothing after the last of them', async () => {
  const seed = await startServer({ backend: 'lmdb' });
  cleanups.push(seed.remove);
  await seed.stop();
  const server = await startServerProcess(seed.dataDir, seed.info.address);
  cleanups.push(() => killProcess(server));
  const { configMaps, close } = connect(seed.admin);
  cleanups.push(close);
  await expect
    .poll(
      () =>
        configMaps.list({ limit: 1 }).then(
          () => true,
          () => false,
        ),
      { timeout: 20_000 },
    )
    .toBe(true);
  const data = { text: 'x'.repeat(24 * 1024) };
  for (let i = 0; i < OBJECTS; i += 100) {
    const names = Array.from({ length: 100 }, (_, j) => `large-${i + j}`);
    await Promise.all(names.map((name) => configMaps.create({ metadata: { namespace: 'default', name }, data })));
  }
  const first = await open(seed);
  await watchAsJson(first, 'Secret');
  const before = await heldBytes(server);
  for (let i = 0; i < 3; i++) await watchAsJson(first, 'ConfigMap');
  const during = await heldBytes(server);
  first.destroy();
  const held = () => heldBytes(server).then((bytes) => Math.round((bytes - before) / MiB));
  await expect.poll(held, { timeout: 20_000, interval: 500 }).toBeLessThanOrEqual(4);
  // All of it would take 36 MiB.
  expect(Math.round((during - before) / MiB)).toBeLessThan(16);
}, 180_000);
