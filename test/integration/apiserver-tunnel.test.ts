import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { ApiError, type Client, connect } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

let server: RunningServer;
let agent: Client;
beforeAll(async () => {
  server = await startServer();
  await issueNodeCredentials(server.dataDir, 'n1');
  agent = connect({ ...server.admin, ...(await readPair(server.dataDir, 'node-n1')) });
  await server.client.nodes.create({ metadata: { name: 'n1' } });
  const node = await server.client.nodes.get({ name: 'n1' });
  node.status = { allocatable: { cpu: { string: '4' }, memory: { string: '4Gi' }, pods: { string: '10' } } };
  await server.client.nodes.updateStatus(node);
  for (const name of ['bound', 'waiting']) {
    const containers = [
      { name: 'web', image: 'x' },
      { name: 'side', image: 'x' },
    ];
    await server.client.pods.create({ metadata: { name, namespace: 'default' }, spec: { containers } });
  }
  await server.client.pods.bind({ namespace: 'default', name: 'bound' }, 'n1');
});
afterAll(async () => {
  agent.close();
  await server.stop();
  await server.remove();
});

const bound = { namespace: 'default', name: 'bound' };

async function readAll(pieces: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece.toString();
  return text;
}

/**
 * Serves logs of a hundred lines and commands that shout their input, until the signal aborts;
 * refuses the container "side".
 */
async function runAgent(signal: AbortSignal): Promise<void> {
  const control = agent.tunnel.control('n1', signal);
  for await (const { streamId = '', logs, exec } of control.requests()) {
    if (logs?.options?.container === 'side') {
      await control.refuse(streamId, new ApiError('NOT_FOUND', 'ContainerNotFound', 'container "side" has not started yet'));
    } else (exec ? serveExec(streamId, signal) : serveLogs(streamId, signal)).catch(() => {});
  }
}

async function serveLogs(streamId: string, signal: AbortSignal): Promise<void> {
  const stream = agent.tunnel.serve(streamId, signal);
  for (let i = 0; i < 100; i++) await stream.write({ logs: { data: Buffer.from(`line ${i}\n`) } });
  stream.end();
}

async function serveExec(streamId: string, signal: AbortSignal): Promise<void> {
  const stream = agent.tunnel.serve(streamId, signal);
  for await (const frame of stream.input('exec')) {
    if (frame.stdin) await stream.write({ exec: { stdout: Buffer.from(frame.stdin.toString().toUpperCase()) } });
    if (!frame.stdinClose) continue;
    await stream.write({ exec: { exit: { code: 7 } } });
    stream.end();
  }
}

test('logs of a pod without a node say so', async () => {
  const reading = readAll(server.client.pods.logs({ namespace: 'default', name: 'waiting' }));
  await expect(reading).rejects.toMatchObject({
    code: 'FAILED_PRECONDITION',
    message: 'pod "waiting" is not yet assigned to a node',
  });
});

test('logs of a node without an agent are unavailable', async () => {
  await expect(readAll(server.client.pods.logs(bound))).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('node "n1" is not connected'),
  });
});

test('an unknown container is refused with the names that exist', async () => {
  const reading = readAll(server.client.pods.logs(bound, { container: 'db' }));
  await expect(reading).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('web, side') });
});

test('with its agent connected, a node serves logs and commands, and its refusals reach the client', async () => {
  const stop = new AbortController();
  const running = runAgent(stop.signal).catch(() => {});
  const text = await vi.waitFor(() => readAll(server.client.pods.logs(bound)), { timeout: 10_000 });
  expect(text.split('\n')).toHaveLength(101);

  const command = server.client.pods.exec(bound, { command: ['tr'], stdin: true, stdout: true, container: 'web' });
  await command.write(Buffer.from('hello'));
  command.closeInput();
  let output = '';
  for await (const piece of command.output()) output += piece.data.toString();
  expect(output).toBe('HELLO');
  expect(await command.exitCode()).toBe(7);

  const refused = readAll(server.client.pods.logs(bound, { container: 'side' }));
  await expect(refused).rejects.toMatchObject({ code: 'NOT_FOUND', message: 'container "side" has not started yet' });
  stop.abort();
  await running;
});

test('a node may not connect under the name of another', async () => {
  const control = agent.tunnel.control('n2', new AbortController().signal);
  const reading = (async () => {
    for await (const _ of control.requests());
  })();
  await expect(reading).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
});
