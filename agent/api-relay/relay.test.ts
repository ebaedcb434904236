import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { defaultRelayLimits, type Refusal, type RelayLimits, startRelay } from './relay.ts';

const ending: (() => void)[] = [];
afterEach(() => {
  for (const end of ending.splice(0)) end();
});

/** The connections that arrive at a server behind a relay, and a way to make one. */
async function open(limits: Partial<RelayLimits> = {}, { port = 0, isAllowed = (): boolean => true } = {}) {
  const arrived: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    arrived.push(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const refused: Refusal[] = [];
  const to = { host: '127.0.0.1', port: port || portOf(server) };
  const clock = { now: 0 };
  const relay = await startRelay({
    ...{ address: '127.0.0.1', isAllowed, now: () => clock.now, limits: { ...defaultRelayLimits, ...limits } },
    targets: [() => to, () => undefined, () => to],
    onRefused: (reason) => refused.push(reason),
  });
  ending.push(
    () => relay.close(),
    () => server.close(),
    () => {
      for (const each of arrived) each.destroy();
    },
  );
  const dial = (from?: string): Client => new Client(relay.ports[0]!, from);
  /** A client, and the other end of its connection. */
  const pair = async (from?: string) => {
    const count = arrived.length;
    const client = dial(from);
    await expect.poll(() => arrived.length).toBe(count + 1);
    return { client, server: arrived[count]! };
  };
  return { arrived, relay, refused, clock, dial, pair };
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

class Client {
  readonly socket: Socket;
  text = '';
  /** "ended" in order, or the code of an error. */
  how: string | undefined;

  constructor(port: number, from = '127.0.0.1') {
    this.socket = connect({ port, host: '127.0.0.1', localAddress: from, allowHalfOpen: true });
    this.socket.on('data', (bytes) => {
      this.text += String(bytes);
    });
    this.socket.on('end', () => {
      this.how ??= 'ended';
    });
    this.socket.on('error', (error: NodeJS.ErrnoException) => {
      this.how ??= error.code ?? 'error';
    });
    ending.push(() => this.socket.destroy());
  }
}

describe('the relay to the API server', () => {
  it('passes bytes on in both directions, and the end of each by itself', async () => {
    const { pair, relay } = await open();
    const { client, server } = await pair();
    let heard = '';
    server.on('data', (bytes) => {
      heard += String(bytes);
    });
    client.socket.end('question');
    await once(server, 'end');
    expect(heard).toBe('question');
    expect(client.how).toBeUndefined();
    server.write('answer ');
    await expect.poll(() => client.text).toBe('answer ');
    server.end('and end');
    await expect.poll(() => client.how).toBe('ended');
    expect(client.text).toBe('answer and end');
    await expect.poll(() => relay.open()).toBe(0);
  });

  it('does not lose what is under way when a side has sent its last and reads slowly', async () => {
    const { pair, relay } = await open();
    const { client, server } = await pair();
    const size = 8 * 1024 * 1024;
    server.end(Buffer.alloc(size, 'x'));
    client.socket.end();
    server.resume();
    client.socket.pause();
    await delay(200);
    client.socket.resume();
    await expect.poll(() => client.text.length, { timeout: 5_000 }).toBe(size);
    await expect.poll(() => relay.open()).toBe(0);
  });

  it('reads no faster than the other side', async () => {
    const { pair } = await open();
    const { client, server } = await pair();
    server.pause();
    const chunk = Buffer.alloc(1024 * 1024);
    for (let i = 0; i < 64; i++) client.socket.write(chunk);
    await delay(500);
    // What the kernel's buffers of both connections take is passed on; the rest stays with the client.
    expect(client.socket.writableLength).toBeGreaterThan(32 * chunk.length);
    let heard = 0;
    server.on('data', (bytes: Buffer) => {
      heard += bytes.length;
    });
    server.resume();
    await expect.poll(() => heard, { timeout: 5_000 }).toBe(64 * chunk.length);
  });

  it('resets one side when the other was reset', async () => {
    const { pair, relay } = await open();
    const first = await pair();
    first.server.resetAndDestroy();
    await expect.poll(() => first.client.how).toBe('ECONNRESET');
    const second = await pair();
    let error = '';
    second.server.on('error', ({ code }: NodeJS.ErrnoException) => {
      error = code ?? '';
    });
    second.server.resume();
    second.client.socket.resetAndDestroy();
    await expect.poll(() => error).toBe('ECONNRESET');
    await expect.poll(() => relay.open()).toBe(0);
  });

  it('refuses connections of one address above its bound, and has a place again when one is closed', async () => {
    const { pair, dial, refused, relay } = await open({ maxConnectionsPerSource: 2 });
    const { client } = await pair();
    await pair();
    const third = dial();
    await expect.poll(() => third.how).toBe('ECONNRESET');
    expect(refused).toEqual(['source-limit']);
    client.socket.resetAndDestroy();
    await expect.poll(() => relay.open()).toBe(1);
    await pair();
    expect(refused).toHaveLength(1);
  });

  it('refuses connections above the bound of all, and those that come too fast', async () => {
    const full = await open({ maxConnections: 1 });
    await full.pair();
    const second = full.dial();
    await expect.poll(() => second.how).toBe('ECONNRESET');
    expect(full.refused).toEqual(['limit']);
    for (const limits of [
      { perSecond: 1, burst: 2 },
      { perSecondPerSource: 1, burstPerSource: 2 },
    ]) {
      const { pair, dial, clock, refused } = await open(limits);
      await pair();
      await pair();
      const third = dial();
      await expect.poll(() => third.how).toBe('ECONNRESET');
      clock.now += 1_000;
      await pair();
      expect(refused).toEqual(['rate']);
    }
  });

  it('cuts the newest connection of the address with the most for one that has none, when all places are taken', async () => {
    const { pair, dial, refused, relay } = await open({ maxConnections: 3 });
    const many = [await pair(), await pair(), await pair()];
    await pair('127.0.0.2');
    await expect.poll(() => many.map(({ client }) => client.how)).toEqual([undefined, undefined, 'ECONNRESET']);
    await expect.poll(() => relay.open()).toBe(3);
    const further = dial();
    await expect.poll(() => further.how).toBe('ECONNRESET');
    expect(refused).toEqual(['cut', 'limit']);
  });

  it('refuses addresses that are not allowed, and tells the server nothing of them', async () => {
    const { dial, arrived, refused } = await open({}, { isAllowed: () => false });
    const client = dial();
    await expect.poll(() => client.how).toBe('ECONNRESET');
    expect([arrived.length, refused]).toEqual([0, ['source']]);
  });

  it('resets clients while the server refuses connections', async () => {
    const { relay, dial, refused } = await open({}, { port: await freePort() });
    const client = dial();
    await expect.poll(() => client.how).toBe('ECONNRESET');
    expect(refused).toEqual(['server']);
    await expect.poll(() => relay.open()).toBe(0);
  });

  it('resets clients when the server does not accept them in time', async () => {
    const { relay, dial, refused } = await open({ dialMs: 200 }, { port: await standingServer() });
    const client = dial();
    await expect.poll(() => client.how).toBe('ECONNRESET');
    expect(refused).toEqual(['server']);
    await expect.poll(() => relay.open()).toBe(0);
  });

  it('closes a connection of which one side has ended and the other is silent', async () => {
    const { pair, relay } = await open({ halfClosedMs: 100 });
    const { client, server } = await pair();
    server.resume();
    client.socket.end();
    await expect.poll(() => client.how).toBe('ECONNRESET');
    await expect.poll(() => relay.open()).toBe(0);
  });

  it('has both halves of a silent connection checked by the kernel', async () => {
    const { pair, relay } = await open();
    const { client, server } = await pair();
    const ports = [client.socket.localPort, server.remotePort];
    client.socket.write('x');
    await once(server, 'data');
    await expect
      .poll(() => [keepAlive(relay.ports[0]!, ports[0]!), keepAlive(ports[1]!, server.localPort!)])
      .toEqual([true, true]);
  });

  it('ends everything when it is closed', async () => {
    const { pair, relay, dial } = await open();
    const { client } = await pair();
    relay.close();
    await relay.ended;
    await expect.poll(() => client.how).toBe('ECONNRESET');
    const late = dial();
    await expect.poll(() => late.how).toBe('ECONNREFUSED');
  });

  it('refuses connections to a server whose address is not known', async () => {
    const { relay, refused, arrived } = await open();
    const client = new Client(relay.ports[1]!);
    await expect.poll(() => client.how).toBe('ECONNRESET');
    expect([refused, arrived, relay.open()]).toEqual([['server'], [], 0]);
  });

  it('bounds the connections to all servers together', async () => {
    const { relay, refused, pair } = await open({ maxConnectionsPerSource: 1 });
    const { client } = await pair();
    const second = new Client(relay.ports[2]!);
    await expect.poll(() => second.how).toBe('ECONNRESET');
    expect(client.how).toBeUndefined();
    expect(refused).toEqual(['source-limit']);
  });

  it('says why it cannot bind', async () => {
    const options = { address: '192.0.2.1', targets: [() => ({ host: '127.0.0.1', port: 1 })], limits: defaultRelayLimits };
    await expect(startRelay({ ...options, isAllowed: () => true, now: () => 0, onRefused: () => {} })).rejects.toThrow(
      'EADDRNOTAVAIL',
    );
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return port;
}

/** A server that stands still and whose queue is full: the kernel does not answer further clients. */
async function standingServer(): Promise<number> {
  const program =
    'const s=require("net").createServer().listen({port:0,host:"127.0.0.1",backlog:1},()=>console.log(s.address().port))';
  const child: ChildProcess = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  ending.push(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout!, 'data');
  const port = Number(line);
  child.kill('SIGSTOP');
  await delay(50);
  for (let i = 0; i < 4; i++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    ending.push(() => socket.destroy());
  }
  await delay(50);
  return port;
}

/** Whether the kernel has a timer of keepalive for an established connection of this machine. */
function keepAlive(localPort: number, remotePort: number): boolean {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  const fields = lines.map((line) => line.trim().split(/\s+/));
  return fields.some(
    ([, local = '', remote = '', , , timer = '']) =>
      local.endsWith(`:${hex(localPort)}`) && remote.endsWith(`:${hex(remotePort)}`) && timer.startsWith('02:'),
  );
}
