import { type ChildProcess, spawn } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lease } from '../../api/generated/types.ts';
import { toMillis } from '../../api/meta/time.ts';
import { type ConnectOptions, connect } from '../../client/index.ts';
import { runElected } from '../../host/processes/elected-controllers.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { testProgram } from '../fixtures/test-program.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';
import { killProcess } from './server-process.ts';

let server: RunningServer;
const stop: (() => unknown)[] = [];
beforeEach(async () => {
  server = await startServer({ backend: 'lmdb' });
  stop.push(server.remove, server.stop);
});
afterEach(async () => {
  for (const each of stop.splice(0).reverse()) await each();
});

const lease = (): Promise<Lease | undefined> =>
  server.client.leases.get({ namespace: 'kube-system', name: 'berth-controllers' }).catch(() => undefined);
const holder = async (): Promise<string> => (await lease())?.spec?.holderIdentity ?? '';

/** Whether controllers are at work: they give each new namespace its account. */
async function isWorking(name: string): Promise<boolean> {
  await server.client.namespaces.create({ metadata: { name } }).catch(() => {});
  const account = server.client.serviceAccounts.get({ namespace: name, name: 'default' });
  return account.then(
    () => true,
    () => false,
  );
}

async function startProcess(identity: string): Promise<ChildProcess> {
  const words = [server.dataDir, server.info.address, identity];
  const program = await testProgram('test/integration/controllers-process.ts');
  const child = spawn(process.execPath, [program, ...words], { stdio: 'inherit' });
  stop.push(() => killProcess(child));
  return child;
}

async function startHere(identity: string): Promise<() => Promise<void>> {
  const { address, ca } = server.info;
  const connection = { address, ca, ...(await readPair(server.dataDir, 'controllers')) };
  const stopping = new AbortController();
  const open = (leaseTerm: ConnectOptions['leaseTerm']) => connect({ ...connection, leaseTerm });
  const running = runElected({ connect: open, identity, options: { logger: createFakeLogger() } }, stopping.signal);
  const end = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  stop.push(end);
  return end;
}

describe('controllers that stand by for each other', () => {
  it('take over within 15 s from a process that was killed', async () => {
    const first = await startProcess('a');
    await expect.poll(holder, { timeout: 30_000 }).toBe('a');
    await startHere('b');
    await expect.poll(() => isWorking('before'), { timeout: 15_000 }).toBe(true);
    await killProcess(first);
    const killedAt = Date.now();
    await expect.poll(() => isWorking('after'), { timeout: 20_000, interval: 200 }).toBe(true);
    const tookMs = Date.now() - killedAt;
    const { spec } = (await lease())!;
    expect(spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    // A claim about the lease's times, which are seconds long, and not about the machine's speed.
    const acquiredMs = toMillis(spec!.acquireTime!) - killedAt;
    expect(tookMs, `of which ${acquiredMs} ms until the lease was acquired`).toBeLessThan(15_000);
  }, 90_000);

  it('take over at once from a process that ends in order', async () => {
    const end = await startHere('a');
    await expect.poll(holder, { timeout: 30_000 }).toBe('a');
    await startHere('b');
    await end();
    await expect.poll(holder, { timeout: 5_000 }).toBe('b');
    await expect.poll(() => isWorking('next'), { timeout: 5_000 }).toBe(true);
  }, 60_000);

  it('begin a term of their own when they are started again under the identity of before', async () => {
    const first = await startProcess('server');
    await expect.poll(holder, { timeout: 30_000 }).toBe('server');
    const { leaseTransitions = 0 } = (await lease())?.spec ?? {};
    await killProcess(first);
    await startHere('server');
    await expect.poll(async () => (await lease())?.spec?.leaseTransitions, { timeout: 5_000 }).toBe(leaseTransitions + 1);
    await expect.poll(() => isWorking('again'), { timeout: 5_000 }).toBe(true);
  }, 60_000);
});
