import { describe, expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Storage } from '../storage/storage.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { KindStore } from './kind-store.ts';
import { KindStores } from './kind-stores.ts';

const kind = kindNamed('Ingress');
const reference = { kind: kind.kind, apiVersion: kind.apiVersion };

function createStore(): KindStore {
  return new KindStore(new KindCache(kind), {
    storage: {} as Storage,
    now: () => new Date(0),
    random: () => 0,
    uid: () => 'uid',
  });
}

describe('a kind that is missing for a moment', () => {
  it.each([
    ['kind and version', reference],
    ['kind alone', { kind: kind.kind, apiVersion: '' }],
  ])('is refused by %s as one to try again, and served when it is back', (_, asked) => {
    const stores = new KindStores();
    const store = createStore();
    stores.add(store);
    stores.hold(store.id);
    stores.remove(store.id);
    expect(() => stores.find(asked)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
    stores.add(store);
    expect(stores.find(asked)).toBe(store);
  });

  it('is not there once it is held no more', () => {
    const stores = new KindStores();
    const store = createStore();
    stores.hold(store.id);
    stores.release(store.id);
    expect(() => stores.find(reference)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  });

  it('holds no other kind', () => {
    const stores = new KindStores();
    stores.hold(createStore().id);
    expect(() => stores.find({ kind: 'Gear', apiVersion: '' })).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  });

  it('is held no more after it came back and went', () => {
    const stores = new KindStores();
    const store = createStore();
    stores.hold(store.id);
    stores.add(store);
    stores.remove(store.id);
    expect(() => stores.find(reference)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  });
});
