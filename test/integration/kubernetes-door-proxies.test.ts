import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { connect as connectHttp2, constants } from 'node:http2';
import { createServer as createTlsServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createUsageHistory } from '../../agent/machine/usage-history.ts';
import { standsStill } from '../fakes/stands-still.ts';
import { image, isRunning, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

// Requests that the door passes on to pods and Services through a real agent, and the pages of nodes. With the
// machine's own network a port of the pod is a port of this test.
let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
let backend: Server;
let secure: Server;
let port: number;
let securePort: number;
/** How the backend answers; each test sets its own. */
let answer: RequestListener = (_, response) => void response.end();
/** Longer than what the agent sends at once. */
const cadvisor = 'container_cpu_usage_seconds_total 1\n'.repeat(5_000);
const inDefault = '/api/v1/namespaces/default';

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  machine = await startMachine();
  const sample = { usage: { cpu: { string: '100m' } }, metrics: { metadata: { name: 'n1' }, usage: {} } };
  const usage = {
    sample: async () => sample,
    history: createUsageHistory(),
    cadvisor: async () => cadvisor,
    resource: async () => '',
  };
  agent = startAgent(server, machine, 'n1', {}, { usage });
  backend = createServer((...args) => void answer(...args)).listen(0, '127.0.0.1');
  await once(backend, 'listening');
  secure = createTlsServer(await readPair(server.dataDir, 'admin'), (_, response) => void response.end('over TLS'));
  secure.listen(0, '127.0.0.1');
  await once(secure, 'listening');
  port = (backend.address() as AddressInfo).port;
  securePort = (secure.address() as AddressInfo).port;
  await until('node', () => server.client.nodes.get({ name: 'n1' }).catch(() => undefined));
  const metadata = { namespace: 'default', name: 'web' };
  const app = { name: 'app', image, command: ['sleep', '1000'], ports: [{ containerPort: port }] };
  await server.client.pods.create({ metadata, spec: { nodeName: 'n1', hostNetwork: true, containers: [app] } });
  const { metadata: made } = await podWhere(server.client, 'web', isRunning);
  const ports = [
    { name: 'main', port: 80, targetPort: { type: 0, intVal: port } },
    { name: 'other', port: 81, targetPort: { type: 0, intVal: 9 } },
  ] as object[];
  await server.client.services.create({ metadata, spec: { ports } });
  await server.client.services.create({ metadata: { ...metadata, name: 'idle' }, spec: { ports } });
  const slice = (name: string, uid: string, of: string) =>
    server.client.endpointSlices.create({
      metadata: { namespace: 'default', name, labels: { 'kubernetes.io/service-name': of } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.9.9.9'], conditions: { ready: true }, targetRef: { kind: 'Pod', name: 'web', uid } }],
      ports: [{ name: 'main', port }],
    });
  await slice('web-1', made?.uid ?? '', 'web');
  await server.client.services.create({ metadata: { ...metadata, name: 'forged' }, spec: { ports } });
  await slice('forged-1', 'another', 'forged');
});
afterAll(async () => {
  backend.close();
  secure.close();
  await agent.stop();
  await server.stop();
  await machine.remove();
  await server.remove();
});

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

function open(path: string, { method = 'GET', headers = {} }: Asked = {}) {
  const [host, doorPort] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  return request({ host, port: doorPort, path, method, ca, cert, key, agent: false, headers: { ...headers } });
}

async function read(message: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

async function ask(path: string, asked: Asked = {}) {
  const call = open(path, asked);
  call.end(asked.body);
  const [message] = (await once(call, 'response')) as [IncomingMessage];
  return { code: message.statusCode, text: await read(message), headers: message.headers };
}

/** Answers with what came. */
const mirror: RequestListener = async (message, response) => {
  const body = await read(message);
  response.end(JSON.stringify({ method: message.method, url: message.url, headers: message.headers, body }));
};

const places = () => [
  `${inDefault}/pods/web:${port}/proxy`,
  `${inDefault}/pods/web/proxy`,
  `${inDefault}/services/web:main/proxy`,
];

describe('a proxy', () => {
  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('passes %s on with path, query and body', async (method) => {
    answer = mirror;
    const body = method === 'GET' || method === 'OPTIONS' ? '' : 'some text';
    for (const place of [...places(), `${inDefault}/services/web:80/proxy`, `${inDefault}/services/http:web:main/proxy`]) {
      const { code, text } = await ask(`${place}/a%2Fb/c?d=%20e&d`, {
        method,
        body,
        headers: { 'content-length': String(body.length) },
      });
      expect(code).toBe(200);
      expect(JSON.parse(text)).toMatchObject({ method, url: '/a%2Fb/c?d=%20e&d', body });
    }
  });

  it('keeps the credentials of the caller to itself, and says where it stands', async () => {
    answer = mirror;
    const headers = {
      ...{ 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' },
      ...{ 'x-remote-user': 'root', connection: 'x-hop', 'x-hop': '1', te: 'trailers', accept: 'text/plain', cookie: 'a=b' },
    };
    const place = places()[0]!;
    const said = JSON.parse((await ask(`${place}/x/`, { headers })).text).headers;
    expect(said).toMatchObject({ accept: 'text/plain', cookie: 'a=b', host: server.info.kubernetes });
    expect(said).toMatchObject({ 'x-forwarded-uri': `${place}/x/`, 'x-forwarded-for': '127.0.0.1' });
    const names = Object.keys(said).join();
    expect(names).not.toMatch(/authorization|impersonate|x-remote|x-hop|te,/);
  });

  it('answers with the status, the headers and the body of the other side', async () => {
    answer = (_, response) => {
      const headers = { 'x-a': 'b', 'set-cookie': ['c=d', 'e=f'], 'keep-alive': 'x', 'access-control-allow-origin': '*' };
      response.writeHead(418, 'Short and stout', headers).end('tea');
    };
    const { code, text, headers } = await ask(`${places()[0]}/`);
    expect([code, text]).toEqual([418, 'tea']);
    expect(headers).toMatchObject({ 'x-a': 'b', 'set-cookie': ['c=d', 'e=f'] });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('answers 503 to an unsolicited 101 (Switching Protocols) of the other side', async () => {
    answer = ({ socket }) =>
      void socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nhello');
    const { code, text } = await ask(`${places()[0]}/`);
    expect([code, JSON.parse(text).message]).toEqual([
      503,
      'error trying to reach service: the connection was closed before an answer came',
    ]);
  });

  it('speaks HTTP/2 with its client, bodies included', async () => {
    answer = mirror;
    const { ca, cert, key } = server.admin;
    const session = connectHttp2(`https://${server.info.kubernetes}`, { ca: ca!, cert: cert!, key: key! });
    const stream = session.request({ ':method': 'DELETE', ':path': `${places()[0]}/x` }, { endStream: false });
    stream.end('of unknown length');
    let text = '';
    for await (const piece of stream) text += piece;
    session.close();
    expect(JSON.parse(text)).toMatchObject({ method: 'DELETE', url: '/x', body: 'of unknown length' });
  });

  it('lets go of a HEAD that its client resets before it is answered', async () => {
    let isLeft: Promise<unknown> | undefined;
    answer = (message) => {
      isLeft = once(message.socket, 'close');
    };
    const { ca, cert, key } = server.admin;
    const session = connectHttp2(`https://${server.info.kubernetes}`, { ca: ca!, cert: cert!, key: key! });
    const stream = session.request({ ':method': 'HEAD', ':path': `${places()[0]}/x` });
    await expect.poll(() => isLeft !== undefined).toBe(true);
    stream.close(constants.NGHTTP2_CANCEL);
    await isLeft;
    session.destroy();
  });

  it('reaches a pod over TLS whatever its certificate', async () => {
    expect(await ask(`${inDefault}/pods/https:web:${securePort}/proxy/`)).toMatchObject({ code: 200, text: 'over TLS' });
  });

  it('streams both ways', async () => {
    answer = (message, response) => {
      response.flushHeaders();
      message.pipe(response);
    };
    const call = open(`${places()[0]}/echo`, { method: 'POST', headers: { 'transfer-encoding': 'chunked' } });
    call.write('one');
    const [message] = (await once(call, 'response')) as [IncomingMessage];
    expect(String((await once(message, 'data'))[0])).toBe('one');
    call.write('two');
    expect(String((await once(message, 'data'))[0])).toBe('two');
    call.end();
    await once(message, 'end');
  });

  it('asks a client for its body that waits until it is asked', async () => {
    answer = (message, response) => void message.pipe(response);
    const headers = { 'content-length': '4', expect: '100-continue' };
    const call = open(`${places()[0]}/echo`, { method: 'POST', headers });
    call.flushHeaders();
    await once(call, 'continue', { signal: AbortSignal.timeout(30_000) });
    const answered = once(call, 'response');
    call.end('body');
    const [message] = (await answered) as [IncomingMessage];
    expect(String((await once(message, 'data'))[0])).toBe('body');
  });

  it('takes no more from the other side than its client reads', async () => {
    let sent = 0;
    const piece = Buffer.alloc(64 * 1024);
    const ended = new Promise<void>((resolve) => {
      answer = (_, response) => {
        response.on('close', resolve);
        const send = (): void => {
          while (!response.destroyed && response.write(piece)) sent += piece.length;
          if (!response.destroyed) response.once('drain', send);
        };
        send();
      };
    });
    const call = open(`${places()[0]}/much`);
    call.end();
    const [message] = (await once(call, 'response')) as [IncomingMessage];
    message.pause();
    await standsStill('bytes of the other side', () => sent);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    // A client that goes takes the request with it.
    call.destroy();
    await ended;
  });

  it('passes WebSockets on', async () => {
    const sockets = new WebSocketServer({ server: backend, path: '/ws' });
    sockets.on('connection', (ws, { headers }) => {
      ws.send(String(headers.authorization));
      ws.on('message', (data) => ws.send(`heard ${data}`));
    });
    const { ca, cert, key } = server.admin;
    const ws = new WebSocket(`wss://${server.info.kubernetes}${places()[2]}/ws`, ['chat'], { ca, cert, key });
    const heard: string[] = [];
    ws.on('message', (data) => heard.push(String(data)));
    await once(ws, 'open');
    expect(ws.protocol).toBe('chat');
    ws.send('hello');
    await until('an answer', () => heard.length === 2);
    expect(heard).toEqual(['undefined', 'heard hello']);
    ws.close(4_000, 'over');
    expect((await once(ws, 'close'))[0]).toBe(4_000);
    sockets.close();
  });

  it('answers a refused WebSocket as the other side does', async () => {
    backend.once('upgrade', (_, socket) => void socket.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\nno'));
    const { ca, cert, key } = server.admin;
    const ws = new WebSocket(`wss://${server.info.kubernetes}${places()[0]}/none`, { ca, cert, key });
    const [, response] = (await once(ws, 'unexpected-response')) as [unknown, IncomingMessage];
    expect([response.statusCode, await read(response)]).toEqual([403, 'no']);
  });
});

describe('links', () => {
  it('of redirects lead through the proxy', async () => {
    const place = places()[2]!;
    answer = (message, response) => {
      const location = message.url === '/path' ? '/next?a' : `http://${message.headers.host}/next`;
      response.writeHead(302, { location }).end();
    };
    expect((await ask(`${place}/path`)).headers.location).toBe(`${place}/next?a`);
    expect((await ask(`${place}/whole`)).headers.location).toBe(`${place}/next`);
  });

  it('of pages do so, in compressed ones as well, and other bodies stay as they are', async () => {
    const place = places()[2]!;
    const page = '<a href="/next">next</a>';
    answer = ({ url }, response) => {
      const type = url === '/text' ? 'text/plain' : 'text/html; charset=utf-8';
      const body = url === '/gzip' ? gzipSync(page) : Buffer.from(page);
      const encoding = url === '/gzip' ? { 'content-encoding': 'gzip' } : {};
      response.writeHead(200, { 'content-type': type, 'content-length': body.length, ...encoding }).end(body);
    };
    const rewritten = `<a href="${place}/next">next</a>`;
    expect(await ask(`${place}/`)).toMatchObject({ code: 200, text: rewritten });
    const unpacked = await ask(`${place}/gzip`);
    expect(unpacked.text).toBe(rewritten);
    expect(unpacked.headers).not.toHaveProperty('content-encoding');
    expect((await ask(`${place}/text`)).text).toBe(page);
    expect(await ask(`${place}/`, { method: 'HEAD' })).toMatchObject({ code: 200, text: '' });
  });

  it('without a slash behind the proxy are sent to one with it', async () => {
    const place = places()[2]!;
    expect(await ask(`${place}?a=b`)).toMatchObject({ code: 301, headers: { location: `${place}/?a=b` } });
  });
});

describe('a proxy is refused', () => {
  it.each([
    ['of a pod that is not there', 'pods/none/proxy/', 404, 'not found'],
    ['of a port that nothing listens on', 'pods/web:1/proxy/', 503, 'error trying to reach service: '],
    ['of a port that is none', 'pods/web:x/proxy/', 400, 'is no port of a pod'],
    ['of another scheme', 'pods/ftp:web:1/proxy/', 400, 'invalid pod request "ftp:web:1"'],
    ['of a Service that is not there', 'services/none/proxy/', 404, 'not found'],
    ['of a Service without endpoints', 'services/idle:main/proxy/', 503, 'no endpoints available for service "idle"'],
    ['of a port that a Service lacks', 'services/web:9/proxy/', 503, 'no service port 9 found for service "web"'],
    ['of a port name that a Service lacks', 'services/web:x/proxy/', 503, 'no endpoints available for service "web"'],
    ['of an endpoint that another pod had', 'services/forged:main/proxy/', 503, 'error trying to reach service: '],
    ['by a method that is none', 'pods/web/proxy/', 405, 'the server does not allow this method'],
  ])('%s', async (_, path, code, message) => {
    const answered = await ask(`${inDefault}/${path}`, { method: code === 405 ? 'TRACE' : 'GET' });
    expect(JSON.parse(answered.text)).toMatchObject({ kind: 'Status', code, message: expect.stringContaining(message) });
    expect(answered.code).toBe(code);
  });

  it('by what the role allows, method by method and port by port', async () => {
    answer = mirror;
    const as = { headers: { 'impersonate-user': 'bob' } };
    const place = `${inDefault}/services/web:main/proxy/`;
    expect(await ask(place, as)).toMatchObject({ code: 403 });
    const metadata = { namespace: 'default', name: 'proxying' };
    const resource = { apiGroups: [''], resources: ['services/proxy'], resourceNames: ['web:main'], verbs: ['get'] };
    await server.client.roles.create({ metadata, rules: [resource] });
    const subjects = [{ kind: 'User', name: 'bob' }];
    await server.client.roleBindings.create({ metadata, roleRef: { kind: 'Role', name: 'proxying' }, subjects });
    expect(await ask(place, as)).toMatchObject({ code: 200 });
    expect(await ask(place, { ...as, method: 'POST' })).toMatchObject({ code: 403 });
    expect(await ask(`${inDefault}/services/web:80/proxy/`, as)).toMatchObject({ code: 403 });
    expect(await ask(`${inDefault}/pods/web/proxy/`, as)).toMatchObject({ code: 403 });
  });
});

describe('a node', () => {
  const place = '/api/v1/nodes/n1/proxy';

  it('is healthy while its agent answers', async () => {
    expect(await ask(`${place}/healthz`)).toMatchObject({ code: 200, text: 'ok' });
    await server.client.nodes.create({ metadata: { name: 'away' } });
    const away = await ask('/api/v1/nodes/away/proxy/healthz');
    expect(away).toMatchObject({ code: 503, text: expect.stringContaining('not connected') });
  });

  it('lists its pods', async () => {
    const { code, text } = await ask(`${place}/pods`);
    expect(code).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ kind: 'PodList', items: [{ metadata: { name: 'web' }, spec: { nodeName: 'n1' } }] });
    expect(JSON.parse((await ask('/api/v1/nodes/away/proxy/pods')).text).items).toEqual([]);
  });

  it('shows what its agent measures', async () => {
    const { code, text, headers } = await ask(`${place}/metrics`);
    expect([code, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    expect(text).toMatch(/^# HELP berth_/m);
    expect((await ask(`${place}/metrics/cadvisor`)).text).toBe(cadvisor);
    expect(await ask(`${place}/metrics/resource`)).toMatchObject({ code: 200, text: '' });
    expect((await ask('/api/v1/nodes/away/proxy/metrics')).code).toBe(503);
  });

  it('sums up what it measured', async () => {
    await until('figures', async () => (await ask(`${place}/stats/summary`)).code === 200);
    expect(JSON.parse((await ask(`${place}/stats/summary`)).text)).toMatchObject({ node: { nodeName: 'n1' } });
  });

  it.each([
    ['of an unknown page', `${place}/configz`, 'GET', 404],
    ['of an unknown node', '/api/v1/nodes/none/proxy/healthz', 'GET', 404],
    ['by a write', `${place}/run/x`, 'POST', 405],
  ])('is refused a request %s', async (_, path, method, code) => {
    const answered = await ask(path, { method });
    expect(answered.code).toBe(code);
    if (path.endsWith('configz')) expect(answered.text).toContain('/pods, /stats/summary, /metrics');
  });
});

it('discovery names the proxies', async () => {
  const { resources } = JSON.parse((await ask('/api/v1')).text);
  const proxies = resources.filter(({ name }: { name: string }) => name.endsWith('/proxy'));
  expect(proxies.map(({ name, kind }: { name: string; kind: string }) => `${name} ${kind}`)).toEqual([
    'nodes/proxy NodeProxyOptions',
    'pods/proxy PodProxyOptions',
    'services/proxy ServiceProxyOptions',
  ]);
});
