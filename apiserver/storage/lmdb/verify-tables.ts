import { decodeRecord } from '../record.ts';
import { restoreAdvice, StorageError } from '../storage-error.ts';
import { decodeHead } from './head.ts';
import { emptyState, type StoreState } from './state.ts';
import { readHead, readHeadRecord, readState, type Tables } from './tables.ts';

/**
 * Reads every record and compares the tables with each other and with the counts that were committed with them. A
 * damaged tree can hide entries without any error: only the counts show that. Returns the state; throws `corrupt` and
 * `newer-format`.
 */
export function verifyTables(tables: Tables): StoreState {
  if (isFresh(tables)) return emptyState;
  const state = readState(tables);
  verifyLog(tables, state);
  verifyHeads(tables, state);
  verifyRelaxed(tables, state);
  return state;
}

/** A kill during the very first start can leave a file without any table. */
export function isFresh(tables: Tables): boolean {
  const opened: readonly unknown[] = [tables.log, tables.heads, tables.relaxed, tables.meta];
  return opened.includes(undefined);
}

function verifyLog(tables: Tables, state: StoreState): void {
  let records = 0;
  let bytes = 0;
  for (const { key, value } of tables.log.getRange()) {
    const record = decodeRecord(value, `revision ${key}`);
    expect(record.revision === key, `the record of revision ${key} says it is ${record.revision}`);
    expect(key <= state.revision, `revision ${key} is newer than the last one, ${state.revision}`);
    const head = readHead(tables, record.key);
    // A deletion that was compacted away has no head any more, but neither has it a record.
    expect(head !== undefined && head.revision >= key, `revision ${key} of ${record.key} is newer than the index knows`);
    records += 1;
    bytes += value.length;
  }
  expect(records === state.records, `the log has ${records} records, not ${state.records}`);
  expect(bytes === state.logBytes, `the log has ${bytes} bytes, not ${state.logBytes}`);
}

function verifyHeads(tables: Tables, state: StoreState): void {
  let live = 0;
  let bytes = 0;
  for (const { key, value } of tables.heads.getRange()) {
    const head = decodeHead(value);
    const record = readHeadRecord(tables, key, head);
    expect((record.type === 'delete') === head.deleted, `the index and the log differ on whether ${key} is deleted`);
    expect(tables.log.get(head.revision)?.length === head.size, `the index and the log differ on the size of ${key}`);
    if (head.deleted) continue;
    live += 1;
    bytes += head.size;
  }
  expect(live === state.live, `there are ${live} objects, not ${state.live}`);
  expect(bytes === state.liveBytes, `the objects have ${bytes} bytes, not ${state.liveBytes}`);
}

function verifyRelaxed(tables: Tables, state: StoreState): void {
  let count = 0;
  let bytes = 0;
  for (const { key, value } of tables.relaxed.getRange()) {
    expect(decodeRecord(value, key).key === key, `the record of ${key} belongs to another key`);
    count += 1;
    bytes += value.length;
  }
  expect(count === state.relaxed, `there are ${count} relaxed objects, not ${state.relaxed}`);
  expect(bytes === state.relaxedBytes, `the relaxed objects have ${bytes} bytes, not ${state.relaxedBytes}`);
  expect(state !== emptyState || count === 0, 'its state is missing');
}

function expect(holds: boolean, otherwise: string): void {
  if (!holds) throw new StorageError('corrupt', `${otherwise}; ${restoreAdvice}`);
}
