import { once } from 'node:events';
import { IncomingMessage, request, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, createServer as createRawServer, Socket } from 'node:net';
import { type Duplex, PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { ApiError, callCancelled } from '../../api/errors/index.ts';
import { forwardRequest } from '../http/proxy/forward-request.ts';
import type { ProxyTarget } from '../http/proxy/proxy-target.ts';
import type { StreamWay } from '../http/streams/stream-route.ts';
import { createAuthority, issueCertificate } from '../pki/certificates.ts';
import { KeptConnections, type KeptOptions } from './extension-connections.ts';

/** An endpoint whose connections fail when the test says so. */
function failing() {
  const fails: (() => void)[] = [];
  const dial = () => new Promise<Duplex>((_, reject) => fails.push(() => reject(new Error('unreachable'))));
  const target: ProxyTarget = { scheme: 'https', host: '10.0.0.1:443', endpoint: '10.0.0.1:443 uid', dial };
  return { target, fails };
}

it('has 32 connections, those that are being opened among them, and none left of those that failed', async () => {
  const kept = new KeptConnections({});
  const { target, fails } = failing();
  const errors: Promise<Error>[] = [];
  for (let i = 0; i < 32; i++) {
    expect(kept.mayTake(target)).toBe(true);
    const over: KeptOptions = { agent: kept, target };
    const sent = request(over);
    errors.push(new Promise((resolve) => sent.once('error', resolve)));
    sent.end();
  }
  expect(kept.mayTake(target)).toBe(false);
  for (const fail of fails) fail();
  expect((await Promise.all(errors)).map(({ message }) => message)).toEqual(Array(32).fill('unreachable'));
  expect([kept.mayTake(target), kept.sockets, kept.requests]).toEqual([true, {}, {}]);
});

it('survives a connection that fails in the moment in which its answer ends', async () => {
  const authority = await createAuthority('test', new Date());
  const { certificate: cert, key } = await issueCertificate(authority, { commonName: 'x', organizations: [] }, ['x'], new Date());
  const server = createServer({ cert, key }, (_, response) => void response.end('all'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const target: ProxyTarget = { scheme: 'https', host: 'x', endpoint: 'x', dial: async () => connect(port, '127.0.0.1') };
  const kept = new KeptConnections({ ca: authority.certificate, servername: 'x' });
  const over: KeptOptions = { agent: kept, target };
  const sent = request(over);
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const { socket } = answer;
  answer.once('end', () => socket.destroy(new Error('the connection was reset')));
  answer.resume();
  // `once` of node:events would take the error.
  await new Promise((resolve) => socket.once('close', resolve));
  expect([kept.sockets, kept.freeSockets]).toEqual([{}, {}]);
  server.close();
});

/** A read that is passed on over a connection which is still being opened. */
function waiting(answersWithinMs?: number) {
  const { target, fails } = failing();
  const leaving = new AbortController();
  const { signal } = leaving;
  const context = {
    signal,
    get isCancelled() {
      return signal.aborted;
    },
  };
  const request = { method: 'GET', headers: {}, socket: {}, httpVersionMajor: 1 };
  const extension = { tls: {}, headers: {}, answersWithinMs, kept: new KeptConnections({}) };
  const way = { request, response: {}, upgrade: undefined, context } as unknown as StreamWay;
  const ended = forwardRequest({ target, prefix: '', path: '/', search: '', extension }, way).catch((error: unknown) => error);
  return { ended, fails, leave: () => leaving.abort() };
}

it('ends a request with its caller, while its connection is still being opened', async () => {
  const { ended, fails, leave } = waiting();
  expect(fails).toHaveLength(1);
  leave();
  expect(await ended).toEqual(callCancelled());
});

it('ends a request at its time limit, while its connection is still being opened', async () => {
  const { ended, fails } = waiting(1);
  expect(fails).toHaveLength(1);
  const error = (await ended) as ApiError;
  expect([error instanceof ApiError, error.code]).toEqual([true, 'DEADLINE_EXCEEDED']);
});

/** What a client gets of an answer that a server writes as it stands. */
async function passedOn(answer: string, httpVersionMajor: number) {
  const dial = async () => {
    const { port } = backend.address() as AddressInfo;
    return connect(port, '127.0.0.1');
  };
  const backend = createRawServer((socket) =>
    socket
      .on('error', () => {})
      .resume()
      .end(answer, 'latin1'),
  );
  await once(backend.listen(0, '127.0.0.1'), 'listening');
  const target: ProxyTarget = { scheme: 'http', host: 'x', endpoint: 'x', dial };
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const written = new PassThrough();
  response.assignSocket(written as unknown as Socket);
  const request = { method: 'GET', headers: {}, socket: {}, httpVersionMajor };
  const context = { signal: new AbortController().signal, isCancelled: false, requestId: 'r1' };
  const way = { request, response, upgrade: undefined, context } as unknown as StreamWay;
  try {
    await forwardRequest({ target, prefix: '', path: '/', search: '' }, way);
    return (written.read() as Buffer).toString('latin1');
  } finally {
    backend.close();
  }
}

it('passes on an answer without its status text where that has control characters', async () => {
  const headers = 'content-length: 2\r\nconnection: close\r\n\r\nok';
  expect(await passedOn(`HTTP/1.1 200 a\x01b\r\n${headers}`, 1)).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  expect(await passedOn(`HTTP/1.1 200 Fine\r\n${headers}`, 1)).toMatch(/^HTTP\/1.1 200 Fine\r\n/);
});

it('says which status a server answered that HTTP/2 does not have', async () => {
  const answer = 'HTTP/1.1 999 x\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok';
  expect(await passedOn(answer, 1)).toMatch(/^HTTP\/1.1 999 x\r\n/);
  await expect(passedOn(answer, 2)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: 'error trying to reach service: it answered with the status 999',
  });
});
