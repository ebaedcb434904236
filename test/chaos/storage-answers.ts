import { crc32 } from 'node:zlib';
import type { Storage } from '../../apiserver/storage/storage.ts';

/**
 * Everything that a store is asked for, in short: an object is "revision length checksum",
 * an event "type key" and the same.
 */
export interface Answers {
  /** By key; of every key that ever was. */
  readonly gets: Readonly<Record<string, string>>;
  readonly list: readonly string[];
  /** The list as of `Questions.at`. */
  readonly past: readonly string[];
  /** Every change of synced keys after `Questions.from`. */
  readonly events: readonly string[];
}

export interface Questions {
  readonly keys: readonly string[];
  readonly at: number;
  readonly from: number;
  readonly newest: number;
}

/** Beneath these stand the synced keys of the tests; "leases/" are relaxed. */
export const synced = 'pods/';

export function print({ revision, bytes }: { readonly revision: number; readonly bytes: Uint8Array }): string {
  return `${revision} ${bytes.length} ${crc32(Buffer.from(bytes))}`;
}

export async function askAll(storage: Storage, { keys, at, from, newest }: Questions): Promise<Answers> {
  const gets: Record<string, string> = {};
  for (const key of keys) {
    const found = await storage.get(key);
    gets[key] = found ? print(found) : 'none';
  }
  const listed = async (options = {}): Promise<string[]> =>
    (await storage.list(synced, options)).items.map((item) => `${item.key} ${print(item)}`);
  return { gets, list: await listed(), past: await listed({ revision: at }), events: await readEvents(storage, from, newest) };
}

async function readEvents(storage: Storage, from: number, newest: number): Promise<string[]> {
  const stop = new AbortController();
  const events: string[] = [];
  for await (const batch of storage.watch({ prefix: synced, from }, stop.signal)) {
    for (const event of batch) if (event.revision <= newest) events.push(`${event.type} ${event.key} ${print(event)}`);
    if ((batch.at(-1)?.revision ?? 0) >= newest) break;
  }
  stop.abort();
  return events;
}
