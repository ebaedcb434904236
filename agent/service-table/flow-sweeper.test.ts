import { expect, it, vi } from 'vitest';
import { endpoint, port, tableService } from '../../test/builders/table-service.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { FlowSweeper } from './flow-sweeper.ts';
import type { UdpFlow } from './udp-flows.ts';

const stale: UdpFlow = {
  destination: '10.43.0.1',
  destinationPort: 53,
  answering: '10.42.0.1',
  answeringPort: 53,
  replied: true,
};
const dns = (...last: number[]) =>
  tableService('10.43.0.1', [
    port(
      53,
      last.map((each) => endpoint(`10.42.0.${each}`, 53)),
      { protocol: 'UDP' },
    ),
  ]);

function createSweeper(removeUdp: (isStale: (flow: UdpFlow) => boolean) => Promise<number>) {
  const sweeps = vi.fn(removeUdp);
  const logger = createFakeLogger();
  const aborter = new AbortController();
  // Its waits are over in the next turn of the event loop.
  const after = (_: number, callback: () => void) => {
    const timer = setImmediate(callback);
    return () => clearImmediate(timer);
  };
  const clock = { now: () => 0, after };
  const sweeper = new FlowSweeper({ flows: { removeUdp: sweeps }, serviceRanges: ['10.43.0.0/16'], logger, clock });
  const running = sweeper.run(aborter.signal);
  const stop = () => {
    aborter.abort();
    return running;
  };
  return { sweeper, sweeps, logger, stop };
}

it('sweeps when an endpoint went and the table no longer names it, not before and not for TCP', async () => {
  const { sweeper, sweeps, stop } = createSweeper(async (isStale) => Number(isStale(stale)));
  sweeper.set('a/web', tableService('10.43.0.2', [port(80, [endpoint('10.42.0.1')])]));
  sweeper.set('a/web', undefined);
  sweeper.wake();
  sweeper.set('a/dns', dns(1, 2));
  sweeper.set('a/dns', dns(2));
  await new Promise(setImmediate);
  expect(sweeps).not.toHaveBeenCalled();
  sweeper.wake();
  await vi.waitFor(() => expect(sweeps).toHaveBeenCalledTimes(1));
  await expect(sweeps.mock.results[0]!.value).resolves.toBe(1);
  await stop();
});

it('remembers what went when a sweep fails, and says so', async () => {
  let isBroken = true;
  const { sweeper, sweeps, logger, stop } = createSweeper(async (isStale) => {
    if (isBroken) throw new Error('run conntrack: it is not there');
    return Number(isStale(stale));
  });
  sweeper.set('a/dns', dns(1));
  sweeper.set('a/dns', undefined);
  sweeper.wake();
  await vi.waitFor(() => expect(logger.lines[0]?.level).toBe('warn'));
  isBroken = false;
  await vi.waitFor(() => expect(sweeps.mock.results.at(-1)!.value).resolves.toBe(1));
  await stop();
});
