import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StorageClock } from '../../apiserver/storage/clock.ts';
import { withNewKey } from '../../apiserver/storage/encryption/keyring.ts';
import { createSealedStorage } from '../../apiserver/storage/encryption/sealed-storage.ts';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Durability, Storage, StorageEvent, Write } from '../../apiserver/storage/storage.ts';
import { StorageError, type StorageErrorCode } from '../../apiserver/storage/storage-error.ts';
import type { WatcherLimits } from '../../apiserver/storage/watchers.ts';

/** Every backend that must keep the contract. */
export const backends = ['memory', 'lmdb', 'sealed'] as const;
/** `sealed`: one whose values are encrypted, all of them. */
export type BackendName = (typeof backends)[number];

export interface OpenedBackend {
  readonly storage: Storage;
  readonly directory: string;
  /** Closes and removes everything. */
  dispose(): Promise<void>;
}

export async function openBackend(
  backend: BackendName,
  watcherLimits?: WatcherLimits,
  options: { readonly clock?: StorageClock; readonly maxHistoryBytes?: number } = {},
): Promise<OpenedBackend> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-storage-'));
  const { maxHistoryBytes, clock } = options;
  const common = { ...(watcherLimits && { watcherLimits }), ...(clock && { clock }) };
  const bound = maxHistoryBytes === undefined ? {} : { maxHistoryBytes };
  const inner = await openStorage(
    backend === 'lmdb' ? { backend, directory, ...common, limits: bound } : { backend: 'memory', ...common, ...bound },
  );
  const keyring = withNewKey(undefined, new Date());
  const storage = backend === 'sealed' ? createSealedStorage(inner, { keyring: () => keyring, isSealed: () => true }) : inner;
  const dispose = async (): Promise<void> => {
    await storage.close();
    await rm(directory, { recursive: true, force: true });
  };
  return { storage, directory, dispose };
}

export function write(text: string, durability: Durability = 'synced'): Write {
  return { kind: 'Pod', bytes: Buffer.from(text), user: 'admin', manager: 'test', verb: 'create', durability };
}

export const textOf = (object: { readonly bytes: Uint8Array } | undefined): string | undefined =>
  object && Buffer.from(object.bytes).toString();

/** A list in short: "key=text@revision". */
export async function listed(storage: Storage, prefix = '', options = {}): Promise<string[]> {
  return (await storage.list(prefix, options)).items.map((item) => `${item.key}=${textOf(item)}@${item.revision}`);
}

export const eventText = (event: StorageEvent): string => `${event.type} ${event.key}=${textOf(event)}@${event.revision}`;

/** The code (and revision) of the error that a call ends with. */
export async function refusal(call: Promise<unknown>): Promise<{ code: StorageErrorCode; revision: number | undefined }> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (!(outcome instanceof StorageError)) throw new Error(`expected a StorageError, got ${String(outcome)}`);
  return { code: outcome.code, revision: outcome.revision };
}

/** Reads a watch until it has seen so many events; the iterator stays open for more. */
export class WatchReader {
  readonly #iterator: AsyncIterator<readonly StorageEvent[]>;
  readonly #events: StorageEvent[] = [];
  #pending: Promise<IteratorResult<readonly StorageEvent[]>> | undefined;

  constructor(watch: AsyncIterable<readonly StorageEvent[]>) {
    this.#iterator = watch[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<string[]> {
    while (this.#events.length < count) {
      const { value, done } = await this.next();
      if (done) throw new Error(`the watch ended after ${this.#events.length} of ${count} events`);
      this.#events.push(...value);
    }
    return this.#events.splice(0, count).map(eventText);
  }

  /**
   * Asks for the first events now: what the log has is read at the first question, and a compaction may come before it.
   */
  start(): void {
    this.#pending ??= this.#iterator.next();
    // A failure reaches the taker, if there is one.
    this.#pending.catch(() => undefined);
  }

  next(): Promise<IteratorResult<readonly StorageEvent[]>> {
    const next = this.#pending ?? this.#iterator.next();
    this.#pending = undefined;
    return next;
  }
}
