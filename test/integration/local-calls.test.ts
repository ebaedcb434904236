// Clients in the server's process: what holds for those that come over the network holds for them.
import { readFile } from 'node:fs/promises';
import pino from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ApiError } from '../../api/errors/index.ts';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { auditPath, controlPlane, openAudit } from '../../apiserver/main.ts';
import { type Client, connectOver } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let stops: (() => Promise<void>)[];
beforeEach(() => {
  stops = [];
});
afterEach(async () => {
  for (const stop of stops) await stop();
});

async function start(options: Parameters<typeof startServer>[0] = {}): Promise<RunningServer> {
  const server = await startServer(options);
  stops.push(() => server.stop().then(() => server.remove()));
  return server;
}

function inside({ info }: RunningServer, user: string, groups: string[] = []): Client {
  const client = connectOver(info.channel({ identity: { user, groups }, userAgent: 'inside/1' }), { address: info.address });
  stops.unshift(async () => client.close());
  return client;
}

const failure = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => expect.unreachable('the call should have failed'),
    (error) => error as ApiError,
  );

const configMap = (name: string, value = 'v') => ({ metadata: { namespace: 'default', name }, data: { value } });
const secret = { namespace: 'default', name: 's' };

it('has the rights of its user and no others, also in a stream of writes', async () => {
  const server = await start();
  const scheduler = inside(server, controlPlane.scheduler);
  await scheduler.pods.list();
  const refused = { code: 'PERMISSION_DENIED', reason: 'Forbidden' };
  const told = await failure(scheduler.secrets.get(secret));
  expect(told).toMatchObject({ ...refused, message: expect.stringContaining(controlPlane.scheduler) });
  const writer = scheduler.bulkWriter();
  expect(await failure(writer.resource('ConfigMap').create(configMap('no')))).toMatchObject(refused);
  await writer.close();
  const events = scheduler.secrets.watch({}, { signal: new AbortController().signal })[Symbol.asyncIterator]();
  expect(await failure(events.next())).toMatchObject(refused);
});

it('is counted and audited as any other caller', async () => {
  const metrics = new MetricsRegistry();
  const log = pino({ level: 'silent' });
  const first = await start();
  const audit = await openAudit({ dataDir: first.dataDir, log });
  const server = await start({ metrics, audit: audit.audit });
  const client = inside(server, 'anna', ['system:masters']);
  await client.configMaps.create(configMap('noted'));
  await failure(client.configMaps.get({ namespace: 'default', name: 'missing' }));
  const text = formatMetrics(metrics, 'prometheus');
  const counted = (method: string, code: string) =>
    text.split('\n').some((line) => line.includes(`"${method}"`) && line.includes(`"${code}"`) && / [1-9]/.test(line));
  expect(counted('Create', 'OK')).toBe(true);
  expect(counted('Get', 'NOT_FOUND')).toBe(true);
  await audit.close();
  const lines = (await readFile(auditPath(first.dataDir), 'utf8')).trim().split('\n');
  expect(lines.some((line) => line.includes('"anna"') && line.includes('"create"'))).toBe(true);
});

it('is cut off when it does not read its watch, and reads the reason behind what was on its way', async () => {
  const refused: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => refused.push(line) });
  const server = await start({ watchLimits: { stallMs: 1_000 }, log });
  const client = inside(server, 'anna', ['system:masters']);
  const { resourceVersion } = (await server.client.configMaps.create(configMap('first'))).metadata!;
  const scope = { namespace: 'default', resourceVersion };
  const slow = client.configMaps.watch(scope, { signal: new AbortController().signal })[Symbol.asyncIterator]();
  const opened = slow.next();
  const create = (i: number) => server.client.configMaps.create(configMap(`c${i}`, 'x'.repeat(5_000)));
  for (let i = 0; i < 100; i += 10) await Promise.all(Array.from({ length: 10 }, (_, k) => create(i + k)));
  await opened;
  // The watcher reads again only when the server has given it up, however long that takes.
  await expect.poll(() => refused.some((line) => line.includes('RESOURCE_EXHAUSTED')), { timeout: 30_000 }).toBe(true);
  const rest = async (): Promise<void> => {
    while (!(await slow.next()).done);
  };
  expect(await failure(rest())).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
});

it('sees its watch end when the server stops, and gets no answer from one that has stopped', async () => {
  const server = await start();
  const client = inside(server, 'anna', ['system:masters']);
  const { metadata } = await client.configMaps.list();
  const events = client.configMaps.watch({ resourceVersion: metadata.resourceVersion }, { signal: new AbortController().signal });
  const end = (async () => {
    for await (const _ of events);
  })();
  await client.configMaps.create(configMap('seen'));
  await server.stop();
  await end;
  expect(await failure(client.configMaps.list())).toMatchObject({
    code: 'UNAVAILABLE',
    message: `cannot reach the API server at ${server.info.address}: the connection was lost`,
  });
});
