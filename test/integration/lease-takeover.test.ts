import { afterEach, expect, test } from 'vitest';
import type { Lease, LeaseSpec } from '../../api/generated/types.ts';
import { connect } from '../../client/index.ts';
import { startServer } from './apiserver-harness.ts';
import { killProcess, startServerProcess } from './server-process.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test('leases that were taken over, created or released are so after a server that was killed at that moment', async () => {
  const seed = await startServer({ backend: 'lmdb' });
  cleanups.push(seed.remove);
  await seed.stop();
  const { leases, close } = connect(seed.admin);
  cleanups.push(close);
  const start = async () => {
    const server = await startServerProcess(seed.dataDir, seed.info.address);
    cleanups.push(() => killProcess(server));
    return server;
  };
  const at = (name: string) => ({ namespace: 'default', name });
  const spec = (holderIdentity: string): LeaseSpec => ({ holderIdentity, leaseDurationSeconds: 15 });
  const first = await start();
  const create = (name: string): Promise<Lease> => leases.create({ metadata: at(name), spec: spec('a') });
  const isThere = () =>
    create('taken').then(
      () => true,
      () => false,
    );
  await expect.poll(isThere, { timeout: 20_000 }).toBe(true);
  const released = await create('released');
  await leases.patch(at('taken'), { spec: { holderIdentity: 'b', leaseTransitions: 1 } });
  // As client-go writes it.
  const now = { seconds: Math.floor(Date.now() / 1000) };
  const nobody = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
  await leases.update({ ...released, spec: nobody });
  await create('created');
  await killProcess(first);
  await start();
  const holder = (name: string) => leases.get(at(name)).then((lease) => lease.spec?.holderIdentity);
  await expect.poll(() => holder('taken').catch(() => undefined), { timeout: 20_000 }).toBe('b');
  expect([await holder('released'), await holder('created')]).toEqual(['', 'a']);
}, 120_000);
