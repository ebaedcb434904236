import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import type { NamesChange, NamesSnapshot } from '../names/changes.ts';
import type { Resolver, ResolverOptions } from '../names/resolver.ts';
import { NamesKeeper } from './names-keeper.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-names-'));
  writeFileSync(join(folder, 'resolv.conf'), 'nameserver 10.0.0.53\n');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Started {
  readonly options: ResolverOptions;
  readonly applied: NamesChange[];
  die(why: string): void;
}

const snapshot: NamesSnapshot = { kind: 'snapshot', services: [], slices: [], pods: [] };
const change: NamesChange = { kind: 'delete-service', service: { namespace: 'a', name: 'web' } };

function open() {
  const [clock, logger, ending] = [createFakeClock(), createFakeLogger(), new AbortController()];
  const started: Started[] = [];
  const world = { refuse: '', tries: 0, started, clock, logger };
  const keeper = new NamesKeeper({
    ...{ address: '10.42.0.1', clusterDomain: 'cluster.local', clusterCidrs: ['10.42.0.0/16', '10.43.0.0/16'] },
    ...{ resolvConf: join(folder, 'resolv.conf'), snapshot: () => snapshot, metrics: new MetricsRegistry(), clock, logger },
    start: async (options): Promise<Resolver> => {
      world.tries++;
      if (world.refuse !== '') throw new Error(world.refuse);
      let [close, reject] = [(): void => {}, (_: Error): void => {}];
      const ended = new Promise<void>((...both) => {
        [close, reject] = both;
      });
      const applied: NamesChange[] = [];
      started.push({ options, applied, die: (why) => reject(new Error(why)) });
      return {
        ...{ port: 53, ended, apply: (changes) => applied.push(...changes), setResolvConf: () => {} },
        close: async () => close(),
      };
    },
  });
  const ended = keeper.run(ending.signal);
  const end = () => {
    ending.abort();
    return ended;
  };
  return Object.assign(world, { keeper, end, words: () => logger.lines.map(({ message }) => message) });
}

it('starts the resolver at the node’s address, tells it all there is first, then changes', async () => {
  const { keeper, started, end, words } = open();
  keeper.apply([change]);
  await expect.poll(() => started.length).toBe(1);
  keeper.apply([change]);
  expect(started[0]?.applied).toEqual([snapshot, change]);
  expect(started[0]?.options).toMatchObject({
    ...{ address: '10.42.0.1', port: 53, clusterDomain: 'cluster.local', resolvConf: 'nameserver 10.0.0.53\n' },
  });
  started[0]?.options.onLoop?.('10.0.0.53');
  await end();
  expect(words()).toEqual(['the name server asks this node in turn: it is left out']);
});

it('starts another one when its thread has ended, which is told all there is again', async () => {
  const { started, clock, end, words, keeper } = open();
  await expect.poll(() => started.length).toBe(1);
  started[0]?.die('out of memory');
  await expect.poll(() => clock.pending).toBe(1);
  keeper.apply([change]);
  await clock.advance(200);
  await expect.poll(() => started.length).toBe(2);
  expect(started[1]?.applied).toEqual([snapshot]);
  expect(words()).toEqual(['names are not answered: out of memory']);
  await end();
});

it('waits longer when a thread ends each time soon after its start, and says it again after a good time', async () => {
  const { started, clock, end, words } = open();
  for (let turn = 1; turn <= 8; turn++) {
    await expect.poll(() => started.length).toBe(turn);
    started.at(-1)?.die('out of memory');
    await expect.poll(() => clock.pending).toBe(1);
    if (turn < 8) await clock.advance(10_000);
  }
  await clock.advance(1_000);
  expect([started.length, words()]).toEqual([8, ['names are not answered: out of memory']]);
  await clock.advance(10_000);
  await expect.poll(() => started.length).toBe(9);
  await clock.advance(60_000);
  started.at(-1)?.die('out of memory');
  await expect.poll(() => words().length).toBe(2);
  await expect.poll(() => clock.pending).toBe(1);
  await clock.advance(200);
  await expect.poll(() => started.length).toBe(10);
  await end();
});

it('says once that the address cannot be bound, and tries on', async () => {
  const world = open();
  world.refuse = 'bind 10.42.0.1:53: EADDRINUSE';
  for (let turn = 1; turn <= 3; turn++) {
    await expect.poll(() => world.tries).toBeGreaterThanOrEqual(turn);
    await expect.poll(() => world.clock.pending).toBe(1);
    if (turn < 3) await world.clock.advance(10_000);
  }
  world.refuse = '';
  await world.clock.advance(10_000);
  await expect.poll(() => world.started.length).toBe(1);
  expect(world.words()).toEqual(['names are not answered: bind 10.42.0.1:53: EADDRINUSE']);
  await world.end();
});
