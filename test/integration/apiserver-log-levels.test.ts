import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createUsageHistory } from '../../agent/machine/usage-history.ts';
import { runTunnel } from '../../agent/tunnel/tunnel.ts';
import type { LogLevelControl, LogLevelName } from '../../api/meta/log-level.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { connect, systemClock } from '../../client/index.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

function control(): LogLevelControl {
  let level: LogLevelName = 'info';
  return {
    get: () => level,
    set: (next) => {
      level = next;
    },
  };
}

let server: RunningServer;
const own = control();
const ofAgent = control();
const agentLog = createFakeLogger();
const stop = new AbortController();
let tunnel: Promise<void>;

beforeAll(async () => {
  server = await startServer({ logLevel: own });
  const nobody = (): never => {
    throw new Error('not of this test');
  };
  const access = { logs: nobody, exec: nobody, attach: nobody, stat: nobody, readFiles: nobody, writeFiles: nobody };
  const parts = {
    access,
    dialer: { dial: nobody, close() {} } as never,
    history: createUsageHistory(),
    netCheck: nobody,
    metrics: new MetricsRegistry(),
    get: () => undefined,
    clock: systemClock,
  };
  tunnel = runTunnel(
    { client: server.client.tunnel, nodeName: 'n1', logLevel: ofAgent, logger: agentLog, ...parts },
    stop.signal,
  );
});
afterAll(async () => {
  stop.abort();
  await tunnel;
  await server.stop();
  await server.remove();
});
afterEach(() => {
  own.set('info');
  ofAgent.set('info');
});

test("the server's level can be read and changed while it runs", async () => {
  expect(await server.client.logLevels.get(undefined)).toBe('info');
  expect(await server.client.logLevels.set(undefined, 'debug')).toBe('debug');
  expect(own.get()).toBe('debug');
  expect(await server.client.logLevels.get(undefined)).toBe('debug');
});

test("an agent's level is changed through its tunnel, and its log says in which call", async () => {
  await expect.poll(() => server.client.logLevels.get('n1').catch(() => 'not connected')).toBe('info');
  expect(await server.client.logLevels.set('n1', 'warn', { requestId: 'quiet-please' })).toBe('warn');
  expect([ofAgent.get(), own.get()]).toEqual(['warn', 'info']);
  expect(agentLog.lines).toContainEqual(
    expect.objectContaining({
      message: 'the log level was changed',
      fields: { requestId: 'quiet-please', before: 'info', level: 'warn' },
    }),
  );
});

test('a level that does not exist, and a node that is not connected, are refused', async () => {
  await expect(server.client.logLevels.set(undefined, 'loud' as LogLevelName)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: '"loud" is no log level: use debug, info, warn, error',
  });
  await expect(server.client.logLevels.get('n2')).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('node "n2" is not connected'),
  });
});

test('only administrators may look or change', async () => {
  const { address, ca } = server.info;
  const scheduler = connect({ address, ca, ...(await readPair(server.dataDir, 'scheduler')) });
  for (const call of [() => scheduler.logLevels.get(undefined), () => scheduler.logLevels.set('n1', 'debug')])
    await expect(call()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  expect([own.get(), ofAgent.get()]).toEqual(['info', 'info']);
  scheduler.close();
});
