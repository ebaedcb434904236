import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createWebSocketStream, WebSocket } from 'ws';
import { image, isRunning, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { assertOpen, type ClientStream, dialSpdy, SpdyClient } from './spdy-client.ts';

// Ports of a pod over Kubernetes' HTTP API, in the three forms of its clients; a real agent, ports of this machine.
let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
const pods = '/api/v1/namespaces/default/pods';
const path = `${pods}/one/portforward`;
const opened = new Set<{ close(): unknown }>();

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  machine = await startMachine();
  agent = startAgent(server, machine, 'n1');
  await until('node', () => server.client.nodes.get({ name: 'n1' }).catch(() => undefined));
  // With the machine's own network a port of the pod is a port of this test.
  const containers = [{ name: 'app', image, command: ['sleep', '1000'] }];
  const create = (name: string, spec: object) =>
    server.client.pods.create({ metadata: { namespace: 'default', name }, spec: { hostNetwork: true, containers, ...spec } });
  await create('one', { nodeName: 'n1' });
  await create('nowhere', {});
  await podWhere(server.client, 'one', isRunning);
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
  const listener: Server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    opened.add({ close: () => socket.destroy() });
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  opened.add(listener);
  await once(listener, 'listening');
  return (listener.address() as { port: number }).port;
}

/** Answers when the client has said all. */
const answerAll = (socket: Socket): void => {
  const heard: Buffer[] = [];
  socket.on('data', (data) => heard.push(data as Buffer));
  socket.on('end', () => socket.end(`heard ${Buffer.concat(heard)}`));
};

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as { port: number };
  listener.close();
  return port;
}

async function spdy(): Promise<SpdyClient> {
  const dialed = await dialSpdy(server, path, { protocols: ['portforward.k8s.io'] });
  assertOpen(dialed);
  opened.add(dialed);
  return dialed;
}

function socketOf(protocol: string | undefined, query = '', at = path): WebSocket {
  const { ca, cert, key } = server.admin;
  const ws = new WebSocket(`wss://${server.info.kubernetes}${at}${query}`, protocol, { ca, cert, key });
  opened.add({ close: () => ws.terminate() });
  ws.on('error', () => {});
  return ws;
}

/**
 * SPDY in a WebSocket, as kubectl from 1.31 on speaks it. The library takes no subprotocol with "/", so it is offered
 * and read past it.
 */
async function tunnelled(): Promise<SpdyClient> {
  const protocol = 'SPDY/3.1+portforward.k8s.io';
  const { ca, cert, key } = server.admin;
  let spoken: string | undefined;
  const ws = new WebSocket(`wss://${server.info.kubernetes}${path}`, {
    ...{ ca, cert, key },
    finishRequest(call) {
      call.setHeader('Sec-WebSocket-Protocol', protocol);
      call.prependListener('upgrade', ({ headers }) => {
        spoken = headers['sec-websocket-protocol'];
        delete headers['sec-websocket-protocol'];
      });
      call.end();
    },
  });
  await once(ws, 'open');
  expect(spoken).toBe(protocol);
  const client = new SpdyClient(createWebSocketStream(ws), protocol);
  opened.add(client);
  return client;
}

async function connect(client: SpdyClient, port: number, id: string): Promise<{ data: ClientStream; error: ClientStream }> {
  const headers = { port: String(port), requestid: id };
  const error = await client.open({ ...headers, streamtype: 'error' }, true);
  return { error, data: await client.open({ ...headers, streamtype: 'data' }) };
}

describe.each([
  ['over SPDY', spdy],
  ['over SPDY in a WebSocket', tunnelled],
])('port-forward %s', (_, dial) => {
  it('carries several connections at once, each with its own end', async () => {
    const client = await dial();
    const port = await listen(answerAll);
    const [one, two] = await Promise.all([connect(client, port, '0'), connect(client, port, '1')]);
    one.data.write('one ');
    two.data.write('two');
    one.data.write('more');
    one.data.end();
    await one.error.over;
    expect([one.data.text, one.error.text, one.data.hasEnded, two.data.hasEnded]).toEqual(['heard one more', '', true, false]);
    two.data.end();
    await two.error.over;
    expect([two.data.text, two.error.text]).toEqual(['heard two', '']);
    const three = await connect(client, port, '2');
    three.data.end();
    await three.error.over;
    expect(three.data.text).toBe('heard ');
  });

  it("ends the stream of errors with the pod's end, though the client has not ended", async () => {
    const client = await dial();
    const { data, error } = await connect(client, await listen((socket) => socket.end('bye')), '0');
    await Promise.all([data.over, error.over]);
    expect([data.text, error.text]).toEqual(['bye', '']);
    // What the client still sends is dropped.
    for (let index = 0; index < 4; index++) data.write(Buffer.alloc(256 * 1024));
    client.ping(3);
    await until('the connection goes on', () => client.pings.includes(3));
  });

  it('says in the stream of errors that nothing listens', async () => {
    const client = await dial();
    const port = await freePort();
    const { data, error } = await connect(client, port, '0');
    await Promise.all([data.over, error.over]);
    expect(error.text).toMatch(new RegExp(`^error forwarding port ${port} to pod one, uid .*: .*(refused|listens)`));
  });

  it('ends the connection to the pod when the client resets its stream, and when it vanishes', async () => {
    const closed = new Set<Socket>();
    let count = 0;
    const port = await listen((socket) => {
      count++;
      socket.resume();
      socket.on('end', () => closed.add(socket));
    });
    const client = await dial();
    const one = await connect(client, port, '0');
    await connect(client, port, '1');
    await until('two connections', () => count === 2);
    one.data.reset();
    await one.error.over;
    await until('the first is closed', () => closed.size === 1);
    client.close();
    await until('the second is closed', () => closed.size === 2);
  });

  it.each([
    ['without a port', { streamtype: 'data', requestid: '1' }],
    ['with a bad port', { streamtype: 'data', requestid: '1', port: '70000' }],
    ['of an unknown kind', { streamtype: 'stdin', requestid: '1', port: '80' }],
  ])('refuses a stream %s', async (_, headers) => {
    expect(await (await dial()).open(headers)).toMatchObject({ isReset: true, isReplied: false });
  });

  it('takes so many streams, and refuses more', async () => {
    const client = await dial();
    const streams = await Promise.all(
      Array.from({ length: 600 }, (_, index) => client.open({ streamtype: 'data', requestid: String(index), port: '80' })),
    );
    expect(streams.filter(({ isReset }) => isReset).length).toBe(600 - 512);
  });

  it('passes on megabytes no faster than they are read', async () => {
    const size = 20 * 1024 * 1024;
    const client = await dial();
    const { data, error } = await connect(client, await listen((socket) => socket.end(Buffer.alloc(size, 'x'))), '0');
    await Promise.all([data.over, error.over]);
    expect(data.bytes).toBe(size);
  });
});

describe('port-forward over SPDY', () => {
  it('pairs streams without an id by their numbers', async () => {
    const client = await spdy();
    const port = String(await listen(answerAll));
    await client.open({ streamtype: 'error', port }, true);
    const data = await client.open({ streamtype: 'data', port });
    data.write('old');
    data.end();
    await data.over;
    expect(data.text).toBe('heard old');
  });

  it.each([
    ['of an unknown pod', `${pods}/none/portforward`, 404, /not found/],
    ['of a pod without a node', `${pods}/nowhere/portforward`, 400, /^pod nowhere does not have a host assigned$/],
  ])('%s is refused with a Status', async (_, at, code, message) => {
    const refused = await dialSpdy(server, at, { protocols: ['portforward.k8s.io'] });
    expect(refused).toMatchObject({ code, status: { kind: 'Status', message: expect.stringMatching(message) } });
  });

  it('needs the right to it, and a protocol of its own', async () => {
    expect(await dialSpdy(server, path, { headers: { 'impersonate-user': 'bob' } })).toMatchObject({ code: 403 });
    expect(await dialSpdy(server, path, { protocols: ['v4.channel.k8s.io'] })).toMatchObject({ code: 400 });
  });
});

describe('port-forward over channels of a WebSocket', () => {
  it.each(['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', undefined])('carries two for each port, in %s', async (protocol) => {
    const open = (socket: Socket): void => void socket.on('data', (data) => socket.end(`heard ${data}`));
    const ports = [await listen(open), await freePort()];
    const ws = socketOf(protocol, `?ports=${ports.join(',')}`);
    const heard: Buffer[] = [Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0)];
    ws.on('message', (data: Buffer, isBinary: boolean) => {
      const channel = isBinary ? data[0]! : data[0]! - 48;
      const bytes = isBinary ? data.subarray(1) : Buffer.from(data.subarray(1).toString(), 'base64');
      heard[channel] = Buffer.concat([heard[channel]!, bytes]);
    });
    await once(ws, 'open');
    ws.send(protocol?.includes('base64') ? `0${Buffer.from('hello').toString('base64')}` : Buffer.from('\0hello'));
    const [code] = await once(ws, 'close');
    expect([code, ...heard.map((each) => each.readUInt16LE())]).toEqual([1000, ports[0], ports[0], ports[1], ports[1]]);
    const texts = heard.map((each) => each.subarray(2).toString());
    expect(texts).toEqual(['heard hello', '', '', expect.stringContaining(`error forwarding port ${ports[1]}`)]);
  });

  it.each([
    ['without ports', '', /"ports" is required/],
    ['of a bad port', '?ports=80,web', /unable to parse "web" as a port/],
    ['of port 0', '?ports=0', /unable to parse "0" as a port/],
  ])('%s is refused with a Status', async (_, query, message) => {
    const ws = socketOf('v4.channel.k8s.io', query);
    const [, response] = (await once(ws, 'unexpected-response')) as [unknown, IncomingMessage];
    let text = '';
    for await (const piece of response) text += piece;
    expect([response.statusCode, JSON.parse(text).message]).toEqual([400, expect.stringMatching(message)]);
  });
});
