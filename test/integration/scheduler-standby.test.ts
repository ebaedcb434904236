import { type ChildProcess, spawn } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lease } from '../../api/generated/types.ts';
import { toMillis } from '../../api/meta/time.ts';
import { connect, runLeaderElected } from '../../client/index.ts';
import { node, type PodBuilder, pod } from '../builders/index.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { startTcpProxy } from '../fakes/tcp-proxy.ts';
import { testProgram } from '../fixtures/test-program.ts';
import { findOverCommitments, followPlacements, type PlacementHistory } from './placement-history.ts';
import { addNode, addPod, type SchedulerCluster, startSchedulerCluster } from './scheduler-cluster.ts';
import { killProcess } from './server-process.ts';

/**
 * Shorter than in life, so that a test need not wait 15 s; but a leader on a busy machine has to renew in time, and to
 * end its work when it does not.
 */
const seconds = 10;
const figures = { leaseDurationMs: seconds * 1000, renewDeadlineMs: 6_000, retryPeriodMs: 500 };
/** More than the waits of a test together: each says what did not come about. */
const testMs = 360_000;
/** Until a process has read its sources and begun. */
const startMs = 150_000;

let cluster: SchedulerCluster;
let history: PlacementHistory;
const stop: (() => unknown)[] = [];
beforeEach(async () => {
  cluster = await startSchedulerCluster();
  stop.push(() => cluster.stop());
  history = await followPlacements(cluster.client);
  stop.push(() => history.close());
});
afterEach(async () => {
  for (const each of stop.splice(0).reverse()) await each();
});

const lease = (): Promise<Lease> => cluster.client.leases.get({ namespace: 'kube-system', name: 'default-scheduler' });
const holder = async (): Promise<string> => (await lease().catch(() => undefined))?.spec?.holderIdentity ?? '';
const bound = (): number => [...history.pods.values()].filter(({ spec }) => spec?.nodeName).length;
const small = (i: number): PodBuilder => pod(`p${i}`).requests({ cpu: '10m' });

async function startProcess(identity: string): Promise<ChildProcess> {
  const words = [cluster.dataDir, cluster.admin.address, identity, String(seconds)];
  const program = await testProgram('test/integration/scheduler-process.ts');
  const child = spawn(process.execPath, [program, ...words], { stdio: 'inherit' });
  stop.push(() => killProcess(child));
  return child;
}

describe('schedulers that stand by for each other', { timeout: testMs }, () => {
  it('take over from one that was killed: no pod is lost, and none is bound twice', async () => {
    for (let i = 0; i < 5; i++) await addNode(cluster, node(`n${i}`).build());
    const children = { a: await startProcess('a'), b: await startProcess('b') };
    await expect.poll(holder, { timeout: startMs }).not.toBe('');
    const first = (await holder()) as keyof typeof children;
    const count = 300;
    const creating = (async () => {
      for (let i = 0; i < count; i++) await addPod(cluster, small(i));
    })();
    await history.until(
      () => bound() >= 50,
      60_000,
      () => `${bound()} are bound`,
    );
    await killProcess(children[first]);
    await creating;
    await history.until(
      () => bound() === count,
      60_000,
      () => `${bound()} of ${count} are bound`,
    );
    expect(findOverCommitments(history.changes)).toEqual([]);
    expect([await holder(), (await lease()).spec?.leaseTransitions]).toEqual([first === 'a' ? 'b' : 'a', 1]);
  });

  it('take over at once from one that stops in order', async () => {
    await addNode(cluster, node('n1').build());
    const long = { leaseDurationMs: 120_000, renewDeadlineMs: 80_000 };
    const stopFirst = cluster.startScheduler(undefined, { leaderElection: { identity: 'a', ...long } });
    await expect.poll(holder, { timeout: 60_000 }).toBe('a');
    cluster.startScheduler(undefined, { leaderElection: { identity: 'b', ...long } });
    await addPod(cluster, small(1));
    await history.until(() => bound() === 1, 60_000);
    await stopFirst();
    await addPod(cluster, small(2));
    // Without the release that takes the two minutes of a lease.
    await history.until(() => bound() === 2, 60_000);
    expect(await holder()).toBe('b');
  });

  it('take over from one whose connection has fallen silent', async () => {
    await addNode(cluster, node('n1').build());
    const proxy = await startTcpProxy(cluster.admin.address);
    stop.push(() => proxy.close());
    cluster.startScheduler(undefined, { address: proxy.address, leaderElection: { identity: 'a', ...figures } });
    await expect.poll(holder, { timeout: 60_000 }).toBe('a');
    cluster.startScheduler(undefined, { leaderElection: { identity: 'b', ...figures } });
    proxy.freeze();
    await addPod(cluster, small(1));
    await history.until(() => bound() === 1, 60_000);
    expect(await holder()).toBe('b');
    expect(findOverCommitments(history.changes)).toEqual([]);
  });

  it('never lead two at once while connections fall silent and break, by the time of the leases and by the clock', async () => {
    const terms: { readonly who: string; readonly from: number; to: number }[] = [];
    const stopping = new AbortController();
    async function compete(who: string): Promise<void> {
      while (!stopping.signal.aborted) {
        const proxy = await startTcpProxy(cluster.admin.address);
        const client = connect({ ...cluster.admin, address: proxy.address });
        const lead = async (signal: AbortSignal): Promise<void> => {
          const term = { who, from: performance.now(), to: Number.POSITIVE_INFINITY };
          terms.push(term);
          // Its connection falls silent a while after it began to lead; it hears nothing of that.
          const timer = setTimeout(() => proxy.freeze(), 300);
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
          clearTimeout(timer);
          term.to = performance.now();
        };
        const own = { leaseDurationMs: 2_000, renewDeadlineMs: 1_200, retryPeriodMs: 200, logger: createFakeLogger() };
        const options = { leases: client.leases, name: 'default-scheduler', identity: who, ...own };
        await runLeaderElected(options, lead, stopping.signal);
        client.close();
        await proxy.close();
      }
    }
    const competing = ['a', 'b', 'c'].map(compete);
    const seen: Lease[] = [];
    const watching = (async () => {
      const scope = { namespace: 'kube-system', fieldSelector: 'metadata.name=default-scheduler' };
      for await (const batch of cluster.client.leases.watch(scope, { signal: stopping.signal }))
        for (const { type, object } of batch) if (type !== 'BOOKMARK') seen.push(object);
    })().catch(() => {});
    await expect.poll(() => terms.length, { timeout: 120_000 }).toBeGreaterThanOrEqual(6);
    stopping.abort();
    await Promise.all([...competing, watching]);
    for (const [i, { who, from }] of terms.entries())
      for (const before of terms.slice(0, i)) expect(before.to, `${before.who} when ${who} began`).toBeLessThanOrEqual(from);
    expect(overlaps(seen)).toEqual([]);
  });
});

/** Changes of holder before the holder's lease was over, on the one clock that all of them have here. */
function overlaps(leases: readonly Lease[]): string[] {
  return leases.slice(1).flatMap(({ spec = {} }, i) => {
    const { holderIdentity: before, renewTime, leaseDurationSeconds = 0 } = leases[i]!.spec ?? {};
    if (before === undefined || spec.holderIdentity === before || spec.holderIdentity === undefined) return [];
    const earlyMs = toMillis(renewTime!) + leaseDurationSeconds * 1000 - toMillis(spec.acquireTime!);
    return earlyMs > 0 ? [`${spec.holderIdentity} took it ${earlyMs} ms before the lease of ${before} was over`] : [];
  });
}
