import { once } from 'node:events';
import { type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { image, isRunning, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// How a log that is followed over HTTP/2 ends; a real agent, containers in memory.
let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
const log = '/api/v1/namespaces/default/pods/one/log';

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  machine = await startMachine();
  agent = startAgent(server, machine, 'n1');
  await until('node', () => server.client.nodes.get({ name: 'n1' }).catch(() => undefined));
  const metadata = { namespace: 'default', name: 'one' };
  const containers = [{ name: 'app', image, command: ['sleep', '1000'] }];
  await server.client.pods.create({ metadata, spec: { nodeName: 'n1', containers } });
  await podWhere(server.client, 'one', isRunning);
});
afterAll(async () => {
  await agent.stop();
  await server.stop();
  await machine.remove();
  await server.remove();
});

/** Begins to read; `text` grows, `complete` resolves to whether the answer came to its own end. */
async function follow() {
  const { ca, cert, key } = server.admin;
  const session = connectHttp2(`https://${server.info.kubernetes}`, { ca: ca!, cert: cert!, key: key! }).on('error', () => {});
  const stream: ClientHttp2Stream = session.request({ ':path': `${log}?follow=true` }).on('error', () => {});
  const read = { text: '' };
  stream.on('data', (piece: Buffer) => {
    read.text += piece;
  });
  const closed = new Promise<number>((resolve) => stream.once('close', () => resolve(stream.rstCode ?? -1)));
  await once(stream, 'response');
  return { read, closed: closed.finally(() => session.destroy()) };
}

it('ends as complete with its run of the container, though the container is started again', async () => {
  const { id } = machine.fake.container('one', 'app');
  const { read, closed } = await follow();
  machine.fake.writeLog(id, 'the first run');
  await expect.poll(() => read.text).toBe('the first run\n');
  machine.fake.writeLog(id, 'its last line');
  machine.fake.exit(id, 1);
  expect(await closed).toBe(constants.NGHTTP2_NO_ERROR);
  expect(read.text).toBe('the first run\nits last line\n');
});

it('is reset as failed when the server stops, so that no client takes it for the whole log', async () => {
  const running = await until('the next run', () => {
    const { id, state } = machine.fake.container('one', 'app');
    return state === 'running' && id;
  });
  const { read, closed } = await follow();
  machine.fake.writeLog(running, 'the second run');
  await expect.poll(() => read.text).toBe('the second run\n');
  const [code] = await Promise.all([closed, server.stop()]);
  expect(code).toBe(constants.NGHTTP2_INTERNAL_ERROR);
});
