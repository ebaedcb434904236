import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../apiserver/storage/storage.ts';
import { backends, listed, type OpenedBackend, openBackend, refusal, textOf, WatchReader, write } from './storage-backends.ts';

describe.each(backends)('the %s storage', (backend) => {
  let opened: OpenedBackend;
  let storage: Storage;
  let abort: AbortController;

  beforeEach(async () => {
    opened = await openBackend(backend, { maxEvents: 10, maxBytes: 10_000 });
    storage = opened.storage;
    abort = new AbortController();
  });
  afterEach(async () => {
    abort.abort();
    await opened.dispose();
  });

  describe('writes', () => {
    it('gives every write of any key the next revision', async () => {
      expect(await storage.create('pods/a', write('1'))).toBe(1);
      expect(await storage.create('nodes/b', write('2'))).toBe(2);
      expect(await storage.create('leases/c', write('3', 'relaxed'))).toBe(3);
      expect(await storage.update('pods/a', 1, write('4'))).toBe(4);
      expect(await storage.delete('nodes/b', 2, write('5'))).toBe(5);
    });

    it('gives concurrent writes different revisions and keeps them all', async () => {
      const revisions = await Promise.all(Array.from({ length: 200 }, (_, i) => storage.create(`pods/${i}`, write(`${i}`))));
      expect(new Set(revisions).size).toBe(200);
      expect((await storage.list('pods/')).items).toHaveLength(200);
    });

    it.each(['synced', 'relaxed'] as const)('refuses to create a %s key that exists', async (durability) => {
      await storage.create('pods/a', write('1', durability));
      expect(await refusal(storage.create('pods/a', write('2', durability)))).toMatchObject({ code: 'exists' });
      expect(textOf(await storage.get('pods/a'))).toBe('1');
    });

    it.each(['synced', 'relaxed'] as const)('lets only one of many concurrent creates of a %s key win', async (durability) => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) => storage.create('pods/a', write(`${i}`, durability))),
      );
      expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
    });

    it.each(['synced', 'relaxed'] as const)(
      'lets only one of many concurrent updates from the same revision of a %s key win',
      async (durability) => {
        const first = await storage.create('pods/a', write('0', durability));
        const outcomes = await Promise.allSettled(
          Array.from({ length: 20 }, (_, i) => storage.update('pods/a', first, write(`${i}`, durability))),
        );
        expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
      },
    );

    it.each(['update', 'delete'] as const)('refuses to %s a key that does not exist, never did, or was deleted', async (verb) => {
      expect(await refusal(storage[verb]('pods/a', 1, write('1')))).toMatchObject({ code: 'not-found' });
      await storage.create('pods/a', write('1'));
      await storage.delete('pods/a', 1, write('1'));
      expect(await refusal(storage[verb]('pods/a', 1, write('1')))).toMatchObject({ code: 'not-found' });
    });

    it('refuses to create a key that exists and says its revision, also while that is still on its way to the disk', async () => {
      const first = storage.create('pods/a', write('1'));
      expect(await refusal(storage.create('pods/a', write('2')))).toEqual({ code: 'exists', revision: 1 });
      expect(await first).toBe(1);
      expect(await refusal(storage.create('pods/a', write('2')))).toEqual({ code: 'exists', revision: 1 });
    });

    it.each(['update', 'delete'] as const)('refuses to %s from another revision and says the current one', async (verb) => {
      await storage.create('pods/a', write('1'));
      await storage.update('pods/a', 1, write('2'));
      expect(await refusal(storage[verb]('pods/a', 1, write('3')))).toEqual({ code: 'mismatch', revision: 2 });
      expect(textOf(await storage.get('pods/a'))).toBe('2');
    });

    it('creates a deleted key anew', async () => {
      await storage.create('pods/a', write('1'));
      await storage.delete('pods/a', 1, write('2'));
      expect(await storage.create('pods/a', write('3'))).toBe(3);
      expect(await listed(storage)).toEqual(['pods/a=3@3']);
    });

    it('keeps an object of 1.5 MiB and refuses a byte more', async () => {
      const bytes = Buffer.alloc(1.5 * 1024 * 1024, 1);
      await storage.create('pods/a', { ...write(''), bytes });
      expect(Buffer.compare((await storage.get('pods/a'))!.bytes, bytes)).toBe(0);
      expect(await refusal(storage.create('pods/b', { ...write(''), bytes: Buffer.alloc(bytes.length + 1) }))).toMatchObject({
        code: 'too-large',
      });
    });

    it.each(['', 'pods/a b', 'pods/\u00e4', 'pods/a\n'])('refuses the key %j', async (key) => {
      expect(await refusal(storage.create(key, write('1')))).toMatchObject({ code: 'failed' });
    });

    it('refuses a write with another durability than the last', async () => {
      await storage.create('pods/a', write('1'));
      expect(await refusal(storage.update('pods/a', 1, write('2', 'relaxed')))).toMatchObject({ code: 'failed' });
    });

    it('keeps what was written when the writer changes its buffer afterwards', async () => {
      for (const durability of ['synced', 'relaxed'] as const) {
        const bytes = Buffer.from('before');
        await storage.create(`pods/${durability}`, { ...write('', durability), bytes });
        bytes.write('after!');
        expect(textOf(await storage.get(`pods/${durability}`))).toBe('before');
      }
    });
  });

  describe('reads', () => {
    it('finds nothing under a key that does not exist', async () => {
      expect(await storage.get('pods/a')).toBeUndefined();
      expect(await storage.list('pods/')).toEqual({ items: [], revision: 0, more: false });
    });

    it('lists the keys with a prefix in byte order, synced and relaxed ones together', async () => {
      await storage.create('pods/ns/b', write('1'));
      await storage.create('pods/ns/B', write('2', 'relaxed'));
      await storage.create('pods/ns-1/a', write('3', 'relaxed'));
      await storage.create('podsets/x', write('4'));
      await storage.create('pods/ns/a', write('5'));
      expect((await storage.list('pods/')).items.map((item) => item.key)).toEqual([
        'pods/ns-1/a',
        'pods/ns/B',
        'pods/ns/a',
        'pods/ns/b',
      ]);
      expect((await storage.list('pods/ns/')).items.map((item) => item.key)).toEqual(['pods/ns/B', 'pods/ns/a', 'pods/ns/b']);
    });

    it('lists nothing for a prefix that no key can have', async () => {
      await storage.create('pods/ns/a', write('1'));
      await storage.create('pods/ns/b', write('2'));
      for (const prefix of ['pods/\u{1f6a2}/', `pods/${'x'.repeat(5_000)}/`, 'pods/a b/'])
        for (const revision of [0, 1]) expect((await storage.list(prefix, { revision, limit: 1 })).items).toEqual([]);
    });

    it('shows in a list the revision of the last acknowledged write', async () => {
      const revision = await storage.create('pods/a', write('1'));
      expect((await storage.list('nodes/')).revision).toBe(revision);
    });

    it('pages through a list without loss or repetition while the keys change', async () => {
      for (const name of ['a', 'b', 'c', 'd']) await storage.create(`pods/${name}`, write('1'));
      const first = await storage.list('pods/', { limit: 2 });
      expect(first).toMatchObject({ revision: 4, more: true });
      await storage.delete('pods/c', 3, write('1'));
      await storage.update('pods/d', 4, write('2'));
      await storage.create('pods/e', write('1'));
      const rest = await listed(storage, 'pods/', { limit: 2, after: first.items.at(-1)!.key, revision: first.revision });
      expect(rest).toEqual(['pods/c=1@3', 'pods/d=1@4']);
    });

    it('says that nothing follows when the last page is exactly full', async () => {
      for (const name of ['a', 'b']) await storage.create(`pods/${name}`, write('1'));
      expect(await storage.list('pods/', { limit: 2 })).toMatchObject({ more: false });
      expect(await storage.list('pods/', { limit: 2, after: 'pods/b' })).toMatchObject({ items: [], more: false });
    });

    it('shows the state as of every revision', async () => {
      await storage.create('pods/a', write('1'));
      await storage.update('pods/a', 1, write('2'));
      await storage.delete('pods/a', 2, write('2'));
      await storage.create('pods/a', write('4'));
      expect(await listed(storage, 'pods/', { revision: 1 })).toEqual(['pods/a=1@1']);
      expect(await listed(storage, 'pods/', { revision: 2 })).toEqual(['pods/a=2@2']);
      expect(await listed(storage, 'pods/', { revision: 3 })).toEqual([]);
      expect(await listed(storage, 'pods/', { revision: 4 })).toEqual(['pods/a=4@4']);
      expect(await listed(storage, 'pods/', { revision: 0 })).toEqual(['pods/a=4@4']);
    });

    it('shows relaxed keys as they are now at an older revision', async () => {
      await storage.create('leases/a', write('1', 'relaxed'));
      await storage.create('pods/a', write('2'));
      await storage.update('leases/a', 1, write('3', 'relaxed'));
      expect(await listed(storage, 'leases/', { revision: 2 })).toEqual(['leases/a=3@3']);
    });

    it('refuses a list at a revision that it never reached', async () => {
      await storage.create('pods/a', write('1'));
      expect(await refusal(storage.list('', { revision: 2 }))).toMatchObject({ code: 'compacted' });
    });
  });

  describe('watches', () => {
    it('sees everything after its beginning, in order', async () => {
      await storage.create('pods/before', write('1'));
      const reader = new WatchReader(storage.watch({ prefix: 'pods/' }, abort.signal));
      await storage.create('pods/a', write('2'));
      await storage.create('nodes/a', write('3'));
      await storage.update('pods/a', 2, write('4'));
      await storage.delete('pods/a', 4, write('last'));
      expect(await reader.take(3)).toEqual(['put pods/a=2@2', 'put pods/a=4@4', 'delete pods/a=last@5']);
    });

    it('replays the history above a revision, then goes on with what happens, exactly once', async () => {
      await storage.create('pods/a', write('1'));
      await storage.update('pods/a', 1, write('2'));
      await storage.delete('pods/a', 2, write('3'));
      const reader = new WatchReader(storage.watch({ prefix: '', from: 1 }, abort.signal));
      await storage.create('pods/b', write('4'));
      expect(await reader.take(3)).toEqual(['put pods/a=2@2', 'delete pods/a=3@3', 'put pods/b=4@4']);
      await storage.create('pods/c', write('5'));
      expect(await reader.take(1)).toEqual(['put pods/c=5@5']);
    });

    it('replays the newest state of relaxed keys at its place', async () => {
      await storage.create('leases/a', write('1', 'relaxed'));
      await storage.create('pods/a', write('2'));
      await storage.update('leases/a', 1, write('3', 'relaxed'));
      await storage.create('pods/b', write('4'));
      const reader = new WatchReader(storage.watch({ prefix: '', from: 0 }, abort.signal));
      expect(await reader.take(3)).toEqual(['put pods/a=2@2', 'put leases/a=3@3', 'put pods/b=4@4']);
    });

    it('has shown every write that is acknowledged', async () => {
      const reader = new WatchReader(storage.watch({ prefix: '' }, abort.signal));
      for (let i = 1; i <= 5; i++) {
        const revision = await storage.create(`pods/${i}`, write('x', i % 2 ? 'synced' : 'relaxed'));
        expect(await reader.take(1)).toEqual([`put pods/${i}=x@${revision}`]);
      }
    });

    it('keeps the order of revisions between synced and relaxed writes in flight together', async () => {
      const reader = new WatchReader(storage.watch({ prefix: '' }, abort.signal));
      const writes = Array.from({ length: 10 }, (_, i) => storage.create(`pods/${i}`, write('x', i % 2 ? 'relaxed' : 'synced')));
      expect(await reader.take(10)).toEqual(Array.from({ length: 10 }, (_, i) => `put pods/${i}=x@${i + 1}`));
      await Promise.all(writes);
    });

    it('ends without an error when the signal aborts, before and while it waits', async () => {
      const reader = new WatchReader(storage.watch({ prefix: '' }, abort.signal));
      const waiting = reader.next();
      abort.abort();
      expect(await waiting).toMatchObject({ done: true });
      expect(await new WatchReader(storage.watch({ prefix: '', from: 0 }, abort.signal)).next()).toMatchObject({ done: true });
    });

    it('cuts off a watcher that does not read, by count, and leaves the others alone', async () => {
      const slow = new WatchReader(storage.watch({ prefix: '' }, abort.signal));
      const other = new WatchReader(storage.watch({ prefix: '' }, abort.signal));
      for (let i = 1; i <= 11; i++) {
        await storage.create(`pods/${i}`, write('x'));
        await other.take(1);
      }
      expect(await refusal(slow.next())).toMatchObject({ code: 'slow' });
      await storage.create('pods/more', write('x'));
      expect(await other.take(1)).toEqual(['put pods/more=x@12']);
    });

    it('cuts off a watcher that does not read, by bytes', async () => {
      const slow = new WatchReader(storage.watch({ prefix: '' }, abort.signal));
      await storage.create('pods/a', write('x'.repeat(6000)));
      await storage.create('pods/b', write('x'.repeat(6000)));
      expect(await refusal(slow.next())).toMatchObject({ code: 'slow' });
    });

    it('refuses to watch from a revision that it never reached', async () => {
      await storage.create('pods/a', write('1'));
      expect(await refusal(new WatchReader(storage.watch({ prefix: '', from: 2 }, abort.signal)).next())).toMatchObject({
        code: 'compacted',
      });
    });
  });

  describe('compaction', () => {
    beforeEach(async () => {
      await storage.create('pods/a', write('1'));
      await storage.update('pods/a', 1, write('2'));
      await storage.create('pods/b', write('3'));
      await storage.delete('pods/b', 3, write('3'));
      await storage.update('pods/a', 2, write('5'));
      await storage.create('pods/b', write('6'));
    });

    it('keeps the newest state, and all states and events above the revision', async () => {
      await storage.compact(4);
      expect(await listed(storage)).toEqual(['pods/a=5@5', 'pods/b=6@6']);
      expect(await listed(storage, '', { revision: 4 })).toEqual(['pods/a=2@2']);
      expect(await listed(storage, '', { revision: 5 })).toEqual(['pods/a=5@5']);
      const reader = new WatchReader(storage.watch({ prefix: '', from: 4 }, abort.signal));
      expect(await reader.take(2)).toEqual(['put pods/a=5@5', 'put pods/b=6@6']);
    });

    it('refuses lists and watches at older revisions and says the oldest kept one', async () => {
      await storage.compact(4);
      expect(await refusal(storage.list('', { revision: 3 }))).toEqual({ code: 'compacted', revision: 4 });
      const watch = storage.watch({ prefix: '', from: 3 }, abort.signal);
      expect(await refusal(new WatchReader(watch).next())).toEqual({ code: 'compacted', revision: 4 });
    });

    it('does nothing for an older revision, and stops at the newest', async () => {
      await storage.compact(4);
      await storage.compact(2);
      expect(await listed(storage, '', { revision: 4 })).toEqual(['pods/a=2@2']);
      await storage.compact(100);
      expect(await listed(storage, '', { revision: 6 })).toEqual(['pods/a=5@5', 'pods/b=6@6']);
      expect(await storage.create('pods/c', write('7'))).toBe(7);
    });

    it('leaves a watch alone that needs no history when its first read comes after the compaction', async () => {
      const reader = new WatchReader(storage.watch({ prefix: '' }, abort.signal));
      await storage.create('pods/c', write('7'));
      await storage.compact(7);
      expect(await reader.take(1)).toEqual(['put pods/c=7@7']);
    });

    it('lets a deleted key be created after its deletion is forgotten', async () => {
      await storage.delete('pods/b', 6, write('7'));
      await storage.compact(7);
      await storage.create('pods/b', write('8'));
      expect(await listed(storage, '', { revision: 7 })).toEqual(['pods/a=5@5']);
      expect(await listed(storage)).toEqual(['pods/a=5@5', 'pods/b=8@8']);
    });
  });

  describe('close', () => {
    it('finishes the writes that were begun and refuses everything after', async () => {
      const begun = storage.create('pods/a', write('1'));
      await storage.close();
      expect(await begun).toBe(1);
      expect(await refusal(storage.get('pods/a'))).toMatchObject({ code: 'closed' });
      expect(await refusal(storage.create('pods/b', write('1')))).toMatchObject({ code: 'closed' });
      await storage.close();
    });

    it('ends the watches with an error', async () => {
      const reader = new WatchReader(storage.watch({ prefix: '' }, abort.signal));
      const waiting = reader.next();
      const outcome = refusal(waiting);
      await storage.close();
      expect(await outcome).toMatchObject({ code: 'closed' });
    });
  });
});
