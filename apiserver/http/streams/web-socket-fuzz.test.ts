import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { effort } from '../../../test/chaos/effort.ts';
import { type Chance, createChance } from '../../../test/chaos/random.ts';
import { usedMiB } from '../../../test/fakes/used-memory.ts';
import { Upgrade } from './upgrade.ts';
import { openWebSocketCommand } from './web-socket-command.ts';

const inputs = effort(5_000, 100_000);
const together = 50;
const maxGrowthMiB = 8;
const protocols = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'base64.channel.k8s.io',
];
const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

let server: Server;
const running = new Set<Promise<void>>();
const faults: unknown[] = [];
const tally = { frames: 0, opened: 0 };

beforeAll(async () => {
  server = createServer();
  server.on('upgrade', (request, socket, head) => {
    const serving = serve(request, socket as Socket, head).catch((error: unknown) => {
      if ((error as { code?: string }).code !== 'CANCELLED') faults.push(error);
    });
    running.add(serving);
    void serving.then(() => running.delete(serving));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => server.close());

/** A command that takes all of its input, answers it, and ends with it. */
async function serve(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
  const upgrade = new Upgrade(request, socket, head);
  const streams = { stdin: true, stdout: true, stderr: true, tty: false };
  const peer = await openWebSocketCommand(upgrade, streams, new AbortController().signal);
  tally.opened++;
  for await (const frame of peer.input) {
    tally.frames++;
    await peer.send('stdout', frame.subarray(0, 100));
  }
  peer.end({ status: { status: 'Success' }, text: '' });
}

const bytesOf = (chance: Chance, length: number): Buffer => Buffer.from(Array.from({ length }, () => chance.below(256)));

/** A frame of a client, which masks what it sends. */
function masked(
  opcode: number,
  payload: Buffer,
  { isLast = true, reserved = 0, length = payload.length, mask = true } = {},
): Buffer {
  const first = (isLast ? 0x80 : 0) | (reserved << 4) | opcode;
  const flag = mask ? 0x80 : 0;
  let head = Buffer.from([first, flag | length]);
  if (length > 65_535) {
    head = Buffer.alloc(10);
    head.writeUInt16BE((first << 8) | flag | 127);
    head.writeBigUInt64BE(BigInt(length), 2);
  } else if (length > 125) {
    head = Buffer.alloc(4);
    head.writeUInt16BE((first << 8) | flag | 126);
    head.writeUInt16BE(length, 2);
  }
  // The mask is zero: the bytes are as they are.
  return Buffer.concat([head, mask ? Buffer.alloc(4) : Buffer.alloc(0), payload]);
}

function messageOf(chance: Chance): Buffer {
  const rest = chance.pick([
    bytesOf(chance, chance.below(300)),
    Buffer.alloc(70_000, 'x'),
    Buffer.from('{"Width":80,"Height":24}'),
  ]);
  return Buffer.concat([Buffer.from([chance.pick([0, 0, 0, 1, 3, 4, 255, 48, 52, 200])]), rest]);
}

/** What a client that means well sends. */
const inputOf = (chance: Chance): Buffer => masked(opcodes.binary, Buffer.from(`\0${'x'.repeat(1 + chance.below(200))}`));

function frameOf(chance: Chance): Buffer {
  const payload = chance.below(8) === 0 ? Buffer.alloc(0) : messageOf(chance);
  switch (chance.below(14)) {
    case 0:
      return masked(chance.pick([opcodes.close, opcodes.ping, opcodes.pong]), payload.subarray(0, 120));
    case 1:
      return masked(opcodes.binary, payload, { isLast: false });
    case 2:
      return masked(opcodes.more, payload, { isLast: chance.below(2) === 0 });
    case 3:
      return masked(chance.below(16), payload.subarray(0, 120), { reserved: chance.below(8) });
    case 4:
      return masked(opcodes.binary, payload, { length: chance.pick([70_000, 2 ** 20, 2 ** 20 + 1, 2 ** 31, 2 ** 52]) });
    case 5:
      return masked(opcodes.binary, payload, { mask: false });
    case 6:
      return bytesOf(chance, chance.below(60));
    default:
      return masked(chance.below(3) === 0 ? opcodes.text : opcodes.binary, payload);
  }
}

/** One client: a handshake, most of them good, and frames, some damaged; then it is gone, or ends its side. */
async function converse(chance: Chance): Promise<void> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const key = chance.below(20) === 0 ? 'bad' : 'dGhlIHNhbXBsZSBub25jZQ==';
  const lines = ['GET /exec HTTP/1.1', 'Host: door', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
  const offered = [`Sec-WebSocket-Key: ${key}`, `Sec-WebSocket-Protocol: ${chance.pick(protocols)}`];
  const began = Array.from({ length: chance.below(6) }, () => inputOf(chance));
  let all = Buffer.concat([...began, ...Array.from({ length: 1 + chance.below(10) }, () => frameOf(chance))]);
  if (chance.below(3) === 0 && all.length > 0) all[chance.below(all.length)] = chance.below(256);
  if (chance.below(5) === 0) all = all.subarray(0, chance.below(all.length + 1));
  const at = chance.below(all.length + 1);
  socket.write(`${[...lines, ...offered].join('\r\n')}\r\n\r\n`);
  socket.write(all.subarray(0, at));
  await new Promise(setImmediate);
  const rest = all.subarray(at);
  if (chance.below(3) === 0) socket.write(rest, () => socket.destroy());
  else socket.end(rest);
  await closed;
}

it(
  `${inputs} clients that send anything over a WebSocket are all answered or ended: no crash, no hang, no growth`,
  async () => {
    const chance = createChance('web socket');
    const wave = (): Promise<unknown> => Promise.all(Array.from({ length: together }, () => converse(chance)));
    for (let count = 0; count < 1_000; count += together) await wave();
    await Promise.all(running);
    const before = await usedMiB();
    for (let count = 0; count < inputs; count += together) await wave();
    // Commands end with their clients.
    await Promise.all(running);
    expect(faults).toEqual([]);
    expect((await usedMiB()) - before, 'growth in MiB').toBeLessThan(maxGrowthMiB);
    // Most handshakes were good, and most clients had something to say.
    expect(tally.opened).toBeGreaterThan(inputs / 2);
    expect(tally.frames).toBeGreaterThan(inputs / 2);
  },
  effort(120_000, 3_600_000),
);
