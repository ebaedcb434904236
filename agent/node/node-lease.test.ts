import { describe, expect, it } from 'vitest';
import { unavailable } from '../../api/errors/index.ts';
import type { Lease } from '../../api/generated/types.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { createNodeLease } from './node-lease.ts';

async function setup() {
  const clock = createFakeClock();
  const client = createFakeResourceClient<Lease>({ kind: 'Lease' });
  const lease = createNodeLease({ client, nodeName: 'n1', holder: 'me', clock, logger: createFakeLogger() });
  const stop = new AbortController();
  await lease.acquire(stop.signal);
  const running = lease.run(stop.signal);
  const renewals = () => client.callLog('update').length;
  return {
    ...{ clock, client, renewals },
    async end() {
      stop.abort();
      await running;
    },
  };
}

describe("the node's lease", () => {
  it('is renewed every 10 s', async () => {
    const { clock, renewals, end } = await setup();
    await clock.advance(60_000);
    expect(renewals()).toBe(6);
    await end();
  });

  it('is renewed within 5 s of the return of a server that was away, and every 10 s from then on', async () => {
    const { clock, client, renewals, end } = await setup();
    const outage = setOutage(client);
    await clock.advance(120_000);
    outage.end();
    const before = renewals();
    await clock.advance(5_000);
    expect(renewals() - before).toBe(1);
    await clock.advance(60_000);
    expect(renewals() - before).toBe(7);
    await end();
  });
});

/** Every call fails until it ends. */
function setOutage(client: ReturnType<typeof createFakeResourceClient<Lease>>) {
  const { get, update } = client;
  const away = async () => {
    throw unavailable('away');
  };
  Object.assign(client, { get: away, update: away });
  return { end: () => Object.assign(client, { get, update }) };
}
