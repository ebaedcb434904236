import { createHash, type Hash } from 'node:crypto';
import { keyLayout } from '../key-layout.ts';
import { decodeRecord, type StorageRecord } from '../record.ts';
import { StorageError } from '../storage-error.ts';

/*
 * A backup file:
 *   one line: "berth-backup 2 " and a JSON object (BackupHeader)
 *   for each object: u32 length (big-endian), its record (record.ts, which has a checksum of its own)
 *   u32 0, u48 how many records
 *   32 bytes: the SHA-256 of everything before
 */

/** What this version writes: the layout of the keys (key-layout.ts). A reader refuses anything above. */
export const backupFormat = keyLayout;

export interface BackupHeader {
  /** All objects are as they were after this write. */
  readonly revision: number;
  /** RFC 3339. */
  readonly createdAt: string;
}

const magic = 'berth-backup ';
/** RFC 1952, 2.3.1. */
const gzipMagic = Buffer.from([0x1f, 0x8b]);
const digestSize = 32;
const countSize = 6;
const maxHeaderBytes = 4096;
/** An object of 1.5 MiB with all that stands around it. */
const maxRecordBytes = 2 * 1024 * 1024;

/** Makes the bytes of a backup, piece by piece. */
export class BackupEncoder {
  readonly #hash: Hash = createHash('sha256');
  #records = 0;

  header(header: BackupHeader): Buffer {
    return this.#hashed(Buffer.from(`${magic}${backupFormat} ${JSON.stringify(header)}\n`));
  }

  records(records: readonly Buffer[]): Buffer {
    this.#records += records.length;
    return this.#hashed(
      Buffer.concat(
        records.flatMap((record) => {
          const length = Buffer.allocUnsafe(4);
          length.writeUInt32BE(record.length);
          return [length, record];
        }),
      ),
    );
  }

  end(): Buffer {
    const end = Buffer.alloc(4 + countSize);
    end.writeUIntBE(this.#records, 4, countSize);
    return Buffer.concat([this.#hashed(end), this.#hash.digest()]);
  }

  #hashed(bytes: Buffer): Buffer {
    this.#hash.update(bytes);
    return bytes;
  }
}

export interface ReadBackup {
  readonly header: BackupHeader & { readonly layout: number };
  /**
   * One after the other, in the order of the file. Throws `corrupt` at its end when the file is not what was written.
   */
  readonly records: AsyncIterable<StorageRecord>;
}

/**
 * Reads a backup from its bytes. `name` names it in the messages. Throws `corrupt` for what is no backup, is damaged,
 * or has been cut off, and `newer-format`: nothing that was read may be used before `records` has ended.
 */
export async function readBackup(chunks: AsyncIterable<Buffer>, name: string): Promise<ReadBackup> {
  const reader = new ByteReader(chunks, name);
  const header = await readHeader(reader, name);
  return { header, records: readRecords(reader, name) };
}

async function readHeader(reader: ByteReader, name: string): Promise<ReadBackup['header']> {
  if (await reader.startsWith(gzipMagic))
    throw new StorageError('corrupt', `read ${name}: it is packed with gzip: unpack it first: zcat FILE | berth restore -`);
  const line = await reader.line();
  const [, format, json] = /^berth-backup (\d+) (.*)$/.exec(line ?? '') ?? [];
  if (format === undefined || json === undefined)
    throw new StorageError('corrupt', `read ${name}: it is no backup of Berth; "berth backup FILE" makes one`);
  if (Number(format) > backupFormat)
    throw new StorageError(
      'newer-format',
      `read ${name}: it has format ${format}, this version reads up to ${backupFormat}; restore it with the newer version of berth that wrote it`,
    );
  const header = parseHeader(json);
  if (!header) throw damaged(name, 'its first line cannot be read');
  return { ...header, layout: Number(format) };
}

function parseHeader(json: string): BackupHeader | undefined {
  try {
    const { revision, createdAt } = JSON.parse(json) as Partial<BackupHeader>;
    return Number.isSafeInteger(revision) && typeof createdAt === 'string' ? { revision: revision!, createdAt } : undefined;
  } catch {
    // Not even JSON: as damaged as one that lacks something.
    return undefined;
  }
}

async function* readRecords(reader: ByteReader, name: string): AsyncGenerator<StorageRecord> {
  let count = 0;
  for (;;) {
    const length = (await reader.take(4)).readUInt32BE(0);
    if (length === 0) break;
    if (length > maxRecordBytes) throw damaged(name, `its object ${count + 1} would have ${length} bytes`);
    count += 1;
    yield decodeFrom(await reader.take(length), name, count);
  }
  const counted = (await reader.take(countSize)).readUIntBE(0, countSize);
  const digest = reader.digest();
  const isWhole = counted === count && digest.equals(await reader.take(digestSize));
  if (!isWhole) throw damaged(name, 'its checksum does not match');
  if (!(await reader.hasEnded())) throw damaged(name, 'something follows behind its end');
}

function decodeFrom(bytes: Buffer, name: string, count: number): StorageRecord {
  try {
    return decodeRecord(bytes, `object ${count}`);
  } catch (error) {
    if (error instanceof StorageError && error.code === 'newer-format')
      throw new StorageError('newer-format', `read ${name}: ${error.message}`, { cause: error });
    throw damaged(name, `its object ${count} has another checksum`, error);
  }
}

/** Bytes in the portions that are asked for, hashed on the way. */
class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #name: string;
  readonly #hash = createHash('sha256');
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>, name: string) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#name = name;
  }

  /** Without its end; undefined: there is none within what a header may have. */
  async line(): Promise<string | undefined> {
    for (;;) {
      const end = this.#rest.indexOf(0x0a);
      if (end >= 0 && end < maxHeaderBytes) return this.#cut(end + 1).toString('utf8', 0, end);
      if (this.#rest.length >= maxHeaderBytes || !(await this.#more())) return undefined;
    }
  }

  /** Takes nothing. */
  async startsWith(bytes: Buffer): Promise<boolean> {
    while (this.#rest.length < bytes.length) if (!(await this.#more())) return false;
    return this.#rest.subarray(0, bytes.length).equals(bytes);
  }

  async take(size: number): Promise<Buffer> {
    while (this.#rest.length < size) if (!(await this.#more())) throw damaged(this.#name, 'it has been cut off');
    return this.#cut(size);
  }

  /** Of everything that was taken. */
  digest(): Buffer {
    return this.#hash.copy().digest();
  }

  async hasEnded(): Promise<boolean> {
    return this.#rest.length === 0 && !(await this.#more());
  }

  #cut(size: number): Buffer {
    const bytes = this.#rest.subarray(0, size);
    this.#rest = this.#rest.subarray(size);
    this.#hash.update(bytes);
    return bytes;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
    return true;
  }
}

function damaged(name: string, what: string, cause?: unknown): StorageError {
  return new StorageError(
    'corrupt',
    `read ${name}: the backup is damaged: ${what}; use another one`,
    cause === undefined ? {} : { cause },
  );
}
