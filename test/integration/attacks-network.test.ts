import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';
import {
  type Attacker,
  attackHttp2,
  attackTcp,
  attackTls,
  END_HEADERS,
  END_STREAM,
  frame,
  frames,
  message,
  requestHeaders,
} from './attacker.ts';

const soon = { timeMs: 1_000, bytes: 8 * 1024 * 1024 };
const metrics = new MetricsRegistry();
const lines: { readonly reason?: string; readonly msg: string }[] = [];
let server: RunningServer;
let address: string;
const attackers: Attacker[] = [];

beforeAll(async () => {
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  server = await startServer({
    log,
    metrics,
    listenerLimits: { handshakeMs: 3_000, prefaceMs: 3_000, unknownPerPeer: 50, rate: 10_000, burst: 10_000 },
    arrivalLimits: soon,
  });
  address = server.info.address;
  await server.client.namespaces.get({ name: 'default' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const GET = '/berth.core.v1.Namespaces/Get';
const CHECK = '/grpc.health.v1.Health/Check';

async function keep<T extends Attacker>(attacker: Promise<T>): Promise<T> {
  const kept = await attacker;
  attackers.push(kept);
  return kept;
}

function refused(reason: string): number {
  const start = `berth_apiserver_connections_refused_total{reason="${reason}"} `;
  const line = formatMetrics(metrics, 'prometheus')
    .split('\n')
    .find((each) => each.startsWith(start));
  return Number(line?.slice(start.length) ?? 0);
}

/** Waits for the attack's reason: counted, and told in one line of the log. */
async function expectReason(reason: string, times = 1): Promise<void> {
  await expect.poll(() => refused(reason), { timeout: 20_000 }).toBeGreaterThanOrEqual(times);
  expect(lines.filter((line) => line.reason === reason)).toHaveLength(1);
}

/** Carries out an attack while another client works, which must not notice: each of its calls is answered soon. */
async function unnoticed(attack: () => Promise<void>): Promise<void> {
  let isOver = false;
  const times: number[] = [];
  const work = async (): Promise<void> => {
    do {
      const beganAt = performance.now();
      await server.client.namespaces.get({ name: 'default' }, { timeoutMs: 10_000 });
      times.push(performance.now() - beganAt);
      await delay(5);
    } while (!isOver);
  };
  const working = work();
  try {
    await attack();
  } finally {
    isOver = true;
    await working;
    for (const each of attackers.splice(0)) each.socket.destroy();
  }
  // The attacker shares the thread; a server that is held up takes seconds.
  const sorted = times.sort((a, b) => a - b);
  expect(sorted[Math.floor(sorted.length * 0.99)]).toBeLessThan(1_500);
}

describe('a client that attacks the connection', () => {
  it('opens 300 connections and says nothing: the oldest of its own make room', () =>
    unnoticed(async () => {
      const all = await Promise.all(Array.from({ length: 300 }, () => keep(attackTcp(address))));
      await expectReason('peer-limit', 240);
      await expect.poll(() => all.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(50);
    }));

  it('never finishes its handshake', () =>
    unnoticed(async () => {
      const attacker = await keep(attackTcp(address));
      // The beginning of a ClientHello.
      attacker.send(Buffer.from([22, 3, 1, 2, 0, 1, 0]));
      await attacker.ended();
      await expectReason('handshake-timeout');
    }));

  it('falls silent after the handshake', () =>
    unnoticed(async () => {
      const attacker = await keep(attackTls(address));
      await attacker.ended();
      await expectReason('preface-timeout');
    }));

  it('sends what is no TLS', () =>
    unnoticed(async () => {
      const attacker = await keep(attackTcp(address));
      attacker.send(Buffer.alloc(2_000, 0xa5));
      await attacker.ended();
      await expectReason('tls');
    }));

  it('speaks HTTP without TLS, and gets an explanatory response', () =>
    unnoticed(async () => {
      const attacker = await keep(attackTcp(address));
      attacker.send(Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
      await attacker.ended();
      expect(attacker.text).toMatch(/^HTTP\/1\.1 400 Bad Request[\s\S]*gRPC over TLS/);
      await expectReason('plaintext');
    }));

  it('speaks HTTP/1.1 over TLS, and gets an explanatory response', () =>
    unnoticed(async () => {
      const attacker = await keep(attackTls(address, { ALPNProtocols: [] }));
      attacker.send(Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
      await attacker.ended();
      expect(attacker.text).toMatch(/^HTTP\/1\.1 400 Bad Request[\s\S]*gRPC over TLS/);
      await expectReason('not-http2');
    }));

  it('offers TLS 1.2 only', async () => {
    await expect(attackTls(address, { maxVersion: 'TLSv1.2' })).rejects.toThrow(/protocol version/);
    await expectReason('tls-version');
  });

  it('resumes a TLS session: it must authenticate again', async () => {
    const first = await keep(attackHttp2(address));
    const [session] = await once(first.socket, 'session');
    const second = await keep(attackHttp2(address, { session }));
    await expect.poll(() => second.heard.types).toContain(frames.settings);
    expect(second.socket.isSessionReused()).toBe(false);
    for (const each of attackers.splice(0)) each.socket.destroy();
  });
});

describe('a client that attacks HTTP/2', () => {
  it('sends garbage behind the handshake', () =>
    unnoticed(async () => {
      const attacker = await keep(attackTls(address));
      attacker.send(Buffer.alloc(4_000, 0xa5));
      await attacker.ended();
      await expectReason('protocol');
    }));

  it('opens 10,000 streams on one connection', () =>
    unnoticed(async () => {
      const attacker = await keep(attackHttp2(address));
      const headers = requestHeaders(GET);
      for (let i = 0; i < 10_000 && !attacker.closed; i += 100) {
        attacker.send(...Array.from({ length: 100 }, (_, j) => frame(frames.headers, END_HEADERS, 2 * (i + j) + 1, headers)));
        await delay(1);
      }
      await attacker.ended();
      expect(refused('flood')).toBeGreaterThan(0);
    }));

  it('opens and resets streams as fast as it can', () =>
    unnoticed(async () => {
      const attacker = await keep(attackHttp2(address));
      const headers = requestHeaders(GET);
      const cancel = Buffer.from([0, 0, 0, 8]);
      for (let id = 1; id < 20_000 && !attacker.closed; id += 200) {
        attacker.send(
          ...Array.from({ length: 100 }, (_, j) =>
            Buffer.concat([frame(frames.headers, END_HEADERS, id + 2 * j, headers), frame(frames.reset, 0, id + 2 * j, cancel)]),
          ),
        );
        await delay(1);
      }
      await attacker.ended();
      await expectReason('reset-flood');
    }));

  it.each([
    ['PING', frame(frames.ping, 0, 0, Buffer.alloc(8))],
    ['SETTINGS', frame(frames.settings, 0, 0)],
  ])('sends %s and reads no answer', (_, flood) =>
    unnoticed(async () => {
      const attacker = await keep(attackHttp2(address));
      const before = refused('flood');
      attacker.socket.pause();
      // Large pieces: on a busy machine, many small ones take longer than the deadline for the first request.
      const burst = Buffer.concat(Array.from({ length: 5_000 }, () => flood));
      for (let i = 0; i < 200 && !attacker.closed; i++) {
        attacker.send(burst);
        await delay(1);
      }
      await expect.poll(() => refused('flood')).toBeGreaterThan(before);
    }),
  );

  it('sends headers that never end', () =>
    unnoticed(async () => {
      const attacker = await keep(attackHttp2(address));
      attacker.send(frame(frames.headers, 0, 1, requestHeaders(GET)));
      for (let i = 0; i < 1_000 && !attacker.closed; i++) {
        attacker.send(frame(frames.continuation, 0, 1));
        await delay(1);
      }
      await attacker.ended();
    }));

  it('sends headers of a megabyte', () =>
    unnoticed(async () => {
      const attacker = await keep(attackHttp2(address));
      const block = requestHeaders(GET, { 'x-large': 'x'.repeat(1024 * 1024) });
      const pieces = Array.from({ length: Math.ceil(block.length / 16_384) }, (_, i) =>
        block.subarray(i * 16_384, (i + 1) * 16_384),
      );
      const [first, ...rest] = pieces;
      attacker.send(frame(frames.headers, END_STREAM, 1, first));
      for (const piece of rest.slice(0, -1)) attacker.send(frame(frames.continuation, 0, 1, piece));
      attacker.send(frame(frames.continuation, END_HEADERS, 1, rest.at(-1)));
      // COMPRESSION_ERROR; what follows is not read any more.
      await expect.poll(() => attacker.heard.goaway, { timeout: 10_000 }).toBe(9);
    }));
});

describe('a client that attacks with requests', () => {
  it('sends a byte a second', () =>
    unnoticed(async () => {
      const attacker = await keep(attackHttp2(address));
      attacker.send(frame(frames.headers, END_HEADERS, 1, requestHeaders(GET)));
      const [...bytes] = message(Buffer.alloc(50));
      for (const byte of bytes) {
        if (attacker.heard.types.includes(frames.reset)) break;
        attacker.send(frame(frames.data, 0, 1, Buffer.from([byte])));
        await delay(100);
      }
      await expectReason('request-timeout');
      await expect.poll(() => attacker.heard.resets).toEqual([11]);
    }));

  it('is not a client that keeps a health watch or a reflection stream open', async () => {
    const client = await keep(attackHttp2(address, await readPair(server.dataDir, 'admin')));
    const begin = (id: number, path: string, flags: number) =>
      client.send(
        frame(frames.headers, END_HEADERS, id, requestHeaders(path)),
        frame(frames.data, flags, id, message(Buffer.alloc(0))),
      );
    begin(1, '/grpc.health.v1.Health/Watch', END_STREAM);
    begin(3, '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', 0);
    await expect.poll(() => client.heard.types.filter((type) => type === frames.headers).length).toBe(2);
    // A request that never ends, begun after the two: once the server resets it, their time would be over as well.
    client.send(frame(frames.headers, END_HEADERS, 5, requestHeaders(GET)));
    await expect.poll(() => client.heard.resets.length, { timeout: 10_000 }).toBeGreaterThan(0);
    expect(client.heard.resets).toEqual([11]);
    for (const each of attackers.splice(0)) each.socket.destroy();
  });

  it('declares a message of 4 GB', () =>
    unnoticed(async () => {
      const attacker = await keep(attackHttp2(address));
      const headers = frame(frames.headers, END_HEADERS, 1, requestHeaders(GET));
      attacker.send(headers, frame(frames.data, 0, 1, message(Buffer.alloc(10), 0xffff_ffff)));
      await expect.poll(() => attacker.heard.types.filter((type) => type === frames.headers).length).toBeGreaterThan(0);
    }));

  it('begins many large messages and ends none: its connection is closed before they fill the memory', () =>
    unnoticed(async () => {
      const attacker = await keep(attackHttp2(address));
      const headers = requestHeaders(GET);
      const piece = Buffer.alloc(16_000);
      // Requests that take too long are ended one by one: on a slow machine the attacker begins new ones until it has
      // filled the room.
      for (let round = 0; round < 2_000 && !attacker.closed; round++) {
        const ids = Array.from({ length: 40 }, (_, i) => 80 * Math.floor(round / 40) + 2 * i + 1);
        if (round % 40 === 0) {
          attacker.send(...ids.map((id) => frame(frames.headers, END_HEADERS, id, headers)));
          attacker.send(...ids.map((id) => frame(frames.data, 0, id, message(piece, 4_000_000))));
        }
        attacker.send(...ids.map((id) => frame(frames.data, 0, id, piece)));
        await delay(5);
      }
      await attacker.ended();
      await expectReason('request-memory');
    }));

  it('floods the health service without credentials, which does not affect other clients', () =>
    unnoticed(async () => {
      const attacker = await keep(attackHttp2(address));
      const headers = requestHeaders(CHECK);
      for (let i = 0; i < 500; i += 50) {
        attacker.send(
          ...Array.from({ length: 50 }, (_, j) => {
            const id = 2 * (i + j) + 1;
            return Buffer.concat([
              frame(frames.headers, END_HEADERS, id, headers),
              frame(frames.data, END_STREAM, id, message(Buffer.alloc(0))),
            ]);
          }),
        );
        await delay(5);
      }
    }));
});
