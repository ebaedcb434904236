import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { standsStill } from '../fakes/stands-still.ts';
import { image, isRunning, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { assertOpen, dialSpdy, type SpdyClient } from './spdy-client.ts';

// Clients of exec that read nothing, stop in the middle, or vanish: what the container and the server notice of it.
let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
const path = '/api/v1/namespaces/default/pods/one/exec?stdin=1&stdout=1&stderr=1&command=x';
const opened = new Set<{ close(): unknown }>();

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  machine = await startMachine();
  agent = startAgent(server, machine, 'n1');
  await until('node', () => server.client.nodes.get({ name: 'n1' }).catch(() => undefined));
  const containers = [{ name: 'app', image, command: ['sleep', '1000'] }];
  await server.client.pods.create({ metadata: { namespace: 'default', name: 'one' }, spec: { nodeName: 'n1', containers } });
  await podWhere(server.client, 'one', isRunning);
});
afterEach(() => {
  for (const each of opened) each.close();
  opened.clear();
});
afterAll(async () => {
  await agent.stop();
  await server.stop();
  await machine.remove();
  await server.remove();
});

async function spdy(): Promise<SpdyClient> {
  const dialed = await dialSpdy(server, path);
  assertOpen(dialed);
  opened.add(dialed);
  return dialed;
}

async function webSocket(): Promise<WebSocket> {
  const { ca, cert, key } = server.admin;
  const ws = new WebSocket(`wss://${server.info.kubernetes}${path}`, 'v5.channel.k8s.io', { ca, cert, key });
  opened.add({ close: () => ws.terminate() });
  ws.on('error', () => {});
  await once(ws, 'open');
  return ws;
}

const usedMiB = (): number => {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 / 1024;
};

/** A client whose connection is not read, and one that sends as long as it is taken. */
interface Client {
  stopReading(): void;
  send(bytes: Buffer): Promise<void>;
  vanish(): void;
}

const clients: [string, () => Promise<Client>][] = [
  [
    'SPDY',
    async () => {
      const client = await spdy();
      const { stdin } = await client.openAll('error', 'stdin', 'stdout', 'stderr');
      const write = async (bytes: Buffer): Promise<void> => {
        stdin.write(bytes);
        if (client.way.writableNeedDrain) await once(client.way, 'drain');
      };
      return { stopReading: () => client.pauseReading(), send: write, vanish: () => client.close() };
    },
  ],
  [
    'a WebSocket',
    async () => {
      const ws = await webSocket();
      const send = (bytes: Buffer): Promise<void> =>
        new Promise((resolve) => ws.send(Buffer.concat([Buffer.from([0]), bytes]), () => resolve()));
      return { stopReading: () => ws.pause(), send, vanish: () => ws.terminate() };
    },
  ],
];

it.each(clients)('a client over %s that reads nothing stops the container, which goes on when it is gone', async (_, open) => {
  let pieces = 0;
  let closed = 0;
  const piece = Buffer.alloc(32 * 1024);
  machine.fake.onExec(() => ({
    get flood() {
      pieces++;
      return piece;
    },
    closed: () => void closed++,
  }));
  const client = await open();
  client.stopReading();
  // The container writes until every buffer on the way is full, and then no more.
  await until('the container writes', () => pieces > 0);
  await standsStill('pieces of the container', () => pieces);
  expect((pieces * piece.length) / 1024 / 1024, 'MiB that were written').toBeLessThan(64);
  client.vanish();
  await until('the session is closed', () => closed > 0);
});

it.each(clients)('input over %s that the container does not read stops the client, and costs no memory', async (_, open) => {
  let closed = 0;
  machine.fake.onExec(() => ({ echo: true, isDeaf: true, closed: () => void closed++ }));
  const client = await open();
  const before = usedMiB();
  let sent = 0;
  const sending = (async () => {
    for (; sent < 256; sent++) await client.send(Buffer.alloc(256 * 1024));
  })();
  await until('something is taken', () => sent > 0);
  await standsStill('pieces of the client', () => sent);
  expect(sent).toBeLessThan(256);
  expect(usedMiB() - before).toBeLessThan(64);
  // The server does not read from the connection, and yet learns that its client is gone.
  client.vanish();
  await until('the session is closed', () => closed > 0, 40_000);
  await Promise.race([sending, new Promise(setImmediate)]);
});

it('a client of SPDY that opens no streams is told nothing, and its command ends with it', async () => {
  let closed = 0;
  machine.fake.onExec(() => ({ echo: true, closed: () => void closed++ }));
  const client = await spdy();
  await client.openAll('error', 'stdin');
  client.close();
  await until('the session is closed', () => closed > 0);
});

it('a handshake that stops in the middle is ended', async () => {
  const [host, port] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  const socket: Duplex = connectTls({ host, port: Number(port), ca, cert, key });
  await once(socket, 'secureConnect');
  socket.write(`POST ${path} HTTP/1.1\r\nHost: door\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n`);
  socket.on('error', () => {});
  socket.resume();
  await once(socket, 'close');
});
