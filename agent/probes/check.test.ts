import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { ProbeHandler } from '../../api/generated/types.ts';
import { createFakeCommands, exited } from '../../test/fakes/fake-commands.ts';
import { createTestPki } from '../../test/fakes/test-pki.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { createCheck } from './check.ts';
import { decodeStatus, encodeRequest } from './check-grpc.ts';
import { headersOf } from './http-get.ts';

const commands = createFakeCommands();
const check = createCheck(commands);
const never = new AbortController().signal;
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const container = { name: 'app', ports: [{ name: 'web', containerPort: 0 }] };
const target = { pod: {}, container, containerId: 'c', podIP: '127.0.0.1' };
const look = (handler: ProbeHandler, timeoutMs = 5_000) => check(handler, target, timeoutMs, never);

async function listen(server: Server): Promise<number> {
  server.on('connection', (socket) => closers.push(() => socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    (server as { closeAllConnections?: () => void }).closeAllConnections?.();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const serve = (listener: RequestListener) => listen(createServer(listener));
const number = (port: number) => ({ type: 0, intVal: port });

/** A closed port. */
async function closedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('an HTTP check', () => {
  const http = (port: number, more: object = {}): ProbeHandler => ({
    httpGet: { path: '/', scheme: 'HTTP', port: number(port), ...more },
  });

  it.each([
    [200, 'success', ''],
    [399, 'warning', 'Probe terminated redirects, Response body: secret'],
    [400, 'failure', 'HTTP probe failed with statuscode: 400'],
    [503, 'failure', 'HTTP probe failed with statuscode: 503'],
  ])('judges the status %s', async (code, outcome, output) => {
    const port = await serve((_, response) => response.writeHead(code).end('secret'));
    expect(await look(http(port))).toEqual({ outcome, output });
  });

  it('sends its path with the query, its headers and the name of a probe, over a connection of its own', async () => {
    const seen: unknown[] = [];
    const port = await serve(({ url, headers }, response) => {
      seen.push([url, headers.host, headers['x-list'], headers['user-agent'], headers.connection]);
      response.end();
    });
    const httpHeaders = [
      { name: 'Host', value: 'example.org' },
      { name: 'X-List', value: 'a' },
      { name: 'X-List', value: 'b' },
    ];
    await look(http(port, { path: '/ready?deep=1', httpHeaders }));
    expect(seen).toEqual([['/ready?deep=1', 'example.org', 'a, b', 'kube-probe/1.36', 'close']]);
  });

  it('leaves out a usual header that is given as empty, and lets it be replaced', () => {
    expect(headersOf([{ name: 'User-Agent', value: '' }])).toEqual({ accept: '*/*' });
    expect(headersOf([{ name: 'accept', value: 'text/html' }])).toMatchObject({ accept: 'text/html' });
  });

  it('follows redirects on the same host, but not to another', async () => {
    const port = await serve(({ url }, response) => {
      if (url === '/here') response.writeHead(302, { location: '/there' }).end();
      else if (url === '/away') response.writeHead(302, { location: 'http://127.0.0.2:1/' }).end();
      else if (url === '/round') response.writeHead(302, { location: '/round' }).end();
      else response.writeHead(url === '/there' ? 200 : 404).end();
    });
    expect(await look(http(port, { path: '/here' }))).toMatchObject({ outcome: 'success' });
    expect(await look(http(port, { path: '/away' }))).toMatchObject({ outcome: 'warning' });
    expect(await look(http(port, { path: '/round' }))).toEqual({
      outcome: 'failure',
      output: `Get "http://127.0.0.1:${port}/round": stopped after 10 redirects`,
    });
  });

  it('does not look at certificates', async () => {
    const own = await (await createTestPki()).issue('CN=nobody', { expired: true });
    const port = await listen(createSecureServer(own, (_, response) => response.end()));
    expect(await look(http(port, { scheme: 'HTTPS' }))).toMatchObject({ outcome: 'success' });
  });

  it('fails when no server listens, when none answers in time, and when the answer does not end', async () => {
    const closed = await closedPort();
    const output = `Get "http://127.0.0.1:${closed}/": dial tcp 127.0.0.1:${closed}: connect: connection refused`;
    expect(await look(http(closed))).toEqual({ outcome: 'failure', output });
    const silent = await serve(() => {});
    const late = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
    expect(await look(http(silent), 50)).toEqual({ outcome: 'failure', output: `Get "http://127.0.0.1:${silent}/": ${late}` });
    const slow = await serve((_, response) => void response.writeHead(200).write('x'));
    expect(await look(http(slow), 50)).toMatchObject({ outcome: 'failure' });
  });

  it('may take longer than any timer', async () => {
    const port = await serve((_, response) => void setTimeout(() => response.end(), 20));
    expect(await look(http(port), 2 ** 40)).toMatchObject({ outcome: 'success' });
  });

  it('fails when the server changes to another protocol, at once', async () => {
    const answer = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: talk\r\n\r\n';
    const port = await listen(createTcpServer((socket) => void socket.once('data', () => socket.write(answer))));
    expect(await look(http(port))).toEqual({ outcome: 'failure', output: 'HTTP probe failed with statuscode: 101' });
  });

  it('puts up with a server that ends its lines without a carriage return', async () => {
    const answer = 'HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 2\n\nok';
    const port = await listen(createTcpServer((socket) => void socket.once('data', () => socket.end(answer))));
    expect(await look(http(port))).toMatchObject({ outcome: 'success' });
  });

  it('says nothing about the container when what it asks for cannot be asked', async () => {
    expect(await look(http(1, { host: 'no host' }))).toMatchObject({ outcome: 'error' });
    expect(await look({ tcpSocket: { port: number(70_000) } })).toMatchObject({ outcome: 'error' });
    const spoilt = http(1, { host: '127.0.0.1', httpHeaders: [{ name: 'a', value: 'x\ny' }] });
    expect(await look(spoilt)).toMatchObject({ outcome: 'failure' });
  });

  it('reads the beginning of an answer without end, and is content', async () => {
    const port = await serve((_, response) => {
      response.writeHead(200);
      response.on('error', () => {});
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    });
    expect(await look(http(port))).toMatchObject({ outcome: 'success' });
  });

  it('finds a port by its name, in an address of its own choice', async () => {
    const port = await serve((_, response) => response.end());
    const named = { ...target, podIP: '192.0.2.1', container: { name: 'app', ports: [{ name: 'web', containerPort: port }] } };
    const handler = (name: string) => http(0, { host: '127.0.0.1', port: { type: 1, strVal: name } });
    expect(await check(handler('web'), named, 5_000, never)).toMatchObject({ outcome: 'success' });
    expect(await check(handler('wep'), named, 5_000, never)).toEqual({
      outcome: 'error',
      output: 'container "app" has no port with the name "wep"',
    });
  });
});

describe('a TCP check', () => {
  it('is content when a connection opens', async () => {
    const port = await listen(createTcpServer());
    expect(await look({ tcpSocket: { port: number(port) } })).toMatchObject({ outcome: 'success' });
  });

  it('never asks the machine in place of a pod that has no address', async () => {
    const port = await listen(createTcpServer());
    const lost = { ...target, podIP: '' };
    expect(await check({ tcpSocket: { port: number(port) } }, lost, 5_000, never)).toEqual({
      outcome: 'error',
      output: 'the pod has no address',
    });
  });

  it('fails when it does not', async () => {
    const port = await closedPort();
    const output = `dial tcp 127.0.0.1:${port}: connect: connection refused`;
    expect(await look({ tcpSocket: { port: number(port) } })).toEqual({ outcome: 'failure', output });
  });
});

describe('a gRPC check', () => {
  async function health(states: Record<string, 'SERVING' | 'NOT_SERVING'>): Promise<number> {
    const server = new GrpcServer();
    if (Object.keys(states).length > 0) new HealthImplementation(states).addToServer(server);
    closers.push(() => server.forceShutdown());
    return new Promise((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      ),
    );
  }

  it('asks for the server or for one service', async () => {
    const port = await health({ '': 'SERVING', db: 'NOT_SERVING' });
    expect(await look({ grpc: { port } })).toMatchObject({ outcome: 'success' });
    const output = 'service unhealthy (responded with "NOT_SERVING")';
    expect(await look({ grpc: { port, service: 'db' } })).toEqual({ outcome: 'failure', output });
    expect(await look({ grpc: { port, service: 'unknown' } })).toMatchObject({ outcome: 'failure' });
  });

  it('says what is wrong with a server without the health service, or with none', async () => {
    const without = await look({ grpc: { port: await health({}) } });
    expect(without.output).toContain('this server does not implement the grpc health protocol');
    const port = await closedPort();
    expect((await look({ grpc: { port } })).output).toContain(`failed to connect service "127.0.0.1:${port}" within 5s`);
    const silent = await listen(createTcpServer((socket) => void socket.on('error', () => {})));
    expect(await look({ grpc: { port: silent } }, 100)).toMatchObject({ outcome: 'failure' });
  });

  it('writes and reads the two messages of the health protocol', () => {
    expect(encodeRequest('')).toEqual(Buffer.alloc(0));
    expect(encodeRequest('db')).toEqual(Buffer.from([0x0a, 2, 0x64, 0x62]));
    expect(encodeRequest('x'.repeat(300)).subarray(0, 3)).toEqual(Buffer.from([0x0a, 0xac, 0x02]));
    expect(decodeStatus(Buffer.alloc(0))).toBe(0);
    expect(decodeStatus(Buffer.from([0x08, 1]))).toBe(1);
    expect(decodeStatus(Buffer.from([0x08, 0xac, 0x02]))).toBe(300);
    const withOtherField = Buffer.from([0x12, 1, 0x78, 0x08, 2]);
    expect(decodeStatus(withOtherField)).toBe(2);
    expect(() => decodeStatus(Buffer.from([0x08]))).toThrow(RangeError);
  });
});

describe('an exec check', () => {
  const exec = (answer: Parameters<typeof commands.answer>[0]) => {
    commands.answer(answer);
    return look({ exec: { command: ['is', 'up'] } }, 2_000);
  };

  it('goes by the exit code, and shows what a failure says', async () => {
    expect(await exec(() => exited(0, 'fine'))).toMatchObject({ outcome: 'success' });
    expect(await exec(() => exited(2, 'cat: no such file'))).toEqual({ outcome: 'failure', output: 'cat: no such file' });
    expect(commands.calls.at(-1)).toEqual({ id: 'c', command: ['is', 'up'], timeoutMs: 2_000 });
  });

  it('fails when the command is not over in time', async () => {
    const output = 'command timed out: "is up" timed out after 2s';
    expect(await exec(() => ({ type: 'timed-out', output: '' }))).toEqual({ outcome: 'failure', output });
  });

  it('says nothing about the container when the engine could not run it', async () => {
    const away = new RuntimeError('unavailable', 'cannot reach the container engine');
    expect(await exec(() => Promise.reject(away))).toEqual({ outcome: 'error', output: away.message });
  });
});
