import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openTables } from '../../apiserver/storage/lmdb/tables.ts';
import { verifyTables } from '../../apiserver/storage/lmdb/verify-tables.ts';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Storage } from '../../apiserver/storage/storage.ts';
import { StorageError } from '../../apiserver/storage/storage-error.ts';
import { backends, listed, openBackend, refusal, textOf, WatchReader, write } from './storage-backends.ts';
import { type ModelWrite, StorageModel } from './storage-model.ts';

const keys = ['pods/a', 'pods/b', 'pods/b-1', 'pods/c', 'nodes/a', 'leases/a', 'leases/b'] as const;
const durabilityOf = (key: string): 'synced' | 'relaxed' => (key.startsWith('leases/') ? 'relaxed' : 'synced');
const prefixes = fc.constantFrom('', 'pods/', 'pods/b', 'nodes/', 'leases/');
const back = fc.nat({ max: 12 });

const oneWrite = fc.record({
  verb: fc.constantFrom('create', 'update', 'delete'),
  key: fc.constantFrom(...keys),
  stale: fc.boolean(),
});
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('write'), writes: fc.array(oneWrite, { minLength: 1, maxLength: 6 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('list'), prefix: prefixes, back, limit: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('watch'), prefix: prefixes, back }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('compact'), back }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen') }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A compaction that removes nothing, in a life that writes nothing else, was forgotten. */
const idleCompaction: Step[] = [
  { kind: 'write', writes: [{ verb: 'create', key: 'pods/a', stale: false }] },
  { kind: 'reopen' },
  { kind: 'compact', back: 0 },
  { kind: 'reopen' },
  { kind: 'watch', prefix: '', back: 1 },
];

interface OpenWatch {
  readonly reader: WatchReader;
  readonly prefix: string;
  readonly start: number;
  readonly replayed: readonly string[];
}

/** Does each step on the storage and on the model and compares what they say. */
class Comparison {
  readonly #model = new StorageModel();
  readonly #reopen: (() => Promise<Storage>) | undefined;
  #storage: Storage;
  #watches: OpenWatch[] = [];
  #abort = new AbortController();
  #count = 0;

  constructor(storage: Storage, reopen: (() => Promise<Storage>) | undefined) {
    this.#storage = storage;
    this.#reopen = reopen;
  }

  async step(step: Step): Promise<void> {
    switch (step.kind) {
      case 'write':
        return this.#write(step.writes);
      case 'list':
        return this.#list(step.prefix, Math.max(1, this.#model.revision - step.back), step.limit);
      case 'watch':
        return this.#watch(step.prefix, Math.max(0, this.#model.revision - step.back));
      case 'compact':
        this.#model.compact(this.#model.revision - step.back);
        return this.#storage.compact(this.#model.revision - step.back);
      case 'reopen':
        return this.#close();
    }
  }

  /** All at once: decisions are taken in the order of the calls. */
  async #write(writes: readonly { verb: 'create' | 'update' | 'delete'; key: string; stale: boolean }[]): Promise<void> {
    const expected: (number | string)[] = [];
    const calls = writes.map(({ verb, key, stale }) => {
      const modelWrite: ModelWrite = {
        verb,
        key,
        expected: (this.#model.current(key)?.revision ?? 1) - (stale ? 1 : 0),
        text: `${++this.#count}`,
        durability: durabilityOf(key),
      };
      expected.push(this.#model.write(modelWrite));
      return this.#call(modelWrite);
    });
    expect(await Promise.all(calls)).toEqual(expected);
    for (const { key } of writes) expect(textOf(await this.#storage.get(key))).toBe(this.#model.current(key)?.text);
  }

  async #call({ verb, key, expected, text, durability }: ModelWrite): Promise<number | string> {
    // Of relaxed writes some await the disk; what the store shows does not depend on that,
    // also after it was opened anew.
    const written = { ...write(text, durability), awaitsDisk: Number(text) % 3 === 0 };
    try {
      if (verb === 'create') return await this.#storage.create(key, written);
      return await this.#storage[verb](key, expected, written);
    } catch (error) {
      if (error instanceof StorageError) return error.code;
      throw error;
    }
  }

  async #list(prefix: string, revision: number, limit: number): Promise<void> {
    if (revision > this.#model.revision) return;
    if (revision < this.#model.compacted) {
      expect(await refusal(this.#storage.list(prefix, { revision }))).toEqual({
        code: 'compacted',
        revision: this.#model.compacted,
      });
      return;
    }
    const paged: string[] = [];
    for (let after: string | undefined, more = true; more; ) {
      const options = { revision, limit, ...(after !== undefined && { after }) };
      const page = await this.#storage.list(prefix, options);
      paged.push(...page.items.map((item) => `${item.key}=${textOf(item)}@${item.revision}`));
      after = page.items.at(-1)?.key;
      more = page.more;
    }
    expect(paged).toEqual(this.#model.list(prefix, revision));
  }

  async #watch(prefix: string, from: number): Promise<void> {
    const reader = new WatchReader(this.#storage.watch({ prefix, from }, this.#abort.signal));
    if (from < this.#model.compacted) expect(await refusal(reader.next())).toMatchObject({ code: 'compacted' });
    else {
      // Taken at once, as a compaction may forget it before the end.
      const replayed = this.#model.replay(prefix, from);
      if (replayed.length > 0) expect(await reader.take(replayed.length)).toEqual(replayed);
      else reader.start();
      this.#watches.push({ reader, prefix, start: this.#model.revision, replayed });
    }
  }

  async checkAll(): Promise<void> {
    expect(await listed(this.#storage)).toEqual(this.#model.list('', this.#model.revision));
    for (const { reader, prefix, start } of this.#watches) {
      const events = this.#model.since(prefix, start);
      expect(await reader.take(events.length)).toEqual(events);
    }
    this.#abort.abort();
    for (const { reader } of this.#watches) expect(await reader.next()).toMatchObject({ done: true });
    this.#watches = [];
    this.#abort = new AbortController();
  }

  async #close(): Promise<void> {
    await this.checkAll();
    if (!this.#reopen) return;
    await this.#storage.close();
    this.#storage = await this.#reopen();
  }

  close(): Promise<void> {
    return this.#storage.close();
  }
}

/**
 * Between two lives the file is checked as after a crash: its counts must fit whatever was written,
 * deleted and compacted.
 */
async function verifyAndOpen(directory: string): Promise<Storage> {
  const tables = openTables(directory, { readOnly: true });
  verifyTables(tables);
  await tables.root.close();
  return openStorage({ backend: 'lmdb', directory });
}

describe.each(backends)('the %s storage, compared with a model', (backend) => {
  it('gives the same answers to any sequence of writes, lists, watches, compactions and restarts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const opened = await openBackend(backend);
        const reopen = backend === 'lmdb' ? () => verifyAndOpen(opened.directory) : undefined;
        const comparison = new Comparison(opened.storage, reopen);
        try {
          for (const next of steps) await comparison.step(next);
          await comparison.checkAll();
        } finally {
          await comparison.close();
          await opened.dispose();
        }
      }),
      { numRuns: backend === 'memory' ? 200 : 40, examples: [[idleCompaction]] },
    );
  });
});
