import type { Database } from 'lmdb';
import { StorageError } from '../storage-error.ts';
import { BatchWriter, noRoom, openNewFile } from './new-file.ts';
import { encodeState } from './state.ts';
import { readState, type Tables } from './tables.ts';
import { isFresh } from './verify-tables.ts';
import { translateWriteError } from './write-error.ts';

/**
 * Writes everything that is stored into a new file, in order and without gaps: it is as small as it can be, and owes nothing to the pages
 * of the old one. The counter, the history and the counts stay as they are. Throws `no-space` and `failed`.
 */
export async function copyTables(from: Tables, directory: string): Promise<void> {
  const to = await openNewFile(directory);
  try {
    if (!isFresh(from)) await copyAll(from, to);
  } catch (error) {
    const { code, message } = await translateWriteError(error, directory);
    throw code === 'no-space' ? noRoom(directory, error) : new StorageError(code, message, { cause: error });
  } finally {
    await to.root.close();
  }
}

async function copyAll(from: Tables, to: Tables): Promise<void> {
  const writer = new BatchWriter(to);
  for (const { key, value } of from.log.getRange())
    await writer.add(value.length, () => to.log.put(key, value, { append: true }));
  for (const name of ['heads', 'relaxed'] as const) {
    const table = to[name] as AppendTo;
    for (const { key, value } of from[name].getRange())
      await writer.add(value.length, () => table.put(key, value, { append: true }));
  }
  const state = encodeState(readState(from));
  await writer.add(state.length, () => to.meta.put('state', state));
  await writer.flush();
}

/** As AppendOnlyLog, for keys that come in order. */
interface AppendTo extends Omit<Database<Buffer, string>, 'put'> {
  put(key: string, value: Buffer, options: { readonly append: true }): Promise<boolean>;
}
