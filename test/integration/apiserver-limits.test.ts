import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { type Client, connect } from '../../client/index.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

/**
 * Keeps a call in the server until told otherwise: it waits for a version that does not come,
 * and is made again when it has waited.
 */
async function occupy(client: Client, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await client.namespaces.list({ resourceVersion: '999999', resourceVersionMatch: 'NotOlderThan' }, { signal }).catch(() => {});
  }
}

/** Too short for the client to come back by itself. */
const impatient = { timeoutMs: 400 };

async function connectAs(server: RunningServer, name: string): Promise<Client> {
  const { address, ca } = server.info;
  if (name === 'scheduler') return connect({ address, ca, ...(await readPair(server.dataDir, name)) });
  const files = await issueNodeCredentials(server.dataDir, name);
  const { readFileSync } = await import('node:fs');
  const [cert, key] = [files.certificate, files.key].map((file) => readFileSync(file, 'utf8'));
  return connect({ address, ca, cert, key });
}

describe('a server that is busy', () => {
  const metrics = new MetricsRegistry();
  let server: RunningServer;
  const clients: Client[] = [];
  const leaving = new AbortController();
  let occupied: Promise<unknown>[] = [];
  const refused = () =>
    value(metrics, 'apiserver_flowcontrol_rejected_requests_total{priority_level="control",reason="inflight"}');

  beforeAll(async () => {
    server = await startServer({ limits: { maxInflight: 12, maxStreams: 12 }, metrics });
    for (const name of ['n1', 'scheduler']) clients.push(await connectAs(server, name));
    // The admin takes all there is.
    occupied = Array.from({ length: 12 }, () => occupy(server.client, leaving.signal));
    await vi.waitFor(() => expect(value(metrics, 'apiserver_current_inflight_requests{request_kind="readOnly"}')).toBe(12), {
      timeout: 30_000,
    });
  });
  afterAll(async () => {
    leaving.abort();
    await Promise.all(occupied);
    for (const client of clients) client.close();
    await server.stop();
    await server.remove();
  });

  it('refuses the client that has its share of calls, and says when to come back', async () => {
    // Now and then one of the twelve has just gone, to come again.
    await expect
      .poll(() => server.client.namespaces.get({ name: 'default' }, impatient).catch((error: unknown) => error))
      .toMatchObject({
        code: 'RESOURCE_EXHAUSTED',
        reason: 'TooManyRequests',
        retryAfterMs: 500,
        message: expect.stringContaining('user "admin" has its share of 12 calls at once'),
      });
    expect(refused()).toBeGreaterThan(0);
  });

  it('serves others meanwhile, and the scheduler whatever it asks for', async () => {
    const [node, scheduler] = clients as [Client, Client];
    expect((await node.storageClasses.get({ name: 'local-path' }, impatient)).metadata?.name).toBe('local-path');
    const signal = leaving.signal;
    occupied.push(...Array.from({ length: 20 }, () => occupy(scheduler, signal)));
    const inFlight = () => value(metrics, 'apiserver_current_inflight_requests{request_kind="readOnly"}');
    await expect.poll(inFlight).toBeGreaterThan(25);
    expect((await node.storageClasses.get({ name: 'local-path' }, impatient)).metadata?.name).toBe('local-path');
    expect(value(metrics, 'berth_apiserver_clients{priority_level="control"}')).toBe(2);
  });

  it('is asked again by the client itself, so that its user only waits', async () => {
    const before = refused();
    const waiting = server.client.namespaces.get({ name: 'default' });
    await expect.poll(refused).toBeGreaterThan(before);
    leaving.abort();
    expect((await waiting).metadata?.name).toBe('default');
  });

  it('shares out open streams in the same way', async () => {
    const end = new AbortController();
    const watches = Array.from({ length: 12 }, async () => {
      try {
        for await (const _ of server.client.configMaps.watch({}, { signal: end.signal }));
      } catch {
        // Ended by us.
      }
    });
    const open = () => value(metrics, 'apiserver_longrunning_requests{service="berth.core.v1.ConfigMaps",method="Watch"}');
    await expect.poll(open).toBe(12);
    const one = async () => {
      for await (const _ of server.client.secrets.watch({}, { signal: end.signal }));
    };
    await expect(one()).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryAfterMs: 500 });
    end.abort();
    await Promise.all(watches);
    await expect.poll(open).toBe(0);
  });
});

describe('a server with a rate for each client', () => {
  const metrics = new MetricsRegistry();
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer({ limits: { clientRate: 2, clientBurst: 5 }, metrics });
  });
  afterAll(async () => {
    await server.stop();
    await server.remove();
  });

  it('takes a burst, then refuses with the time until the next call, which the client waits by itself', async () => {
    const get = (timeoutMs: number) => server.client.namespaces.get({ name: 'default' }, { timeoutMs });
    // The first call waits for the connection.
    await get(30_000);
    const results = await Promise.allSettled(Array.from({ length: 30 }, () => get(1_000)));
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) {
      expect(reason).toMatchObject({ code: 'RESOURCE_EXHAUSTED', message: expect.stringContaining('more calls than') });
      expect(reason.retryAfterMs).toBeGreaterThan(0);
      expect(reason.retryAfterMs).toBeLessThanOrEqual(500);
    }
    expect(
      value(metrics, 'apiserver_flowcontrol_rejected_requests_total{priority_level="control",reason="rate"}'),
    ).toBeGreaterThan(0);
    expect((await get(30_000)).metadata?.name).toBe('default');
  });
});

function value(metrics: MetricsRegistry, sample: string): number {
  const line = formatMetrics(metrics, 'prometheus')
    .split('\n')
    .find((each) => each.startsWith(`${sample} `));
  return line === undefined ? Number.NaN : Number(line.slice(sample.length + 1));
}
