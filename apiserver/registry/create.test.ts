import { describe, expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import { createMemoryStorage } from '../storage/memory/memory-storage.ts';
import { KindCache } from '../watch/kind-cache.ts';
import type { AnyObject } from './any-object.ts';
import { createObject } from './create.ts';
import { KindStore } from './kind-store.ts';

const context = { user: 'u', manager: 'm', dryRun: false };
const withName = (name: string): AnyObject => ({ metadata: { name, namespace: 'default' } });
const withPrefix = (): AnyObject => ({ metadata: { generateName: 'web-', namespace: 'default' } });

/** A store whose generated names end in a run of one letter each, in this order, with what admission was shown. */
function createStore(letters: readonly number[]) {
  const seen: AnyObject[] = [];
  let drawn = 0;
  const random = (): number => letters[Math.floor(drawn++ / 5)]! / 27;
  const environment = { storage: createMemoryStorage(), now: () => new Date(0), random, uid: () => `uid-${drawn}` };
  const cache = new KindCache(kindNamed('ConfigMap'));
  // It has no feed: it shows nothing, but never lags behind.
  cache.advance(Number.MAX_SAFE_INTEGER);
  const store = new KindStore(cache, environment);
  const admission = {
    async create(_: unknown, object: AnyObject) {
      seen.push(structuredClone(object));
      // As a rule that fills something in.
      object.metadata = { ...object.metadata, labels: { from: object.metadata?.name ?? '' } };
    },
  };
  const create = (again: () => AnyObject) => createObject(store, admission, { ...context, take: again });
  const keys = async () => (await environment.storage.list('configmaps/')).items.map(({ key }) => key);
  return { create, keys, seen };
}

describe('a generated name that is taken', () => {
  it('is drawn again, for the object as it was sent', async () => {
    const { create, keys, seen } = createStore([0, 0, 1]);
    await create(withPrefix);
    await create(withPrefix);
    expect(await keys()).toEqual(['configmaps/default/web-bbbbb', 'configmaps/default/web-ccccc']);
    expect(seen.map(({ metadata }) => [metadata?.name, metadata?.labels])).toEqual([
      ['web-bbbbb', undefined],
      ['web-bbbbb', undefined],
      ['web-ccccc', undefined],
    ]);
    expect(new Set(seen.map(({ metadata }) => metadata?.uid)).size).toBe(3);
  });

  it('is given up after eight attempts', async () => {
    const { create, seen } = createStore(Array(20).fill(3));
    await create(withPrefix);
    await expect(create(withPrefix)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(seen.length).toBe(1 + 8);
  });

  it('does not matter to an object that has a name of its own', async () => {
    const { create, seen } = createStore([0, 1]);
    await create(() => withName('a'));
    await expect(create(() => withName('a'))).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(seen.length).toBe(2);
  });
});
