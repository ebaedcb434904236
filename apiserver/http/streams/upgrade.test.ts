import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, expect, it, vi } from 'vitest';
import { Upgrade } from './upgrade.ts';
import { WebSocketDoor } from './web-socket.ts';

afterEach(() => void vi.useRealTimers());

/** A connection whose client takes what is sent, or nothing. */
function connection({ takes = true } = {}): Socket {
  const write = (_chunk: Buffer, _encoding: string, done: () => void): void => void (takes && done());
  const way = new Duplex({ allowHalfOpen: false, read() {}, write, final: (done) => done() });
  return way as unknown as Socket;
}

function upgradeOn(socket: Socket): Upgrade {
  const request = new IncomingMessage(socket);
  Object.assign(request.headers, { upgrade: 'websocket', 'sec-websocket-version': '13' });
  request.method = 'GET';
  request.headers['sec-websocket-key'] = 'dGhlIHNhbXBsZSBub25jZQ==';
  return new Upgrade(request, socket, Buffer.alloc(0));
}

it('the answer to a client that has gone before its request was read is over', () => {
  const socket = connection();
  socket.destroy();
  expect(upgradeOn(socket).response.destroyed).toBe(true);
});

it('a client that does not take its refusal loses the connection after 30 s', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { socket, response } = upgradeOn(connection({ takes: false }));
  response.writeHead(400);
  response.end('no');
  vi.advanceTimersByTime(29_999);
  expect(socket.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(socket.destroyed).toBe(true);
});

it('a client that takes its refusal and does not end its side loses the connection after 1 s', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { socket, response } = upgradeOn(connection());
  const finished = new Promise((resolve) => response.once('finish', resolve));
  response.writeHead(400);
  response.end('no');
  await finished;
  expect(socket.destroyed).toBe(false);
  vi.advanceTimersByTime(1_000);
  expect(socket.destroyed).toBe(true);
});

it('a WebSocket is not opened for a client that has gone', async () => {
  const socket = connection();
  const upgrade = upgradeOn(socket);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.destroy();
  await closed;
  await expect(new WebSocketDoor(['x']).open(upgrade, '')).rejects.toMatchObject({ code: 'CANCELLED' });
});

it('a WebSocket whose client sends a message in thousands of pieces is ended', async () => {
  const socket = connection();
  const ws = await new WebSocketDoor(['x']).open(upgradeOn(socket), '');
  const closed = new Promise((resolve) => ws.once('close', resolve));
  ws.resume();
  const head = Buffer.alloc(14);
  head.writeUInt16BE(0x82ff);
  head.writeUInt32BE(1_000_000, 6);
  socket.push(head);
  for (let count = 0; count < 5_000 && !socket.destroyed; count++) {
    socket.push(Buffer.from('x'));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
});

it('a client that sends something before its request is answered, and goes, is known to have gone', async () => {
  const socket = connection();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const { response } = upgradeOn(socket);
  for (const piece of ['x', 'y'.repeat(100_000)]) socket.push(piece);
  socket.push(null);
  await closed;
  expect(response.destroyed).toBe(true);
});

it('what a client sends before its request is answered goes before what it sends afterwards', async () => {
  const socket = connection();
  const upgrade = upgradeOn(socket);
  socket.push('early ');
  await new Promise(setImmediate);
  socket.push('too ');
  await new Promise(setImmediate);
  const { head } = upgrade.take();
  expect(socket.listenerCount('data')).toBe(0);
  socket.push('late');
  expect(head.toString()).toBe('early too ');
  expect(await new Promise((resolve) => socket.once('data', resolve))).toEqual(Buffer.from('late'));
});

it('a client that sends more than 64 KiB before its request is granted loses the connection', async () => {
  const socket = connection();
  const upgrade = upgradeOn(socket);
  for (const piece of ['x'.repeat(60_000), 'y'.repeat(60_000), 'z']) socket.push(piece);
  await new Promise(setImmediate);
  const { head } = upgrade.take();
  expect([head.length, socket.destroyed]).toEqual([0, true]);
});
