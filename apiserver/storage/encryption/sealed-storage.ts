import type { Storage, StorageEvent, StoredObject, Write } from '../storage.ts';
import type { Keyring } from './keyring.ts';
import { open, seal, sealBytes } from './seal.ts';

export interface SealedStorageOptions {
  /** The keys as they are now: a rotation changes them while the store is in use. */
  readonly keyring: () => Keyring;
  /** Which storage keys have values that are hidden. */
  readonly isSealed: (storageKey: string) => boolean;
}

/** Not a generator, which would start watching only at the first next(). */
function mapped<T>(source: AsyncIterable<T>, map: (value: T) => T): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = source[Symbol.asyncIterator]();
      return {
        async next() {
          const { done, value } = await iterator.next();
          return done ? { done, value: undefined } : { done: false, value: map(value) };
        },
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}

/**
 * A store that encrypts some values: they are sealed on the way in, in the log and its history too, and opened on the
 * way out. Values from before there was a key are returned as they are. Beside StorageErrors of the store it throws
 * `no-key` and `corrupt`.
 */
export function createSealedStorage(inner: Storage, { keyring, isSealed }: SealedStorageOptions): Storage {
  const down = (key: string, write: Write): Write =>
    isSealed(key) ? { ...write, bytes: seal(key, write.bytes, keyring().current), overheadBytes: sealBytes } : write;
  const opened = <T extends { readonly bytes: Uint8Array }>(key: string, value: T): T =>
    isSealed(key) ? { ...value, bytes: open(key, value.bytes, keyring()) } : value;
  const up = <T extends StoredObject | StorageEvent>(value: T): T => opened(value.key, value);
  const someSealed = (values: readonly { readonly key: string }[]) => values.some(({ key }) => isSealed(key));
  const { backup, history } = inner;
  return {
    ...(backup && { backup }),
    ...(inner.usage && { usage: () => inner.usage!() }),
    history: {
      async writes(key, options) {
        const page = await history.writes(key, options);
        return isSealed(key) ? { ...page, writes: page.writes.map((each) => opened(key, each)) } : page;
      },
      at: (time) => history.at(time),
      of: (revision) => history.of(revision),
      beginning: () => history.beginning(),
    },
    create: (key, write) => inner.create(key, down(key, write)),
    update: (key, expected, write) => inner.update(key, expected, down(key, write)),
    delete: (key, expected, write) => inner.delete(key, expected, down(key, write)),
    async get(key) {
      const found = await inner.get(key);
      return found && up(found);
    },
    async list(prefix, options) {
      const page = await inner.list(prefix, options);
      return someSealed(page.items) ? { ...page, items: page.items.map(up) } : page;
    },
    watch: (options, signal) => mapped(inner.watch(options, signal), (batch) => (someSealed(batch) ? batch.map(up) : batch)),
    compact: (revision) => inner.compact(revision),
    close: () => inner.close(),
  };
}
