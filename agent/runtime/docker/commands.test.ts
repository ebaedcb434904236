import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCommands } from './commands.ts';
import { socketPathOf } from './engine.ts';
import { createExecExits } from './exec-exits.ts';
import { killCommand } from './kill-command.ts';
import { answerReader, parseAnswer } from './lean-connection.ts';
import { createLeanEngine, isLean, type LeanEngine } from './lean-engine.ts';

/** What the engine of a test does with an exec: what it says, and its states, the last of which stays. */
interface Script {
  readonly output?: string;
  /** Whether its output stays open. */
  readonly open?: boolean;
  readonly states: readonly object[];
}

const running = { Running: true, ExitCode: null, Pid: 42 };
const notStarted = { Running: false, ExitCode: null, Pid: 0 };
const ended = (ExitCode: number) => ({ Running: false, ExitCode, Pid: 42 });

let folder: string;
let server: Server;
let engine: LeanEngine;
let script: Script;
let requests: string[];
let connections: number;
let sockets: Set<Socket>;
let looks: number;
/** Answers instead of the engine. */
let instead: ((request: string, socket: Socket) => boolean) | undefined;

function frame(text: string): Buffer {
  const head = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

function answer(socket: Socket, status: string, body: string): void {
  socket.write(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function serve(request: string, socket: Socket): void {
  const line = request.slice(0, request.indexOf('\r\n'));
  requests.push(line);
  if (instead?.(request, socket)) return;
  if (line.includes('/exec HTTP')) answer(socket, '201 Created', '{"Id":"e1"}');
  else if (line.includes('/start HTTP')) start(socket);
  else answer(socket, '200 OK', JSON.stringify(script.states[Math.min(looks++, script.states.length - 1)]));
}

function start(socket: Socket): void {
  socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n');
  if (script.output !== undefined) socket.write(frame(script.output));
  if (script.open !== true) socket.end();
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-lean-'));
  [requests, connections, sockets, looks, instead] = [[], 0, new Set(), 0, undefined];
  script = { states: [ended(0)] };
  server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => serve(String(data), socket));
  });
  const path = join(folder, 'engine.sock');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  engine = createLeanEngine({ socketPath: path, apiVersion: async () => '1.41' });
});
afterEach(() => {
  engine.close();
  for (const socket of sockets) socket.destroy();
  server.close();
  rmSync(folder, { recursive: true });
});

const never = new AbortController().signal;
const options = { timeoutMs: 10_000, maxBytes: 8 };

describe('a command in a container', () => {
  it('takes three calls, two of them over a kept connection, and gives output and exit code', async () => {
    script = { output: 'no such file', states: [ended(3)] };
    const commands = createCommands({ engine });
    for (let i = 0; i < 2; i++)
      expect(await commands.run('c1', ['cat'], options, never)).toEqual({ type: 'failed', exitCode: 3, output: 'no such ' });
    expect(requests.slice(0, 3)).toEqual([
      'POST /v1.41/containers/c1/exec HTTP/1.1',
      'POST /v1.41/exec/e1/start HTTP/1.1',
      'GET /v1.41/exec/e1/json HTTP/1.1',
    ]);
    expect(connections).toBe(3);
  });

  it('has ended as an event of the engine says, be it early or late; what came early is not asked about', async () => {
    script = { output: 'hm', states: [running] };
    const exits = createExecExits();
    const commands = createCommands({ engine, exits });
    const late = commands.run('c1', ['x'], options, never);
    await expect.poll(() => requests.length).toBe(2);
    exits.note('e1', 4);
    expect(await late).toEqual({ type: 'failed', exitCode: 4, output: 'hm' });
    requests = [];
    instead = (request) => {
      if (request.includes('/start HTTP')) exits.note('e1', 5);
      return false;
    };
    expect(await commands.run('c1', ['x'], options, never)).toEqual({ type: 'failed', exitCode: 5, output: 'hm' });
    expect(requests.filter((line) => line.startsWith('GET'))).toEqual([]);
  });

  it('waits for the exit that the engine notes a moment after the output', async () => {
    script = { states: [running, running, ended(0)] };
    expect(await createCommands({ engine }).run('c1', ['x'], options, never)).toEqual({ type: 'succeeded' });
  });

  it('that succeeds at once is over as soon as an event says so, whatever becomes of its output', async () => {
    script = { output: 'all is well', open: true, states: [running] };
    const exits = createExecExits();
    const commands = createCommands({ engine, exits });
    const result = commands.run('c1', ['x'], options, never);
    await expect.poll(() => requests.length).toBe(2);
    const [, attached] = [...sockets];
    exits.note('e1', 0);
    expect(await result).toEqual({ type: 'succeeded' });
    expect(requests).toHaveLength(2);
    await expect.poll(() => attached?.destroyed).toBe(true);
  });

  it('that fails while something else holds its output has failed when its time is over', async () => {
    script = { output: 'hm', open: true, states: [ended(3)] };
    const exits = createExecExits();
    // Before the time begins, however slow the machine is.
    instead = (request) => {
      if (request.includes('/start')) exits.note('e1', 3);
      return false;
    };
    const result = createCommands({ engine, exits }).run('c1', ['x'], { ...options, timeoutMs: 100 }, never);
    expect(await result).toEqual({ type: 'failed', exitCode: 3, output: 'hm' });
  });

  it('whose connection the engine closes is not known to have ended', async () => {
    instead = (request, socket) => request.includes('/start') && socket.destroy().destroyed;
    const result = createCommands({ engine }).run('c1', ['x'], options, never);
    await expect(result).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('that is not over in time is ended', async () => {
    script = { output: 'hm', open: true, states: [running] };
    const killed: unknown[] = [];
    const commands = createCommands({ engine, kill: (...target) => killed.push(target) > 0 });
    expect(await commands.run('c1', ['x'], { ...options, timeoutMs: 20 }, never)).toEqual({ type: 'timed-out', output: 'hm' });
    await expect.poll(() => killed).toEqual([[42, 'c1']]);
  });

  it('that closed its output and goes on is not over, and is ended in time', async () => {
    script = { states: [running] };
    const killed: unknown[] = [];
    const commands = createCommands({ engine, kill: (...target) => killed.push(target) > 0 });
    expect((await commands.run('c1', ['x'], { ...options, timeoutMs: 50 }, never)).type).toBe('timed-out');
    await expect.poll(() => killed).toHaveLength(1);
  });

  it('has its time from when the engine has started it', async () => {
    script = { open: true, states: [notStarted, notStarted, running] };
    const commands = createCommands({ engine, kill: () => true });
    expect((await commands.run('c1', ['x'], { ...options, timeoutMs: 20 }, never)).type).toBe('timed-out');
    expect(looks).toBeGreaterThanOrEqual(3);
  });

  it('that is aborted is ended, and says so', async () => {
    script = { open: true, states: [running] };
    const killed: unknown[] = [];
    const abort = new AbortController();
    const commands = createCommands({ engine, kill: (...target) => killed.push(target) > 0 });
    const result = commands.run('c1', ['x'], { ...options, timeoutMs: undefined }, abort.signal);
    setTimeout(() => abort.abort(), 20);
    await expect(result).rejects.toMatchObject({ code: 'failed' });
    await expect.poll(() => killed).toHaveLength(1);
  });

  it('that the engine refuses says why in its words', async () => {
    instead = (_, socket) => {
      answer(socket, '409 Conflict', '{"message":"container c1 is paused"}');
      return true;
    };
    const refused = createCommands({ engine }).run('c1', ['x'], options, never);
    await expect(refused).rejects.toMatchObject({
      code: 'conflict',
      message: 'run a command in container c1: container c1 is paused',
    });
  });

  it('that the engine refuses to start says why, too', async () => {
    instead = (request, socket) => {
      if (!request.includes('/start')) return false;
      answer(socket, '409 Conflict', '{"message":"not running"}');
      return true;
    };
    await expect(createCommands({ engine }).run('c1', ['x'], options, never)).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('the lean way to the engine', () => {
  const version = { method: 'GET', path: '/version', action: 'ask' } as const;

  it('asks again over a new connection when a kept one was closed without an answer', async () => {
    await engine.call(version);
    for (const socket of sockets) socket.destroy();
    expect(await engine.call(version)).toEqual(ended(0));
    let closed = 0;
    instead = (_, socket) => {
      if (closed++ > 0) return false;
      socket.destroy();
      return true;
    };
    expect(await engine.call(version)).toEqual(ended(0));
  });

  it('gives up an answer that does not come', async () => {
    instead = () => true;
    await expect(engine.call({ ...version, timeoutMs: 30 })).rejects.toMatchObject({ code: 'timeout' });
  });

  it('says that an engine is away', async () => {
    const nobody = createLeanEngine({ socketPath: join(folder, 'nobody.sock'), apiVersion: async () => '1.41' });
    await expect(nobody.call(version)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(nobody.hijack(version)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('is for Unix sockets', () => {
    expect(socketPathOf(undefined, undefined)).toBe('/var/run/docker.sock');
    expect(socketPathOf('/x.sock', 'tcp://other:2375')).toBe('/x.sock');
    expect(socketPathOf(undefined, 'unix:///y.sock')).toBe('/y.sock');
    expect(socketPathOf(undefined, 'tcp://other:2375')).toBeUndefined();
  });

  it.each([
    ['with a length', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello', { status: 200, body: 'hello', reusable: true }],
    ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n', { body: 'hello' }],
    ['without a body', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: '' }],
    ['that ends its connection', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', { reusable: false }],
  ])('reads an answer %s, whole and not before', (_, text, expected) => {
    const bytes = Buffer.from(text);
    expect(parseAnswer(bytes)).toMatchObject(expected);
    for (let length = 0; length < bytes.length; length++) expect(parseAnswer(bytes.subarray(0, length))).toBeUndefined();
    for (let cut = 1; cut < bytes.length; cut++) {
      const read = answerReader();
      expect(read(bytes.subarray(0, cut))).toBeUndefined();
      expect(read(bytes.subarray(cut))).toMatchObject(expected);
    }
  });

  it('sends what a call asks for in its query, and takes a status that the call expects for no error', async () => {
    instead = (_, socket) => {
      answer(socket, '304 Not Modified', '');
      return true;
    };
    const call = { method: 'POST', path: '/containers/c1/stop', action: 'stop' } as const;
    expect(await engine.call({ ...call, query: { t: 1, filters: { label: ['a=b c'] } }, accept: [304] })).toBeUndefined();
    expect(requests).toEqual(['POST /v1.41/containers/c1/stop?t=1&filters=%7B%22label%22%3A%5B%22a%3Db%20c%22%5D%7D HTTP/1.1']);
    await expect(engine.call(call)).rejects.toThrow('stop: the engine answered 304');
    await expect(engine.call({ ...call, path: '/a HTTP/1.1\r\nx' })).rejects.toThrow('is no path of a request');
  });

  it('bounds calls in flight, but never makes a call wait for one that is slow by nature', async () => {
    const bounded = createLeanEngine({ socketPath: join(folder, 'engine.sock'), apiVersion: async () => '1.41', atOnce: 1 });
    const held: Socket[] = [];
    instead = (_, socket) => held.push(socket) > 0;
    const [first, second] = [bounded.call(version), bounded.call({ ...version, path: '/second' })];
    const slow = bounded.call({ ...version, path: '/slow', slow: true });
    await expect.poll(() => held).toHaveLength(2);
    expect(requests.map((line) => line.split(' ')[1])).toEqual(['/v1.41/version', '/v1.41/slow']);
    instead = undefined;
    for (const socket of held) answer(socket, '200 OK', '{}');
    expect(await Promise.all([first, slow, second])).toEqual([{}, {}, ended(0)]);
    bounded.close();
  });

  it('is not for calls that carry anything but JSON, or that the caller may abort', () => {
    expect(isLean({ ...version, body: {} })).toBe(true);
    const others = [{ method: 'HEAD' }, { bytes: new Uint8Array() }, { signal: never }, { registryAuth: 'x' }] as const;
    expect(others.map((other) => isLean({ ...version, ...other }))).toEqual([false, false, false, false]);
  });

  it('refuses what is no answer', () => {
    expect(() => parseAnswer(Buffer.from('SSH-2.0-x\r\n\r\n'))).toThrow('no answer of HTTP');
    expect(() => parseAnswer(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'))).toThrow('without a length');
  });
});

describe('ending a command', () => {
  const killed: number[] = [];
  /** Processes with their children, by thread, as the kernel shows them. */
  function proc(container: string, children: Record<number, string>): string {
    killed.length = 0;
    for (const [pid, list] of Object.entries(children)) {
      mkdirSync(join(folder, pid, 'task', pid), { recursive: true });
      writeFileSync(join(folder, pid, 'cgroup'), `5:memory:/docker/${container}\n`);
      writeFileSync(join(folder, pid, 'task', pid, 'children'), list);
    }
    return folder;
  }
  const kill = (pid: number, container: string, tree: string) => killCommand(pid, container, tree, (each) => killed.push(each));

  it('takes everything along that it started', () => {
    expect(kill(10, 'c1', proc('c1', { 10: '11 12 ', 11: '13 ', 12: '', 13: '', 14: '' }))).toBe(true);
    expect(killed).toEqual([10, 11, 12, 13]);
  });

  it('takes the children of one thread along when another ends in this moment', () => {
    const tree = proc('c1', { 10: '', 11: '' });
    mkdirSync(join(tree, '10/task/101'));
    mkdirSync(join(tree, '10/task/102'));
    writeFileSync(join(tree, '10/task/102/children'), '11 ');
    expect(kill(10, 'c1', tree)).toBe(true);
    expect(killed).toEqual([10, 11]);
  });

  it('leaves a process alone that is not of the container', () => {
    expect(kill(10, 'c2', proc('c1', { 10: '' }))).toBe(false);
    expect(kill(99, 'c1', folder)).toBe(false);
    expect(killed).toEqual([]);
  });
});
