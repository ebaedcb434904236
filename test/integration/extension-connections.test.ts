import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect as connectHttp2, constants } from 'node:http2';
import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type ExtensionServer, type ExtensionWorld, group, startExtension, version } from './extension-server.ts';
import { type Asked, asks } from './kubernetes-asks.ts';

// Which requests of a group share a connection to its extension server, and when these connections end.
let server: RunningServer;
let world: ExtensionWorld;
let extension: ExtensionServer;

const ask = asks(() => server);
const all = '/apis/apiregistration.k8s.io/v1/apiservices';
const name = `${version}.${group}`;
const root = `/apis/${group}/${version}`;
const flunders = `${root}/namespaces/default/flunders`;
const merge = { 'content-type': 'application/merge-patch+json' };

const isAvailable = () =>
  until('available', async () => (await ask(`${all}/${name}`)).json.status?.conditions?.[0]?.status === 'True');

async function register(): Promise<void> {
  const spec = {
    ...{ group, version, groupPriorityMinimum: 2000, versionPriority: 15 },
    service: { namespace: 'default', name: 'wardle', port: 443 },
    caBundle: Buffer.from(extension.ca).toString('base64'),
  };
  const object = { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata: { name }, spec };
  expect((await ask(all, { method: 'POST', body: object })).code).toBe(201);
  await isAvailable();
}

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  world = await startExtension(server);
  ({ extension } = world);
  const metadata = { namespace: 'default', name: 'wardle' };
  const targetPort = { type: 0, intVal: extension.port };
  await server.client.services.create({ metadata, spec: { ports: [{ name: 'api', port: 443, targetPort }] } });
  await server.client.endpointSlices.create({
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'wardle' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.9.9.9'], targetRef: { kind: 'Pod', name: 'wardle', uid: world.podUid } }],
    ports: [{ name: 'api', port: extension.port }],
  });
  await register();
});
afterAll(async () => {
  await world.stop();
});
beforeEach(() => {
  extension.answer = undefined;
});

/** The connection by which the extension server got what was asked, and the code of the answer. */
async function connectionOf(path: string, asked: Asked = {}): Promise<Duplex> {
  const { code } = await ask(path, asked);
  expect([200, 201, 404]).toContain(code);
  return passedOn(0).findLast(({ url }) => url === path)!.connection;
}

/** Requests of clients from the given one on: this server asks, too. */
const passedOn = (from: number) => extension.requests.slice(from).filter(({ user }) => user !== 'system:kube-aggregator');
/** Holds what clients ask. */
function hold(): readonly ServerResponse[] {
  const waiting: ServerResponse[] = [];
  extension.answer = ({ headers }, response) =>
    headers['x-remote-user'] === 'system:kube-aggregator' ? void response.end('{"resources":[]}') : void waiting.push(response);
  return waiting;
}

it('short reads of different users share a connection; writes and watches have their own', async () => {
  const as = { 'impersonate-user': 'anna', 'impersonate-group': 'system:masters' };
  const kept = await connectionOf(flunders);
  expect(await connectionOf(flunders, { headers: as })).toBe(kept);
  expect(extension.requests.at(-1)!.user).toBe('anna');
  expect(await connectionOf(root)).toBe(kept);
  const body = { metadata: { name: 'one', namespace: 'default' } };
  const others = [
    await connectionOf(flunders, { method: 'POST', body }),
    await connectionOf(`${flunders}/one`, { method: 'DELETE' }),
    await connectionOf(`${flunders}/one`, { body }),
  ];
  expect(new Set([kept, ...others]).size).toBe(4);
  extension.answer = (_, response) => void response.end('{}');
  expect(await connectionOf(`${flunders}?watch=true`)).not.toBe(kept);
  extension.answer = undefined;
  expect(await connectionOf(flunders)).toBe(kept);
});

it('a read is sent again where the server closes the connection that was kept, once', async () => {
  const kept = await connectionOf(flunders);
  const before = extension.requests.length;
  extension.answer = ({ socket }, response) => (socket === kept ? void socket.destroy() : void response.end('{}'));
  expect((await ask(flunders)).code).toBe(200);
  const came = passedOn(before);
  expect([came.length, came[0]!.connection === kept]).toEqual([2, true]);
  extension.answer = ({ socket }) => void socket.destroy();
  expect((await ask(flunders)).code).toBe(503);
});

it('what a server sends without a request is no answer to the next one, and ends the connection', async () => {
  const kept = await connectionOf(flunders);
  kept.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged');
  await until('the end of the connection', () => kept.destroyed);
  expect((await ask(flunders)).json).toMatchObject({ kind: 'FlunderList' });
});

it('reads beyond the connections that are kept have their own, and few of all stay open', async () => {
  const waiting = hold();
  const before = extension.requests.length;
  const count = 40;
  const asked = Array.from({ length: count }, () => ask(flunders));
  await until('all have come', () => waiting.length === count, 60_000);
  const connections = passedOn(before).map(({ connection }) => connection);
  extension.answer = undefined;
  for (const response of waiting) response.end('{}');
  expect((await Promise.all(asked)).map(({ code }) => code)).toEqual(Array(count).fill(200));
  await until('the rest are closed', () => connections.filter(({ destroyed }) => !destroyed).length <= 8);
}, 120_000);

it('a client that leaves takes its connection with it', async () => {
  const waiting = hold();
  const [host, port] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  const before = extension.requests.length;
  const call = request({ host, port, path: flunders, ca, cert, key, agent: false });
  call.on('error', () => {});
  call.end();
  await until('it came', () => waiting.length === 1);
  const { connection } = passedOn(before)[0]!;
  call.destroy();
  await until('the end of the connection', () => connection.destroyed);
  extension.answer = undefined;
  expect((await ask(flunders)).code).toBe(200);
});

it('an APIService that changes or goes ends its connections, those with a request behind the answer', async () => {
  const kept = await connectionOf(flunders);
  const change = { method: 'PATCH', body: { spec: { caBundle: null, insecureSkipTLSVerify: true } }, headers: merge };
  const waiting = hold();
  const asked = ask(flunders);
  await until('it came', () => waiting.length === 1);
  expect((await ask(`${all}/${name}`, change)).code).toBe(200);
  const later = ask(flunders);
  await until('the next one', () => waiting.length === 2);
  expect(kept.destroyed).toBe(false);
  for (const response of waiting) response.end('{}');
  expect((await later).code).toBe(200);
  expect((await asked).code).toBe(200);
  await until('the end of the connection', () => kept.destroyed);
  extension.answer = undefined;
  const next = await connectionOf(flunders);
  const ended = once(next, 'close');
  expect((await ask(`${all}/${name}`, { method: 'DELETE' })).code).toBe(200);
  await ended;
  await register();
});

describe('an answer of an extension server over HTTP/2', () => {
  /** What the client of HTTP/2 gets: the head, the body, or the error that ends it. */
  async function askHttp2(path = flunders): Promise<{ readonly code: unknown; readonly headers: object; readonly text: string }> {
    const { ca, cert, key } = server.admin;
    const session = connectHttp2(`https://${server.info.kubernetes}`, { ca: ca!, cert: cert!, key: key! });
    try {
      const stream = session.request({ ':path': path });
      stream.setTimeout(20_000, () => stream.close(constants.NGHTTP2_CANCEL));
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      let text = '';
      for await (const piece of stream) text += piece;
      return { code: headers[':status'], headers, text };
    } finally {
      session.destroy();
    }
  }

  it.each([204, 205])('with a body that the status %i has no place for has none', async (code) => {
    extension.answer = ({ socket }) =>
      void socket.end(`HTTP/1.1 ${code} x\r\ncontent-length: 4\r\nx-a: b\r\nconnection: close\r\n\r\nbody`);
    const { headers, ...answer } = await askHttp2();
    expect(answer).toEqual({ code, text: '' });
    expect(headers).toMatchObject({ 'x-a': 'b' });
    expect(headers).not.toHaveProperty('content-length');
  });
});

it('an extension server that never gets beyond 1xx fails the request', async () => {
  extension.answer = ({ socket }) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 1);
    socket.once('close', () => clearInterval(timer));
  };
  const { code, json } = await ask(`${flunders}?watch=true`);
  expect([code, json.message]).toEqual([503, 'error trying to reach service: too many 1xx informational responses']);
});

it("an answer has this server's Audit-Id, which the extension server is told, and its own of other headers", async () => {
  const said = {
    'audit-id': 'forged',
    'set-cookie': ['a=b', 'c=d'],
    'alt-svc': 'h3=":1"',
    'strict-transport-security': 'max-age=1',
  };
  extension.answer = (_, response) => void response.writeHead(200, said).end('{}');
  const before = extension.requests.length;
  const { headers } = await ask(flunders, { headers: { 'audit-id': 'mine' } });
  expect(headers).toMatchObject({ ...said, 'audit-id': expect.stringMatching(/^[0-9a-f-]{36}$/) });
  expect(passedOn(before)[0]!.headers['audit-id']).toBe(headers['audit-id']);
});
