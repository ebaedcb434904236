import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { encodeRecord } from '../record.ts';
import { StorageError } from '../storage-error.ts';
import { BackupEncoder, readBackup } from './backup-format.ts';

const record = (key: string, revision: number): Buffer =>
  encodeRecord({
    type: 'put',
    durability: 'synced',
    revision,
    previous: 0,
    time: 1,
    key,
    kind: 'Pod',
    verb: 'create',
    user: 'admin',
    manager: 'test',
    bytes: Buffer.from(`bytes of ${key}`),
  });

function encode(...keys: string[]): Buffer {
  const encoder = new BackupEncoder();
  return Buffer.concat([
    encoder.header({ revision: 7, createdAt: '2026-01-01T00:00:00Z' }),
    encoder.records(keys.map((key, index) => record(key, index + 1))),
    encoder.end(),
  ]);
}

/** In pieces as small as they come, to cross every border. */
async function* byteByByte(bytes: Buffer): AsyncGenerator<Buffer> {
  for (const byte of bytes) yield Buffer.from([byte]);
}

async function decode(bytes: Buffer): Promise<string[]> {
  const { records } = await readBackup(byteByByte(bytes), 'it');
  const keys: string[] = [];
  for await (const { key, revision } of records) keys.push(`${key}@${revision}`);
  return keys;
}

async function refusal(bytes: Buffer): Promise<string> {
  const error: unknown = await decode(bytes).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof StorageError ? `${error.code}: ${error.message}` : `no refusal: ${String(error)}`;
}

describe('a backup', () => {
  it.each([[[]], [['pods/a']], [['pods/a', 'pods/b', 'leases/c']]])('of %j is read as it was written', async (keys) => {
    expect(await decode(encode(...keys))).toEqual(keys.map((key, index) => `${key}@${index + 1}`));
  });

  it('is refused with what to do while it is packed', async () => {
    expect(await refusal(gzipSync(encode('pods/a')))).toBe(
      'corrupt: read it: it is packed with gzip: unpack it first: zcat FILE | berth restore -',
    );
  });

  it('says in its first line what it is', async () => {
    const [line] = encode('pods/a').toString('latin1').split('\n');
    expect(line).toBe('berth-backup 2 {"revision":7,"createdAt":"2026-01-01T00:00:00Z"}');
    expect((await readBackup(byteByByte(encode('pods/a')), 'it')).header.revision).toBe(7);
  });

  it('is refused wherever it is cut off', async () => {
    const whole = encode('pods/a', 'pods/b');
    for (let length = 0; length < whole.length; length++) expect(await refusal(whole.subarray(0, length))).toMatch(/^corrupt: /);
  });

  it('is refused whichever byte is changed', async () => {
    const whole = encode('pods/a');
    for (let at = 0; at < whole.length; at++) {
      const changed = Buffer.from(whole);
      changed[at]! ^= 1;
      expect(await refusal(changed), `byte ${at}`).toMatch(/^(corrupt|newer-format): /);
    }
  });

  it('is refused when something follows', async () => {
    expect(await refusal(Buffer.concat([encode('pods/a'), Buffer.from('x')]))).toContain('something follows behind its end');
  });

  it('of a newer version is refused with what to do', async () => {
    const newer = Buffer.from(encode().toString('latin1').replace('berth-backup 2', 'berth-backup 3'), 'latin1');
    expect(await refusal(newer)).toBe(
      'newer-format: read it: it has format 3, this version reads up to 2; restore it with the newer version of berth that wrote it',
    );
  });

  it.each(['', 'hello\n', 'PK\x03\x04', 'x'.repeat(10_000)])('is not seen in %j', async (text) => {
    expect(await refusal(Buffer.from(text))).toBe('corrupt: read it: it is no backup of Berth; "berth backup FILE" makes one');
  });
});
