import { crc32 } from 'node:zlib';
import type { Durability } from './storage.ts';
import { restoreAdvice, StorageError } from './storage-error.ts';

/** The envelope around every stored object: what was written, when, by whom, and where it stands in the history. */
export interface StorageRecord {
  readonly type: 'put' | 'delete';
  readonly durability: Durability;
  readonly revision: number;
  /** The revision of the write of the same key before this one; 0: there is none (or it is forgotten). */
  readonly previous: number;
  /** Milliseconds since 1970 when the write was accepted. */
  readonly time: number;
  readonly key: string;
  readonly kind: string;
  readonly verb: string;
  readonly user: string;
  readonly manager: string;
  readonly bytes: Uint8Array;
}

/** What this version writes. A reader refuses anything above. */
export const recordFormat = 1;

/*
 * Layout, big-endian. The checksum and the format keep their places in every future format.
 *   0 u32 crc32 of everything behind it
 *   4 u8  format
 *   5 u8  flags: 1 = delete, 2 = relaxed
 *   6 u48 revision   12 u48 previous   18 u48 time
 *  24 u8 length of kind   25 u8 of verb   26 u16 of user   28 u16 of manager   30 u16 of key
 *  32 kind, verb, user, manager, key, bytes
 */
const headerSize = 32;
const flagDelete = 1;
const flagRelaxed = 2;
/** A user or manager name longer than this is truncated: the author is metadata, and must not fail a write. */
const maxNameBytes = 1024;

/** Encodes into a buffer of its own. */
export function encodeRecord(record: StorageRecord): Buffer {
  const user = record.user.length > maxNameBytes / 4 ? cut(record.user, maxNameBytes) : record.user;
  const manager = record.manager.length > maxNameBytes / 4 ? cut(record.manager, maxNameBytes) : record.manager;
  const kindSize = Buffer.byteLength(record.kind);
  const verbSize = Buffer.byteLength(record.verb);
  if (kindSize > 255 || verbSize > 255)
    throw new StorageError('too-large', `write ${record.key}: its kind or verb is longer than 255 bytes`);
  const userSize = Buffer.byteLength(user);
  const managerSize = Buffer.byteLength(manager);
  const keySize = Buffer.byteLength(record.key);
  const buffer = Buffer.allocUnsafe(headerSize + kindSize + verbSize + userSize + managerSize + keySize + record.bytes.length);
  buffer[4] = recordFormat;
  buffer[5] = (record.type === 'delete' ? flagDelete : 0) | (record.durability === 'relaxed' ? flagRelaxed : 0);
  buffer.writeUIntBE(record.revision, 6, 6);
  buffer.writeUIntBE(record.previous, 12, 6);
  buffer.writeUIntBE(record.time, 18, 6);
  buffer[24] = kindSize;
  buffer[25] = verbSize;
  buffer.writeUInt16BE(userSize, 26);
  buffer.writeUInt16BE(managerSize, 28);
  buffer.writeUInt16BE(keySize, 30);
  let at = headerSize;
  at += buffer.write(record.kind, at);
  at += buffer.write(record.verb, at);
  at += buffer.write(user, at);
  at += buffer.write(manager, at);
  at += buffer.write(record.key, at);
  buffer.set(record.bytes, at);
  buffer.writeUInt32BE(crc32(buffer.subarray(4)), 0);
  return buffer;
}

/**
 * Decodes; `bytes` is a view of `buffer`. `where` names the record in the messages. Throws `corrupt` and
 * `newer-format`.
 */
export function decodeRecord(buffer: Buffer, where: string): StorageRecord {
  if (buffer.length < headerSize) throw damaged(where, `it is only ${buffer.length} bytes long`);
  if (crc32(buffer.subarray(4)) !== buffer.readUInt32BE(0)) throw damaged(where, 'its checksum does not match');
  const format = buffer[4]!;
  if (format > recordFormat)
    throw new StorageError(
      'newer-format',
      `read ${where}: it has format ${format}, this version reads up to ${recordFormat}; start the newer version of berth that wrote it`,
    );
  if (format < 1) throw damaged(where, `it has format ${format}`);
  const kindEnd = headerSize + buffer[24]!;
  const verbEnd = kindEnd + buffer[25]!;
  const userEnd = verbEnd + buffer.readUInt16BE(26);
  const managerEnd = userEnd + buffer.readUInt16BE(28);
  const keyEnd = managerEnd + buffer.readUInt16BE(30);
  if (keyEnd > buffer.length) throw damaged(where, 'its lengths exceed its size');
  const flags = buffer[5]!;
  return {
    type: flags & flagDelete ? 'delete' : 'put',
    durability: flags & flagRelaxed ? 'relaxed' : 'synced',
    revision: buffer.readUIntBE(6, 6),
    previous: buffer.readUIntBE(12, 6),
    time: buffer.readUIntBE(18, 6),
    kind: buffer.toString('utf8', headerSize, kindEnd),
    verb: buffer.toString('utf8', kindEnd, verbEnd),
    user: buffer.toString('utf8', verbEnd, userEnd),
    manager: buffer.toString('utf8', userEnd, managerEnd),
    key: buffer.toString('utf8', managerEnd, keyEnd),
    bytes: buffer.subarray(keyEnd),
  };
}

function cut(text: string, bytes: number): string {
  return Buffer.byteLength(text) <= bytes ? text : text.slice(0, bytes / 4);
}

function damaged(where: string, what: string): StorageError {
  return new StorageError('corrupt', `read ${where}: the record is damaged, ${what}; ${restoreAdvice}`);
}
