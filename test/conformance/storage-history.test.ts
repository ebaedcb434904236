import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Storage } from '../../apiserver/storage/storage.ts';
import type { Moment } from '../../apiserver/storage/storage-history.ts';
import { createFakeClock, type FakeClock } from '../fakes/fake-clock.ts';
import { backends, listed, type OpenedBackend, openBackend, refusal, textOf, write } from './storage-backends.ts';

const start = Date.UTC(2026, 0, 1);
const by = (user: string, verb: string, text: string) => ({ ...write(text), user, verb, manager: `${user}-tool` });

/** A page of a key's history in short: "verb by user: text@revision". */
async function historyOf(storage: Storage, key: string, options: { before?: number; limit?: number } = {}): Promise<string[]> {
  const { writes, more } = await storage.history.writes(key, { limit: 100, ...options });
  const lines = writes.map(
    (each) => `${each.type} ${each.verb} by ${each.user}: ${textOf(each)}@${each.revision}<${each.previous}`,
  );
  return more ? [...lines, '...'] : lines;
}

describe.each(backends)('the history of the %s storage', (backend) => {
  let opened: OpenedBackend;
  let storage: Storage;
  let clock: FakeClock;

  beforeEach(async () => {
    clock = createFakeClock(start);
    opened = await openBackend(backend, undefined, { clock });
    storage = opened.storage;
  });
  afterEach(() => opened.dispose());

  /**
   * Writes one a second, from start + 1 s on: a created (1), changed (2), deleted (3) and created again (4),
   * with b between (5).
   */
  async function story(): Promise<void> {
    clock.skew(1_000);
    await storage.create('pods/a', by('ann', 'create', '1'));
    clock.skew(1_000);
    await storage.update('pods/a', 1, by('bob', 'patch', '2'));
    clock.skew(1_000);
    await storage.delete('pods/a', 2, by('ann', 'delete', '2'));
    clock.skew(1_000);
    await storage.create('pods/a', by('eve', 'create', '4'));
    clock.skew(1_000);
    await storage.create('pods/b', by('eve', 'create', '5'));
  }

  describe('of a key', () => {
    it('has every write, the newest first, with who made it and when, across a deletion', async () => {
      await story();
      expect(await historyOf(storage, 'pods/a')).toEqual([
        'put create by eve: 4@4<3',
        'delete delete by ann: 2@3<2',
        'put patch by bob: 2@2<1',
        'put create by ann: 1@1<0',
      ]);
      const { writes, compacted } = await storage.history.writes('pods/a', { limit: 10 });
      expect(writes.map(({ time }) => time - start)).toEqual([4_000, 3_000, 2_000, 1_000]);
      expect(writes[1]).toMatchObject({ manager: 'ann-tool' });
      expect(compacted).toBe(0);
    });

    it('is read page by page', async () => {
      await story();
      expect(await historyOf(storage, 'pods/a', { limit: 2 })).toEqual([
        'put create by eve: 4@4<3',
        'delete delete by ann: 2@3<2',
        '...',
      ]);
      expect(await historyOf(storage, 'pods/a', { limit: 1, before: 3 })).toEqual(['put patch by bob: 2@2<1', '...']);
      expect(await historyOf(storage, 'pods/a', { limit: 1, before: 2 })).toEqual(['put create by ann: 1@1<0']);
      expect(await historyOf(storage, 'pods/a', { limit: 1, before: 1 })).toEqual([]);
    });

    it('is kept for an object that is gone', async () => {
      await story();
      await storage.delete('pods/a', 4, by('eve', 'delete', '4'));
      expect((await historyOf(storage, 'pods/a'))[0]).toBe('delete delete by eve: 4@6<4');
    });

    it('is empty for a key that never was, for one that only begins alike, and for a relaxed one', async () => {
      await storage.create('pods/ab', write('1'));
      await storage.create('leases/a', write('2', 'relaxed'));
      expect(await historyOf(storage, 'pods/a')).toEqual([]);
      expect(await historyOf(storage, 'leases/a')).toEqual([]);
    });

    it('keeps only its newest write of what was compacted, and no deletion', async () => {
      await story();
      await storage.compact(2);
      expect(await historyOf(storage, 'pods/a')).toEqual([
        'put create by eve: 4@4<3',
        'delete delete by ann: 2@3<2',
        'put patch by bob: 2@2<1',
      ]);
      await storage.compact(3);
      expect(await historyOf(storage, 'pods/a')).toEqual(['put create by eve: 4@4<3']);
      await storage.delete('pods/b', 5, write('5'));
      await storage.compact(6);
      expect(await historyOf(storage, 'pods/b')).toEqual([]);
      expect(await historyOf(storage, 'pods/a')).toEqual(['put create by eve: 4@4<3']);
    });

    it('refuses the next page when a compaction has overtaken it, and gives it when it has not', async () => {
      await story();
      await storage.compact(2);
      expect(await historyOf(storage, 'pods/a', { before: 3 })).toEqual(['put patch by bob: 2@2<1']);
      await storage.compact(3);
      expect(await refusal(storage.history.writes('pods/a', { before: 3, limit: 1 }))).toEqual({
        code: 'compacted',
        revision: 3,
      });
      expect(await historyOf(storage, 'pods/a', { before: 4 })).toEqual([]);
    });
  });

  describe('at a time', () => {
    it('is the state after the last write until then', async () => {
      await story();
      const at = async (ms: number) => (await storage.history.at(start + ms))?.revision;
      expect(await Promise.all([1_000, 1_999, 2_000, 4_500, 5_000, 999_999].map(at))).toEqual([1, 1, 2, 4, 5, 5]);
      expect(await at(999)).toBeUndefined();
      expect(await storage.history.at(start + 2_500)).toEqual({ revision: 2, time: start + 2_000 });
      expect(await storage.history.beginning()).toEqual({ revision: 1, time: start + 1_000 });
      expect(await listed(storage, '', { revision: (await storage.history.at(start + 2_500))?.revision })).toEqual([
        'pods/a=2@2',
      ]);
    });

    it('is unknown before the first write', async () => {
      expect(await storage.history.at(start)).toBeUndefined();
      expect(await storage.history.beginning()).toBeUndefined();
    });

    it('reaches back to the last compaction, also when nothing was written since', async () => {
      await story();
      await storage.compact(3);
      expect(await storage.history.at(start + 2_999)).toBeUndefined();
      expect(await storage.history.at(start + 3_500)).toEqual({ revision: 3, time: start + 3_000 });
      expect(await storage.history.beginning()).toEqual({ revision: 3, time: start + 3_000 });
      await storage.compact(5);
      expect(await storage.history.at(start + 4_999)).toBeUndefined();
      expect(await storage.history.at(start + 90_000)).toEqual({ revision: 5, time: start + 5_000 });
    });

    it('is told of a revision, unless that is older than what is kept', async () => {
      await story();
      await storage.create('leases/a', write('6', 'relaxed'));
      const of = (revision: number) => storage.history.of(revision);
      expect(await of(3)).toEqual({ revision: 3, time: start + 3_000 });
      expect(await of(6)).toEqual({ revision: 5, time: start + 5_000 });
      await storage.compact(3);
      expect(await of(2)).toBeUndefined();
      expect(await of(3)).toEqual({ revision: 3, time: start + 3_000 });
      expect(await of(4)).toEqual({ revision: 4, time: start + 4_000 });
    });

    it('does not count relaxed writes, which leave no trace', async () => {
      await storage.create('pods/a', write('1'));
      clock.skew(1_000);
      await storage.create('leases/a', write('2', 'relaxed'));
      await storage.compact(2);
      expect(await storage.history.at(start)).toEqual({ revision: 2, time: start });
    });

    it('is the later one of two where the clock was set back', async () => {
      for (const second of [10, 20, 30]) await at(second, `pods/${second}`);
      for (const second of [15, 25]) await at(second, `pods/again-${second}`);
      const revisions = await Promise.all([10, 14, 15, 24, 25, 40].map((second) => storage.history.at(start + second * 1_000)));
      expect(revisions.map((moment) => moment?.revision)).toEqual([1, 1, 4, 4, 5, 5]);
    });

    async function at(second: number, key: string): Promise<void> {
      clock.skew(start + second * 1_000 - clock.now());
      await storage.create(key, write('x'));
    }

    it('is found as by looking at every write, however the clock jumped and whatever was compacted', async () => {
      const steps = fc.array(
        fc.tuple(fc.integer({ min: -20, max: 60 }), fc.constantFrom('put', 'put', 'put', 'compact', 'relaxed')),
        {
          minLength: 1,
          maxLength: 30,
        },
      );
      await fc.assert(
        fc.asyncProperty(steps, async (story) => {
          const own = createFakeClock(start);
          const { storage, dispose } = await openBackend(backend, undefined, { clock: own });
          const log: Moment[] = [];
          let compacted: Moment | undefined;
          try {
            for (const [i, [ms, action]] of story.entries()) {
              own.skew(ms);
              if (action === 'put') log.push({ revision: await storage.create(`pods/${i}`, write('x')), time: own.now() });
              else if (action === 'relaxed') await storage.create(`leases/${i}`, write('x', 'relaxed'));
              else if (log.length > 0) {
                compacted = log[Math.floor(log.length / 2)];
                await storage.compact(compacted!.revision);
                log.splice(0, log.indexOf(compacted!) + 1);
              }
            }
            for (let time = start - 40; time <= start + 40; time += 3) {
              const before = compacted && compacted.time <= time ? compacted : undefined;
              const expected = log.findLast((each) => each.time <= time) ?? before;
              expect(await storage.history.at(time)).toEqual(expected);
            }
          } finally {
            await dispose();
          }
        }),
        { numRuns: backend === 'memory' ? 200 : 15 },
      );
    });
  });

  it('is shortened by itself when it outgrows its bound', async () => {
    const bounded = await openBackend(backend, undefined, { clock, maxHistoryBytes: 20_000 });
    let revision = await bounded.storage.create('pods/a', write('x'));
    for (let i = 0; i < 100; i++) revision = await bounded.storage.update('pods/a', revision, write('x'.repeat(1_000)));
    expect((await bounded.storage.history.beginning())?.revision).toBeGreaterThan(50);
    expect((await historyOf(bounded.storage, 'pods/a')).length).toBeLessThan(45);
    expect((await historyOf(bounded.storage, 'pods/a')).length).toBeGreaterThan(5);
    await bounded.dispose();
  });

  it('is refused when the store is closed', async () => {
    await storage.close();
    expect(await refusal(storage.history.writes('pods/a', { limit: 1 }))).toMatchObject({ code: 'closed' });
    expect(await refusal(storage.history.at(0))).toMatchObject({ code: 'closed' });
    expect(await refusal(storage.history.of(1))).toMatchObject({ code: 'closed' });
    expect(await refusal(storage.history.beginning())).toMatchObject({ code: 'closed' });
  });
});

describe('the history of the lmdb storage', () => {
  it('knows the times after a restart as before: what was compacted, and where the clock was set back', async () => {
    const clock = createFakeClock(start);
    const { storage, directory, dispose } = await openBackend('lmdb', undefined, { clock });
    for (const [i, ms] of [1_000, 1_000, 1_000, -1_500, 1_000].entries()) {
      clock.skew(ms);
      await storage.create(`pods/${i}`, write('x'));
    }
    await storage.compact(1);
    const times = Array.from({ length: 40 }, (_, i) => start + i * 100);
    const before = await Promise.all(times.map((time) => storage.history.at(time)));
    await storage.close();
    const again = await openStorage({ backend: 'lmdb', directory, clock });
    expect(await Promise.all(times.map((time) => again.history.at(time)))).toEqual(before);
    expect(new Set(before.map((moment) => moment?.revision))).toEqual(new Set([undefined, 1, 4, 5]));
    await again.close();
    await dispose();
  });

  it('gives up times, not revisions, when the clock is set back over and over', async () => {
    const clock = createFakeClock(start);
    const { storage, dispose } = await openBackend('lmdb', undefined, { clock });
    let revision = await storage.create('pods/a', write('x'));
    for (let i = 0; i < 100; i++) {
      clock.skew(i % 2 ? 30_000 : -20_000);
      revision = await storage.update('pods/a', revision, write(`${i}`));
    }
    expect(await storage.history.at(start)).toBeUndefined();
    expect((await storage.history.at(clock.now()))?.revision).toBe(revision);
    expect(await historyOf(storage, 'pods/a')).toHaveLength(101);
    await dispose();
  });
});
