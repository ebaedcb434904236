import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { type Client, connect, followLogs } from '../../client/index.ts';
import { image, isRunning, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

// The real server and a real agent over real connections; containers in memory, ports on this machine.
let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
let pods: Client['pods'];
let id: string;
const key = { namespace: 'default', name: 'web' };
const opened = new Set<{ close(): unknown }>();

beforeAll(async () => {
  server = await startServer();
  pods = server.client.pods;
  machine = await startMachine();
  agent = startAgent(server, machine, 'n1');
  await until('node', () => server.client.nodes.get({ name: 'n1' }).catch(() => undefined));
  // With the machine's own network a port of the pod is a port of this test.
  const containers = [{ name: 'app', image, command: ['sleep', '1000'], stdin: true }];
  await pods.create({ metadata: key, spec: { nodeName: 'n1', hostNetwork: true, containers } });
  await podWhere(server.client, 'web', isRunning);
  id = machine.fake.container('web', 'app').id;
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

async function listen(onConnection: (socket: Socket) => void): Promise<number> {
  const listener: Server = createServer({ allowHalfOpen: true }, onConnection).listen(0, '127.0.0.1');
  opened.add(listener);
  await once(listener, 'listening');
  return (listener.address() as { port: number }).port;
}

async function text(pieces: AsyncIterable<Buffer>): Promise<string> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

describe('a Pods.Attach stream', () => {
  it('carries input and output of a container', async () => {
    const stream = pods.attach(key, { stdin: true });
    await stream.write(Buffer.from('hello'));
    stream.closeInput();
    let output = '';
    for await (const { data } of stream.output()) output += data;
    expect(output).toBe('hello');
  });

  it('from the start brings what was written before, of a container that has ended too, and says so', async () => {
    const ended = { namespace: 'default', name: 'ended' };
    const containers = [{ name: 'app', image, command: ['true'] }];
    await pods.create({ metadata: ended, spec: { nodeName: 'n1', restartPolicy: 'Never', containers } });
    await podWhere(server.client, 'ended', isRunning);
    const { id: endedId } = machine.fake.container('ended', 'app');
    machine.fake.writeLog(endedId, 'same');
    machine.fake.writeLog(endedId, 'same');
    machine.fake.exit(endedId, 0);
    await podWhere(server.client, 'ended', ({ status }) => status?.phase === 'Succeeded');
    const stream = pods.attach({ ...ended, fromStart: true }, {});
    let output = '';
    for await (const { data } of stream.output()) output += data;
    expect({ output, whole: stream.isFromStart() }).toEqual({ output: 'same\nsame\n', whole: true });

    const now = pods.attach(ended, {});
    await expect(now.output()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ message: /is not running/ });
    expect(now.isFromStart()).toBe(false);
  });

  it('to an unknown container fails and lists the existing containers', async () => {
    await expect(pods.attach(key, { container: 'db' }).output()[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('choose one of app'),
    });
  });
});

describe('a Pods.PortForward stream', () => {
  it('carries both directions with independent half-closes', async () => {
    const port = await listen((socket) => {
      // Answers only when the other side has said all, and then says more.
      const heard: Buffer[] = [];
      socket.on('data', (data) => heard.push(data as Buffer));
      socket.on('end', () => socket.end(`heard ${Buffer.concat(heard)}`));
    });
    const stream = pods.portForward(key, port);
    await stream.write(Buffer.from('one '));
    await stream.write(Buffer.from('two'));
    stream.end();
    expect(await text(stream.output())).toBe('heard one two');
    await until('the call is over', () => stream.closed.aborted);
  });

  it('lets the client keep sending after the pod has half-closed', async () => {
    let heard = '';
    const port = await listen((socket) => {
      socket.end('bye');
      socket.on('data', (data) => (heard += data));
    });
    const stream = pods.portForward(key, port);
    expect(await text(stream.output())).toBe('bye');
    await stream.write(Buffer.from('still here'));
    stream.end();
    await until('what was sent afterwards', () => heard === 'still here');
    await until('the call is over', () => stream.closed.aborted);
  });

  it('fails when nothing listens on the port', async () => {
    const port = await listen(() => {});
    for (const each of opened) each.close();
    await expect(text(pods.portForward(key, port).output())).rejects.toMatchObject({
      message: `connect to port ${port} of pod "web": connection refused; nothing listens on it`,
    });
  });

  it('rejects port 0', async () => {
    await expect(text(pods.portForward(key, 0).output())).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('applies back-pressure to the pod while the client does not read, without losing bytes', async () => {
    const total = 64 * 1024 * 1024;
    const chunk = Buffer.alloc(64 * 1024);
    let sent = 0;
    const port = await listen((socket) => {
      const send = (): void => {
        while (sent < total) {
          sent += chunk.length;
          if (!socket.write(chunk)) return void socket.once('drain', send);
        }
        socket.end();
      };
      send();
    });
    const output = pods.portForward(key, port).output()[Symbol.asyncIterator]();
    let received = (await output.next()).value?.length ?? 0;
    // Stands still: the same after many turns of everything else.
    await until('the pod is held back', async () => {
      const before = sent;
      for (let call = 0; call < 50; call++) await pods.get(key);
      return sent === before;
    });
    expect(sent).toBeLessThan(total / 4);
    for (let next = await output.next(); !next.done; next = await output.next()) received += next.value.length;
    expect(received).toBe(total);
  });
});

describe('files', () => {
  it('are written completely and read back with their metadata', async () => {
    const pieces = Array.from({ length: 200 }, (_, i) => Buffer.alloc(16 * 1024, i));
    await pods.writeFiles(
      key,
      { path: '/data' },
      (async function* () {
        yield* pieces;
      })(),
    );
    const files = pods.readFiles(key, { path: '/data' });
    const all: Buffer[] = [];
    for await (const piece of files) all.push(piece);
    expect(Buffer.concat(all).equals(Buffer.concat(pieces))).toBe(true);
    expect(await pods.stat(key, { path: '/data' })).toMatchObject({ name: 'data', mode: 0o644, type: 'file' });
  });

  it('that do not exist are NOT_FOUND', async () => {
    await expect(pods.stat(key, { path: '/nothing' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'no such file or directory: /nothing',
    });
  });

  it('are not written when the client aborts the upload', async () => {
    const broken = (async function* () {
      yield Buffer.alloc(100);
      throw new Error('the disk cannot be read');
    })();
    await expect(pods.writeFiles(key, { path: '/half' }, broken)).rejects.toThrow('the disk cannot be read');
    await expect(pods.stat(key, { path: '/half' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('make way when the pod is to go', async () => {
    const containers = [{ name: 'app', image, command: ['sleep', '1000'] }];
    const other = { namespace: 'default', name: 'going' };
    await pods.create({ metadata: other, spec: { nodeName: 'n1', containers } });
    await podWhere(server.client, 'going', isRunning);
    // The archive never ends.
    const endless = (async function* () {
      yield Buffer.alloc(100);
      await new Promise(() => {});
    })();
    const copying = pods.writeFiles(other, { path: '/data' }, endless);
    copying.catch(() => {});
    await until('the copy has begun', () => machine.fake.callsOf('files').some(({ target }) => target.includes('going')));
    const release = machine.fake.hold('stop');
    await pods.delete(other);
    await expect(copying).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('being deleted') });
    release();
  });
});

describe('logs', () => {
  const lines = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `line ${from + i}\n`).join('');

  it('followed resume after a restart of the agent without a gap', async () => {
    for (let i = 0; i < 50; i++) machine.fake.writeLog(id, `line ${i}`, new Date(Date.UTC(2026, 0, 1) + i));
    const lost: unknown[] = [];
    const log = followLogs(pods, key, {}, { onLost: (error) => lost.push(error) });
    let output = '';
    const readLines = async (count: number): Promise<void> => {
      while (output.split('\n').length <= count) {
        const next = await log.next();
        if (next.done) throw new Error(`the log ended after ${output}`);
        output += next.value;
      }
    };
    await readLines(50);
    await agent.stop();
    for (let i = 50; i < 80; i++) machine.fake.writeLog(id, `line ${i}`, new Date(Date.UTC(2026, 0, 1) + i));
    agent = startAgent(server, machine, 'n1');
    await readLines(80);
    await log.return(undefined);
    expect(output).toBe(lines(80));
    expect(lost).toHaveLength(1);
  });

  it('apply back-pressure to the node while the client does not read', async () => {
    for (let i = 0; i < 3_000; i++) machine.fake.writeLog(id, 'x'.repeat(10_000));
    const log = pods.logs(key, { follow: true })[Symbol.asyncIterator]();
    await log.next();
    const reads = () => machine.fake.logReads;
    await until('the node is held back', async () => {
      const before = reads();
      for (let call = 0; call < 50; call++) await pods.get(key);
      return reads() === before;
    });
    expect(reads()).toBeLessThan(1_000);
    await log.return?.();
  });
});

describe('a node', () => {
  it('may not open streams to pods', async () => {
    await issueNodeCredentials(server.dataDir, 'n2');
    const node = connect({ ...server.admin, ...(await readPair(server.dataDir, 'node-n2')) });
    opened.add(node);
    const first = <T>(stream: AsyncIterable<T>) => stream[Symbol.asyncIterator]().next();
    const calls = [
      first(node.pods.logs(key)),
      first(node.pods.exec(key, { command: ['true'] }).output()),
      first(node.pods.attach(key, {}).output()),
      first(node.pods.portForward(key, 80).output()),
      node.pods.stat(key, { path: '/' }),
      node.pods.writeFiles(key, { path: '/' }, (async function* () {})()),
    ];
    for (const call of await Promise.allSettled(calls))
      expect(call).toMatchObject({ status: 'rejected', reason: { code: 'PERMISSION_DENIED' } });
  });
});
