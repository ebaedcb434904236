import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttp2Server, createSecureServer } from 'node:http2';
import { type AddressInfo, createServer, type Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { type Script, startScriptedServer } from '../../test/fakes/scripted-server.ts';
import { createTestPki } from '../../test/fakes/test-pki.ts';
import type { ConnectOptions } from '../client.ts';
import { callOnce } from './single-call.ts';

const path = '/berth.core.v1.Pods/Get';
const request = encodeMessage('berth.meta.v1.GetRequest', { namespace: 'default', name: 'web' });
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

type Answer = NonNullable<Script['unary']>[string];

async function ask(answer: Answer, options: Partial<ConnectOptions> = {}, timeoutMs = 10_000): Promise<object | undefined> {
  const server = await startScriptedServer({ unary: { 'berth.core.v1.Pods/Get': answer } });
  cleanups.push(server.stop);
  const bytes = await callOnce({ address: server.address, ca: server.pki.ca, ...options }, path, request, timeoutMs);
  return bytes && decodeMessage('berth.core.v1.Pod', bytes);
}

describe('a single call', () => {
  it('gives the answer, also one of many frames', async () => {
    for (const length of [1, 16_384, 1_000_000]) {
      const annotations = { text: 'x'.repeat(length) };
      const answer = await ask(({ namespace, name }) => ({ metadata: { namespace, name, annotations } }));
      expect(answer).toEqual({ metadata: { namespace: 'default', name: 'web', annotations } });
    }
  });

  it('sends who calls, with what, and how long it waits', async () => {
    let sent: grpc.Metadata | undefined;
    let endsAt = 0;
    await ask(
      (_, call) => {
        sent = call.metadata;
        endsAt = Number(call.getDeadline());
        return {};
      },
      { token: () => 'secret\n', userAgent: 'berth-cli' },
    );
    expect(sent?.get('authorization')).toEqual(['Bearer secret']);
    expect(String(sent?.get('user-agent'))).toContain('berth-cli');
    expect(endsAt).toBeLessThanOrEqual(Date.now() + 10_000);
  });

  it('leaves an answer with a warning in its first headers to the whole client', async () => {
    const warnings = new grpc.Metadata();
    warnings.set('berth-warning', 'field%20unknown');
    const answer = await ask((_, call) => {
      call.sendMetadata(warnings);
      return {};
    });
    expect(answer).toBeUndefined();
  });

  it.each([
    ['gives', { 'grpc-status': '0' }, 200, Buffer.from('answer')],
    ['gives', { 'grpc-status': '0', 'grpc-message': 'OK', other: 'x'.repeat(200) }, 200, Buffer.from('answer')],
    ['leaves', { 'grpc-status': '0', 'berth-warning': 'x' }, 200, undefined],
    ['leaves', { 'grpc-status': '13' }, 200, undefined],
    ['leaves', { 'grpc-status': '2000000' }, 200, undefined],
    ['leaves', { other: '0' }, 200, undefined],
    ['leaves', { 'grpc-status': '0' }, 503, undefined],
  ])('%s an answer that ends with the headers %j and the HTTP status %d', async (_, trailers, status, expected) => {
    const pki = await createTestPki();
    const { cert, key } = await pki.issue('CN=server', { addresses: ['127.0.0.1'] });
    const server = createSecureServer({ cert, key }, (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/grpc', server: 'a proxy' });
      response.addTrailers(trailers);
      response.end(Buffer.concat([Buffer.from([0, 0, 0, 0, 6]), Buffer.from('answer')]));
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    cleanups.push(() => server.close());
    const { port } = server.address() as { port: number };
    expect(await callOnce({ address: `127.0.0.1:${port}`, ca: pki.ca }, path, request, 10_000)).toEqual(expected);
  });

  it('leaves errors, also behind headers, to the whole client', async () => {
    const fail = Object.assign(new Error('no'), { code: grpc.status.NOT_FOUND, details: 'no' });
    expect(await ask(() => Promise.reject(fail))).toBeUndefined();
    expect(
      await ask((_, call) => {
        call.sendMetadata(new grpc.Metadata());
        return Promise.reject(fail);
      }),
    ).toBeUndefined();
  });

  it('sends nothing to a server of another authority, or of another name', async () => {
    let calls = 0;
    const answer: Answer = () => {
      calls++;
      return {};
    };
    expect(await ask(answer, { ca: (await createTestPki()).ca, token: 'secret' })).toBeUndefined();
    const elsewhere = await startScriptedServer({ unary: { 'berth.core.v1.Pods/Get': answer } }, { addresses: ['192.0.2.1'] });
    cleanups.push(elsewhere.stop);
    expect(await callOnce({ address: elsewhere.address, ca: elsewhere.pki.ca }, path, request, 10_000)).toBeUndefined();
    expect(calls).toBe(0);
  });

  it('goes over a local socket without TLS, with its token, and leaves one that is not served to the address', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-call-'));
    const local = { path: join(folder, 'api.sock'), token: 'local' };
    let token: string | undefined;
    const server = createHttp2Server((request, response) => {
      token = request.headers.authorization;
      response.writeHead(200, { 'content-type': 'application/grpc' });
      response.addTrailers({ 'grpc-status': '0' });
      response.end(Buffer.concat([Buffer.from([0, 0, 0, 0, 6]), Buffer.from('answer')]));
    });
    await new Promise<void>((listening) => server.listen(local.path, listening));
    const options = { address: '127.0.0.1:1', ca: '', token: 'of the address', local };
    expect(await callOnce(options, path, request, 10_000)).toEqual(Buffer.from('answer'));
    expect(token).toBe('Bearer local');
    await new Promise((closed) => server.close(closed));
    expect(await callOnce(options, path, request, 10_000)).toBeUndefined();
    rmSync(folder, { recursive: true });
  });

  it('gives up where there is no server, or one that speaks something else or nothing', async () => {
    const pki = await createTestPki();
    const own = await pki.issue('CN=server', { addresses: ['127.0.0.1'] });
    const servers: (TcpServer | undefined)[] = [
      undefined,
      createServer((socket) => socket.destroy()),
      createServer(() => {}),
      createTlsServer({ key: own.key, cert: own.cert, ALPNProtocols: ['http/1.1'] }, (socket) => socket.on('error', () => {})),
      createTlsServer({ key: own.key, cert: own.cert, ALPNProtocols: ['h2'] }, (socket) => {
        socket.on('error', () => {});
        socket.write(Buffer.alloc(100, 0xff));
      }),
    ];
    for (const server of servers) {
      await new Promise<void>((listening) => (server ? server.listen(0, '127.0.0.1', listening) : listening()));
      const { port } = (server?.address() ?? { port: 1 }) as { port: number };
      server?.on('connection', (socket) => cleanups.push(() => socket.destroy()));
      if (server) cleanups.push(() => server.close());
      expect(await callOnce({ address: `127.0.0.1:${port}`, ca: pki.ca }, path, request, 300)).toBeUndefined();
    }
  });

  it('gives up after 2 s without a handshake, however long an answer may take', async () => {
    const server = createServer((socket) => cleanups.push(() => socket.destroy()));
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    cleanups.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { ca } = await createTestPki();
    expect(await callOnce({ address: `127.0.0.1:${port}`, ca }, path, request, 3_600_000)).toBeUndefined();
  });

  it('rejects when the token cannot be read', async () => {
    const token = (): string => {
      throw new Error('the token is gone');
    };
    await expect(ask(() => ({}), { token })).rejects.toThrow('the token is gone');
  });

  it('rejects certificates that cannot be read, as the whole client does', async () => {
    const options = { address: '127.0.0.1:1', ca: 'none', cert: 'x' };
    await expect(callOnce(options, path, request, 100)).rejects.toThrow('a client certificate needs its key');
    await expect(callOnce({ ...options, key: 'y' }, path, request, 100)).rejects.toThrow('the certificates cannot be read');
  });
});
