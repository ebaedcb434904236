import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { askDoor, attackHttp1, charged, nothing, sumOf } from './door-attacker.ts';

// What calls of the HTTP door become when their connection ends, or their client does not go on.
const metrics = new MetricsRegistry();
const maps = '/api/v1/namespaces/default/configmaps';
const REQUESTS = 40;
let server: RunningServer;

beforeAll(async () => {
  server = await startServer({
    metrics,
    kubernetesListen: '127.0.0.1:0',
    keepalive: { timeMs: 300, timeoutMs: 300 },
    listenerLimits: { answerMs: 600 },
  });
  // Loads the code of the door.
  expect((await askDoor(server, maps)).code).toBe(200);
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

/**
 * A client in a thread of its own: says that it is connected, waits for the word, sends requests, and breaks its
 * connection; then the second number becomes 1.
 */
const brief = `
const { workerData: { address, tls, path, count, turns }, parentPort } = require('node:worker_threads');
const [host, port] = address.split(':');
const connection = require('node:net').connect({ host, port });
connection.on('error', () => {});
const socket = require('node:tls').connect({ ...tls, socket: connection, ALPNProtocols: ['h2'] });
socket.on('error', () => {});
const session = require('node:http2').connect('https://' + address, { createConnection: () => socket });
session.on('error', () => {});
session.once('remoteSettings', () => {
  parentPort.postMessage('connected');
  Atomics.wait(turns, 0, 0);
  for (let i = 0; i < count; i++) {
    const isWatch = i % 2 === 0;
    const stream = session.request({ ':method': isWatch ? 'GET' : 'POST', ':path': isWatch ? path + '?watch=1' : path });
    stream.on('error', () => {});
    // Of some the body never comes to its end.
    if (!isWatch) stream.write('{');
  }
  // Each is answered when it is read: the first write fails at once, the others never end.
  let pings = 0;
  const timer = setInterval(() => {
    if (pings++ < 5) return void session.ping(() => {});
    clearInterval(timer);
    // Without a farewell, which would end the calls.
    connection.resetAndDestroy();
  }, 20);
  connection.once('close', () => {
    Atomics.store(turns, 1, 1);
    Atomics.notify(turns, 1);
  });
});
`;

it('calls end with a connection that breaks before the busy server has read them', async () => {
  const { ca, cert, key } = server.admin;
  const turns = new Int32Array(new SharedArrayBuffer(8));
  const workerData = { address: server.info.kubernetes, tls: { ca, cert, key }, path: maps, count: REQUESTS, turns };
  const worker = new Worker(brief, { eval: true, workerData });
  await once(worker, 'message');
  const before = sumOf(metrics, 'apiserver_request_total');
  Atomics.store(turns, 0, 1);
  Atomics.notify(turns, 0);
  // The server is in this thread: it finds the requests only when their client is gone.
  expect(Atomics.wait(turns, 1, 0, 20_000)).not.toBe('timed-out');
  // All were read, so all have to end.
  await expect.poll(() => sumOf(metrics, 'apiserver_request_total') - before, { timeout: 20_000 }).toBe(REQUESTS);
  await expect.poll(() => charged(metrics), { timeout: 20_000 }).toEqual(nothing);
  await expect.poll(() => sumOf(metrics, 'berth_apiserver_connections{')).toBe(0);
  await worker.terminate();
});

it('a client that says nothing and answers pings keeps its watch', async () => {
  const { ca, cert, key } = server.admin;
  const session = connectHttp2(`https://${server.info.kubernetes}`, { ca: ca!, cert: cert!, key: key! });
  const watch = session.request({ ':path': `${maps}?watch=1` });
  let pings = 0;
  session.on('ping', () => pings++);
  watch.resume();
  await once(watch, 'response');
  await expect.poll(() => pings, { timeout: 20_000 }).toBeGreaterThan(3);
  expect([watch.closed, session.closed]).toEqual([false, false]);
  session.destroy();
});

it('a watch ends with its connection though many answers wait behind it', async () => {
  const attacker = await attackHttp1(server);
  const ask = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const before = sumOf(metrics, 'apiserver_request_total');
  const served = () => sumOf(metrics, 'apiserver_request_total') - before;
  // More bytes than Node keeps for a connection before it stops reading it, which it does with the next request.
  attacker.send(Buffer.from(`${ask(`${maps}?watch=1`)}${ask('/openapi/v3').repeat(9)}`));
  await expect.poll(served).toBe(9);
  attacker.send(Buffer.from(ask('/openapi/v3')));
  await expect.poll(served).toBe(10);
  expect(charged(metrics).streams).toBe(1);
  attacker.socket.destroy();
  await expect.poll(() => charged(metrics), { timeout: 20_000 }).toEqual(nothing);
});
