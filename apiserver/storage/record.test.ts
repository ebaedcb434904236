import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeRecord, encodeRecord, type StorageRecord } from './record.ts';
import { StorageError } from './storage-error.ts';

const record: StorageRecord = {
  type: 'put',
  durability: 'synced',
  revision: 7,
  previous: 3,
  time: 1_790_000_000_000,
  key: 'pods/default/web',
  kind: 'Pod',
  verb: 'create',
  user: 'admin',
  manager: 'berth-cli',
  bytes: Buffer.from('the object'),
};

function refusalOf(buffer: Buffer): string {
  try {
    decodeRecord(buffer, 'it');
  } catch (error) {
    if (error instanceof StorageError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'none';
}

describe('a record', () => {
  it('comes back as it was written, whatever it holds', () => {
    const number = fc.integer({ min: 0, max: 2 ** 48 - 1 });
    const text = fc.string({ unit: 'binary', maxLength: 40 });
    const any: fc.Arbitrary<StorageRecord> = fc.record({
      type: fc.constantFrom('put', 'delete'),
      durability: fc.constantFrom('synced', 'relaxed'),
      revision: number,
      previous: number,
      time: number,
      key: text,
      kind: text,
      verb: text,
      user: text,
      manager: text,
      bytes: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    });
    fc.assert(
      fc.property(any, (written) => {
        const read = decodeRecord(encodeRecord(written), 'it');
        expect({ ...read, bytes: Buffer.from(read.bytes) }).toEqual(written);
      }),
    );
  });

  it('costs 32 bytes beside its texts and the object', () => {
    const texts = record.key + record.kind + record.verb + record.user + record.manager;
    expect(encodeRecord(record).length).toBe(32 + texts.length + record.bytes.length);
  });

  it('is refused as corrupt when any one bit of it is flipped', () => {
    const sound = encodeRecord(record);
    for (let bit = 0; bit < sound.length * 8; bit++) {
      const damaged = Buffer.from(sound);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      expect(refusalOf(damaged)).toMatch(/^corrupt: read it: the record is damaged/);
    }
  });

  it('is refused as corrupt when it is cut off anywhere', () => {
    const sound = encodeRecord(record);
    for (let length = 0; length < sound.length; length++) expect(refusalOf(sound.subarray(0, length))).toMatch(/^corrupt/);
  });

  it('of a newer format is refused with what to do', () => {
    const newer = encodeRecord(record);
    newer[4] = 2;
    newer.writeUInt32BE(crc32(newer.subarray(4)), 0);
    expect(refusalOf(newer)).toMatch(/^newer-format: .*start the newer version of berth/);
  });

  it('keeps a write of a user with an endless name', () => {
    const read = decodeRecord(encodeRecord({ ...record, user: '\u{1F600}'.repeat(50_000) }), 'it');
    expect(Buffer.byteLength(read.user)).toBeLessThanOrEqual(1024);
    expect(Buffer.from(read.bytes).toString()).toBe('the object');
  });
});
