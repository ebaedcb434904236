import { afterAll, beforeAll, expect, test } from 'vitest';
import { containerSeries, createUsageHistory, nodeSeries } from '../../agent/machine/usage-history.ts';
import { runTunnel } from '../../agent/tunnel/tunnel.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { systemClock } from '../../client/index.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
let tunnel: Promise<void>;
let uid: string;
const stop = new AbortController();
const history = createUsageHistory();

beforeAll(async () => {
  server = await startServer();
  const nobody = (): never => {
    throw new Error('not of this test');
  };
  const access = { logs: nobody, exec: nobody, attach: nobody, stat: nobody, readFiles: nobody, writeFiles: nobody };
  const dialer = { dial: nobody, close() {} } as never;
  const parts = { access, dialer, netCheck: nobody, metrics: new MetricsRegistry(), get: () => undefined, clock: systemClock };
  const { client } = server;
  tunnel = runTunnel({ client: client.tunnel, nodeName: 'n1', history, logger: createFakeLogger(), ...parts }, stop.signal);
  await client.nodes.create({ metadata: { name: 'n1' }, spec: {} });
  const spec = { containers: [{ name: 'app', image: 'nginx' }] };
  const pod = await client.pods.create({ metadata: { name: 'web', namespace: 'default' }, spec });
  uid = pod.metadata?.uid ?? '';
  await client.pods.create({ metadata: { name: 'waits', namespace: 'default' }, spec });
  await client.pods.bind({ namespace: 'default', name: 'web', uid }, 'n1');
  history.begin(1_000);
  history.add('', new Array<number>(Object.keys(nodeSeries).length).fill(2));
  history.add(`${uid}/app`, [0.25, ...new Array<number>(Object.keys(containerSeries).length - 1).fill(Number.NaN)]);
});
afterAll(async () => {
  stop.abort();
  await tunnel;
  await server.stop();
  await server.remove();
});

test('the history of a node comes through its tunnel', async () => {
  await expect.poll(() => server.client.usageHistories.ofNode('n1').catch(() => undefined)).toBeDefined();
  const { nodeName, times, series } = await server.client.usageHistories.ofNode('n1');
  expect([nodeName, times, series?.length]).toEqual(['n1', [{ seconds: 1 }], Object.keys(nodeSeries).length]);
});

test('the history of a pod is asked of its node, by its uid', async () => {
  const { series } = await server.client.usageHistories.ofPod('default', 'web');
  expect(series).toEqual([{ container: 'app', figure: 'cpu', unit: 'cores', values: [0.25] }]);
});

test('a history that is not kept is refused with the reason', async () => {
  const { usageHistories } = server.client;
  await expect(usageHistories.ofPod('default', 'web', { container: 'db' })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('choose one of app'),
  });
  await expect(usageHistories.ofPod('default', 'none')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(usageHistories.ofPod('default', 'waits')).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
  await expect(usageHistories.ofNode('n2')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(usageHistories.ofNode('')).rejects.toMatchObject({ message: 'name either a pod or a node' });
});
