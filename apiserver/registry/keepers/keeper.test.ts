import pino from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { notFound } from '../../../api/errors/index.ts';
import { kindNamed } from '../../../api/kinds/index.ts';
import type { StorageClock } from '../../storage/clock.ts';
import type { Entry } from '../../watch/entry.ts';
import { KindCache } from '../../watch/kind-cache.ts';
import { Keeper, type KeeperOptions } from './keeper.ts';

let stop = new AbortController();
beforeEach(() => {
  stop = new AbortController();
});
afterEach(() => stop.abort());

/** Time that goes on when told; what waits is listed. */
function createHands() {
  const waiting: { readonly ms: number; readonly done: () => void }[] = [];
  const clock: StorageClock = {
    now: () => 0,
    after(ms, done) {
      const each = { ms, done };
      waiting.push(each);
      return () => void waiting.splice(waiting.indexOf(each), 1);
    },
  };
  return { clock, waiting, go: () => waiting[0]?.done() };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const log = pino({ level: 'silent' });

function start(sync: KeeperOptions['sync'], more: Partial<KeeperOptions> = {}) {
  const cache = new KindCache(kindNamed('Service'));
  const hands = createHands();
  const told: string[] = [];
  const keysOf = ({ key }: { key: string }) => {
    told.push(key);
    return [key];
  };
  const sources = [{ cache, keysOf }];
  const keeper = new Keeper({ what: 'it', sources, all: () => [], sync, clock: hands.clock, log, ...more });
  return { cache, hands, keeper, told, ended: keeper.run(stop.signal) };
}

it('looks once at a key that changes several times meanwhile, and never twice at once', async () => {
  const seen: string[] = [];
  let finish = (): void => {};
  const { cache } = start(
    async (key) => {
      seen.push(key);
      await new Promise<void>((resolve) => (finish = resolve));
      return false;
    },
    { workers: 4 },
  );
  for (let revision = 1; revision <= 3; revision++)
    cache.apply({ type: 'put', key: 'a', bytes: Buffer.alloc(0), revision } as never);
  await settled();
  expect(seen).toEqual(['a']);
  cache.apply({ type: 'put', key: 'a', bytes: Buffer.alloc(0), revision: 4 } as never);
  await settled();
  expect(seen).toEqual(['a']);
  finish();
  await settled();
  expect(seen).toEqual(['a', 'a']);
});

it('looks at each key that is woken, and at a key that it has written again only after the pace', async () => {
  const seen: string[] = [];
  const { keeper, hands } = start(
    async (key) => {
      seen.push(key);
      return true;
    },
    { paceMs: 7 },
  );
  keeper.wake('a');
  keeper.wake('b');
  await settled();
  expect([seen, hands.waiting.map(({ ms }) => ms)]).toEqual([
    ['a', 'b'],
    [7, 7],
  ]);
  keeper.wake('a');
  await settled();
  expect(seen).toEqual(['a', 'b']);
  hands.go();
  await settled();
  expect(seen).toEqual(['a', 'b', 'a']);
});

it('looks at all keys when a cache starts afresh, since what is gone had no event', async () => {
  const seen: string[] = [];
  const sync = async (key: string): Promise<boolean> => {
    seen.push(key);
    return false;
  };
  const { cache } = start(sync, { all: () => ['gone', 'there'] });
  await settled();
  cache.reset([], 7);
  await settled();
  expect(seen).toEqual(['gone', 'there', 'gone', 'there']);
});

it('tries again later each time what fails, and soon what another write came before', async () => {
  const disk = new Error('disk');
  const errors: (Error | undefined)[] = [disk, disk, notFound({ kind: 'Service' }), undefined, ...Array(8).fill(disk)];
  let looks = 0;
  const { keeper, hands } = start(async () => {
    looks++;
    const error = errors.shift();
    if (error) throw error;
    return false;
  });
  keeper.wake('a');
  // The key rests, and after an error that says nothing of another write, the worker for a second.
  for (const waits of [[1_000, 1_000], [2_000, 1_000], [200]]) {
    await settled();
    expect(hands.waiting.map(({ ms }) => ms)).toEqual(waits);
    for (const _ of waits) hands.go();
  }
  await settled();
  expect([hands.waiting, looks]).toEqual([[], 4]);
  // A success begins the waits anew, and they end at a minute.
  keeper.wake('a');
  for (const ms of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
    await settled();
    expect(hands.waiting.map((each) => each.ms)).toEqual([ms, 1_000]);
    for (let i = 0; i < 2; i++) hands.go();
  }
});

it('looks at other keys while one that failed rests', async () => {
  const seen: string[] = [];
  const { keeper, hands } = start(async (key) => {
    seen.push(key);
    if (key === 'bad') throw new Error('too large');
    return false;
  });
  keeper.wake('bad');
  await settled();
  hands.waiting.find(({ ms }) => ms === 1_000)?.done();
  await settled();
  // The second failure: from here on the key rests longer than the worker.
  hands.go();
  await settled();
  expect(seen).toEqual(['bad', 'bad']);
  expect(hands.waiting.map(({ ms }) => ms)).toEqual([2_000, 1_000]);
  hands.waiting[1]?.done();
  keeper.wake('good');
  await settled();
  expect(seen).toEqual(['bad', 'bad', 'good']);
});

it('lets no key rest after a look that wrote nothing, and looks at as many at once as it has workers', async () => {
  const seen: string[] = [];
  const finish: (() => void)[] = [];
  const { keeper, hands } = start(
    async (key) => {
      seen.push(key);
      await new Promise<void>((resolve) => finish.push(resolve));
      return false;
    },
    { workers: 2, paceMs: 7 },
  );
  for (const key of ['a', 'b', 'c']) keeper.wake(key);
  await settled();
  expect(seen).toEqual(['a', 'b']);
  keeper.wake('a');
  finish[0]!();
  await settled();
  expect([seen, hands.waiting]).toEqual([['a', 'b', 'c'], []]);
  finish[1]!();
  await settled();
  expect(seen).toEqual(['a', 'b', 'c', 'a']);
});

it('looks at what an object bore on before a change, too, which may be more than can be read', async () => {
  const cache = new KindCache(kindNamed('Service'));
  const keysOf = ({ bytes }: Entry): readonly string[] => {
    const text = bytes.toString();
    if (text === 'bad') throw new Error('damaged');
    return [text];
  };
  const seen: string[] = [];
  const sync = async (key: string): Promise<boolean> => {
    seen.push(key);
    return false;
  };
  start(sync, { sources: [{ cache, keysOf }] });
  for (const [at, text] of ['x', 'y', 'bad', 'z'].entries()) {
    cache.apply({ type: 'put', key: 'a', bytes: Buffer.from(text), revision: at + 1 } as never);
    await settled();
  }
  expect(seen).toEqual(['x', 'x', 'y', 'y', 'z']);
});

it('ends with the signal while it waits, and follows nothing any more', async () => {
  const { ended, cache, told } = start(async () => false, { workers: 3 });
  await settled();
  stop.abort();
  await ended;
  cache.apply({ type: 'put', key: 'a', bytes: Buffer.alloc(0), revision: 1 } as never);
  expect(told).toEqual([]);
});
