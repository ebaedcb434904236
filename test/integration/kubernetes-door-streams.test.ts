import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { image, isRunning, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// What streams from pods over Kubernetes' HTTP API; a real agent, containers in memory.
let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
const pods = '/api/v1/namespaces/default/pods';

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  machine = await startMachine();
  agent = startAgent(server, machine, 'n1');
  await until('node', () => server.client.nodes.get({ name: 'n1' }).catch(() => undefined));
  const app = { name: 'app', image, command: ['sleep', '1000'] };
  await create('one', [app]);
  await create('two', [app, { ...app, name: 'side' }]);
  await podWhere(server.client, 'one', isRunning);
  const { id } = machine.fake.container('one', 'app');
  for (const line of ['first', 'second', 'third']) machine.fake.writeLog(id, line);
});
afterAll(async () => {
  await agent.stop();
  await server.stop();
  await machine.remove();
  await server.remove();
});

const create = (name: string, containers: object[]) =>
  server.client.pods.create({ metadata: { namespace: 'default', name }, spec: { nodeName: 'n1', containers } });

async function open(path: string, { method = 'GET', headers = {} }: { method?: string; headers?: object } = {}) {
  const [host, port] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  const call = request({ host, port, path, method, ca, cert, key, agent: false, headers: { ...headers } });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return response;
}

async function ask(path: string, asked?: Parameters<typeof open>[1]) {
  const response = await open(path, asked);
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString();
  return { code: response.statusCode, text, type: response.headers['content-type'] };
}

describe('a log', () => {
  it('is plain text', async () => {
    expect(await ask(`${pods}/one/log`)).toEqual({ code: 200, text: 'first\nsecond\nthird\n', type: 'text/plain' });
  });

  it('of a pod without a node is empty', async () => {
    const containers = [{ name: 'app', image }];
    await server.client.pods.create({ metadata: { namespace: 'default', name: 'nowhere' }, spec: { containers } });
    expect(await ask(`${pods}/nowhere/log`)).toEqual({ code: 200, text: '', type: 'text/plain' });
  });

  it('may be asked for by its last lines', async () => {
    expect((await ask(`${pods}/one/log?tailLines=1&container=app`)).text).toBe('third\n');
  });

  it('that is followed goes on with what is written later', async () => {
    const response = await open(`${pods}/one/log?follow=true&tailLines=1`);
    const pieces = response[Symbol.asyncIterator]();
    let text = String((await pieces.next()).value);
    machine.fake.writeLog(machine.fake.container('one', 'app').id, 'fourth');
    while (!text.includes('fourth')) text += String((await pieces.next()).value);
    expect(text).toBe('third\nfourth\n');
    response.destroy();
  });

  it.each([
    ['of one of several containers', 'two/log', 400, 'a container name must be specified for pod two, choose one of: [app side]'],
    ['of an unknown container', 'one/log?container=db', 400, 'container db is not valid for pod one'],
    ['of an unknown pod', 'none/log', 404, 'not found'],
    ['with a bad number of lines', 'one/log?tailLines=-1', 422, 'must be greater than or equal to 0'],
    ['with a time that is none', 'one/log?sinceTime=yesterday', 400, 'RFC 3339'],
  ])('%s is refused with a Status', async (_, path, code, message) => {
    const answer = await ask(`${pods}/${path}`);
    expect(answer).toMatchObject({ code, type: 'application/json' });
    expect(JSON.parse(answer.text)).toMatchObject({ kind: 'Status', message: expect.stringContaining(message) });
  });

  it('needs the right to it', async () => {
    expect(await ask(`${pods}/one/log`, { headers: { 'impersonate-user': 'bob' } })).toMatchObject({ code: 403 });
  });
});

describe('a log over a WebSocket', () => {
  const openLog = (query: string, protocol: string | undefined, headers = {}) => {
    const { ca, cert, key } = server.admin;
    const url = `wss://${server.info.kubernetes}${pods}/${query}`;
    const ws = new WebSocket(url, protocol === undefined ? [] : protocol, { ca, cert, key, headers });
    const heard: { text: string; kinds: Set<string> } = { text: '', kinds: new Set() };
    ws.on('message', (data: Buffer, isBinary: boolean) => {
      heard.kinds.add(isBinary ? 'bytes' : 'text');
      heard.text += isBinary ? data.toString() : Buffer.from(data.toString(), 'base64').toString();
    });
    return { ws, heard };
  };

  it.each([
    ['binary.k8s.io', 'bytes'],
    ['base64.binary.k8s.io', 'text'],
    [undefined, 'bytes'],
  ])('in the subprotocol %s is messages of %s, and ends well', async (protocol, kind) => {
    const { ws, heard } = openLog('one/log?limitBytes=12', protocol);
    const [code] = await once(ws, 'close');
    expect({ code, ...heard, protocol: ws.protocol }).toEqual({
      ...{ code: 1000, text: 'first\nsecond', kinds: new Set([kind]) },
      protocol: protocol ?? '',
    });
  });

  it('that is followed goes on with what is written later, until the client goes', async () => {
    const { ws, heard } = openLog('one/log?follow=true&tailLines=1', 'binary.k8s.io');
    await expect.poll(() => heard.text).not.toBe('');
    machine.fake.writeLog(machine.fake.container('one', 'app').id, 'over the socket');
    await expect.poll(() => heard.text).toContain('over the socket\n');
    ws.close(1000);
    await once(ws, 'close');
  });

  it('of a pod without a node is empty', async () => {
    const containers = [{ name: 'app', image }];
    await server.client.pods.create({ metadata: { namespace: 'default', name: 'nowhere-yet' }, spec: { containers } });
    const { ws, heard } = openLog('nowhere-yet/log', 'binary.k8s.io');
    const [code] = await once(ws, 'close');
    expect([code, heard.text]).toEqual([1000, '']);
  });

  it.each([
    ['without rights', 'one/log', 'binary.k8s.io', { 'impersonate-user': 'bob' }, 403],
    ['of an unknown container', 'one/log?container=db', 'binary.k8s.io', {}, 400],
    ['of an unknown pod', 'none/log', 'binary.k8s.io', {}, 404],
    ['in an unknown subprotocol', 'one/log', 'v9.channel.k8s.io', {}, 400],
  ])('%s is refused before the connection is given away', async (_, query, protocol, headers, code) => {
    const { ws } = openLog(query, protocol, headers);
    const [, response] = await once(ws, 'unexpected-response');
    expect((response as IncomingMessage).statusCode).toBe(code);
  });
});

it('a request that wants another protocol where there is none is answered as any other', async () => {
  const headers = { connection: 'Upgrade', upgrade: 'websocket' };
  expect(await ask(`${pods}/one`, { headers })).toMatchObject({ code: 200, type: 'application/json' });
  expect(await ask(`${pods}/none`, { headers })).toMatchObject({ code: 404 });
});

describe.each(['exec', 'attach'])('%s over a WebSocket', (verb) => {
  /** Collects what each channel says; no protocol is offered where it is empty. */
  function dial(query: string, protocol: string, headers = {}) {
    const { ca, cert, key } = server.admin;
    const url = `wss://${server.info.kubernetes}${pods}/one/${verb}?${query}`;
    const ws = new WebSocket(url, protocol === '' ? [] : protocol, { ca, cert, key, headers });
    const heard: Record<number, string> = {};
    ws.on('message', (data: Buffer, isBinary: boolean) => {
      const channel = isBinary ? data[0]! : data[0]! - 48;
      const bytes = isBinary ? data.subarray(1) : Buffer.from(data.subarray(1).toString(), 'base64');
      heard[channel] = (heard[channel] ?? '') + bytes;
    });
    return { ws, heard };
  }

  /** The same until the server closes; `typed` is sent first. */
  async function run(query: string, protocol: string, typed: (Buffer | string)[] = [], headers = {}) {
    const { ws, heard } = dial(query, protocol, headers);
    const refused = once(ws, 'unexpected-response').then(([, response]) => (response as IncomingMessage).statusCode);
    const opened = await Promise.race([once(ws, 'open').then(() => undefined), refused]);
    if (opened !== undefined) return { refused: opened };
    for (const each of typed) ws.send(each);
    const [code] = await once(ws, 'close');
    return { heard, code, protocol: ws.protocol };
  }
  const flags = 'stdin=1&stdout=1&stderr=1&command=cat';
  const close = Buffer.from([255, 0]);

  it('carries input and output, and says that all went well', async () => {
    machine.fake.onExec(() => ({ echo: true, stderr: 'oops' }));
    const result = await run(flags, 'v5.channel.k8s.io', [Buffer.from('\0hello'), close]);
    expect(result).toMatchObject({ code: 1000, protocol: 'v5.channel.k8s.io', heard: { 1: 'hello' } });
    expect(JSON.parse(result.heard![3]!)).toEqual({ metadata: {}, status: 'Success' });
    if (verb === 'exec') expect(result.heard![2]).toBe('oops');
  });

  it('is the same in base64, for clients that know text alone', async () => {
    machine.fake.onExec(() => ({ stdout: 'hello', exitCode: 3 }));
    machine.fake.onAttach(() => ({ stdout: 'hello' }));
    const result = await run('stdout=1&command=x', 'v4.base64.channel.k8s.io');
    expect(result.heard![1]).toBe('hello');
    const { reason, details } = JSON.parse(result.heard![3]!);
    expect([reason, details]).toEqual(
      verb === 'exec' ? ['NonZeroExitCode', { causes: [{ reason: 'ExitCode', message: '3' }] }] : [undefined, undefined],
    );
  });

  it.each(['', 'channel.k8s.io', 'base64.channel.k8s.io'])(
    'in the subprotocol "%s" tells a failure in words',
    async (protocol) => {
      machine.fake.onExec(() => ({ stdout: 'hello', exitCode: 3 }));
      machine.fake.onAttach(() => ({ stdout: 'hello' }));
      const said = 'command terminated with non-zero exit code: exit status 3';
      const heard = verb === 'exec' ? { 1: 'hello', 3: said } : { 1: 'hello' };
      expect(await run('stdout=1&command=x', protocol)).toEqual({ heard, code: 1000, protocol });
      machine.fake.onExec(() => ({ stdout: 'hello' }));
      expect(await run('stdout=1&command=x', protocol)).toEqual({ heard: { 1: 'hello' }, code: 1000, protocol });
    },
  );

  it.each([
    ['v5.channel.k8s.io', false],
    ['v4.channel.k8s.io', false],
    ['v4.base64.channel.k8s.io', true],
    ['channel.k8s.io', false],
    ['base64.channel.k8s.io', true],
  ])('in %s carries input and sizes of the terminal until the client goes', async (protocol, isBase64) => {
    const sizes: string[] = [];
    let closed = 0;
    const resized = (width: number, height: number): void => void sizes.push(`${width}x${height}`);
    const session = () => ({ echo: true, resized, closed: () => void closed++ });
    machine.fake.onExec(session);
    machine.fake.onAttach(session);
    const { ws, heard } = dial('stdin=1&stdout=1&tty=1&command=sh', protocol);
    await once(ws, 'open');
    const send = (channel: number, text: string): void =>
      ws.send(
        isBase64 ? `${channel}${Buffer.from(text).toString('base64')}` : Buffer.from(`${String.fromCharCode(channel)}${text}`),
      );
    send(4, '{"Width":80,"Height":24}');
    // Two that are no sizes, and a channel that does not exist.
    for (const none of ['{"Width":0,"Height":0}', 'nonsense']) send(4, none);
    send(9, 'ignored');
    send(4, '{"Width":81,"Height":25}\n');
    send(0, 'typed');
    if (protocol !== 'v5.channel.k8s.io' && !isBase64) ws.send(close);
    send(0, ' more');
    await expect.poll(() => heard[1]).toBe('typed more');
    await expect.poll(() => sizes).toEqual(['80x24', '81x25']);
    expect([closed, ws.readyState]).toEqual([0, WebSocket.OPEN]);
    ws.close(1000);
    await expect.poll(() => closed).toBeGreaterThan(0);
    expect(heard).toEqual({ 1: 'typed more' });
  });

  it.each([
    ['without rights', flags, 'v4.channel.k8s.io', { 'impersonate-user': 'bob' }, 403],
    ['of an unknown container', `${flags}&container=db`, 'v4.channel.k8s.io', {}, 400],
    ['without a stream', 'command=x', 'v4.channel.k8s.io', {}, 400],
    ['in an unknown subprotocol', flags, 'v9.channel.k8s.io', {}, 400],
  ])('%s is refused before the connection is given away', async (_, query, protocol, headers, code) => {
    expect(await run(query, protocol, [], headers)).toEqual({ refused: code });
  });

  it('needs a connection that is upgraded', async () => {
    expect(await ask(`${pods}/one/${verb}?${flags}`, { method: 'POST' })).toMatchObject({ code: 400 });
  });
});
