import type { Database } from 'lmdb';
import { keyLayout, presentKey } from '../key-layout.ts';
import { decodeRecord, encodeRecord } from '../record.ts';
import { StorageError } from '../storage-error.ts';
import { decodeHead, encodeHead } from './head.ts';
import { BatchWriter, noRoom, openNewFile } from './new-file.ts';
import { encodeState } from './state.ts';
import { readState, type Tables } from './tables.ts';
import { isFresh } from './verify-tables.ts';
import { translateWriteError } from './write-error.ts';

/**
 * Writes everything that is stored into a new file, in order and without gaps: it is as small as it can be, and owes
 * nothing to the pages of the old one. The counter and the history stay as they are; keys of an older layout get the
 * present one. Throws `no-space` and `failed`.
 */
export async function copyTables(from: Tables, directory: string): Promise<void> {
  const to = await openNewFile(directory);
  try {
    if (!isFresh(from)) await (readState(from).layout < keyLayout ? copyMoved(from, to) : copyAll(from, to));
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

/** The same with the keys of the present layout: records hold their keys, so that sizes change with them. */
async function copyMoved(from: Tables, to: Tables): Promise<void> {
  const writer = new BatchWriter(to);
  const before = readState(from);
  let { logBytes, liveBytes, relaxedBytes } = before;
  const moved = (value: Buffer, where: string): { record: Buffer; growth: number } => {
    const record = decodeRecord(value, where);
    const key = presentKey(record.key);
    if (key === record.key) return { record: value, growth: 0 };
    return { record: encodeRecord({ ...record, key }), growth: key.length - record.key.length };
  };
  for (const { key: revision, value } of from.log.getRange()) {
    const { record, growth } = moved(value, `revision ${revision}`);
    logBytes += growth;
    await writer.add(record.length, () => to.log.put(revision, record, { append: true }));
  }
  for (const { key, value } of from.heads.getRange()) {
    const head = decodeHead(value);
    const next = presentKey(key);
    const growth = next.length - key.length;
    if (!head.deleted) liveBytes += growth;
    await writer.add(value.length, () => to.heads.put(next, encodeHead({ ...head, size: head.size + growth })));
  }
  for (const { key, value } of from.relaxed.getRange()) {
    const { record, growth } = moved(value, key);
    relaxedBytes += growth;
    await writer.add(record.length, () => to.relaxed.put(presentKey(key), record));
  }
  const state = encodeState({ ...before, logBytes, liveBytes, relaxedBytes, layout: keyLayout });
  await writer.add(state.length, () => to.meta.put('state', state));
  await writer.flush();
}

/** As AppendOnlyLog, for keys that come in order. */
interface AppendTo extends Omit<Database<Buffer, string>, 'put'> {
  put(key: string, value: Buffer, options: { readonly append: true }): Promise<boolean>;
}
