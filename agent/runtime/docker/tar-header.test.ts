import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { type Header as FullHeader, pack } from 'tar-stream';
import { describe, expect, it } from 'vitest';
import { parseFirstEntry } from './tar-header.ts';

type Header = Partial<FullHeader>;

/** The same with another type or size, and the sum that goes with it. */
function changed(bytes: Buffer, { type, size }: { type?: string; size?: string }): Buffer {
  if (type !== undefined) bytes.write(type, 156);
  if (size !== undefined) bytes.write(size.padEnd(12, '\0'), 124);
  const sum = bytes.subarray(0, 512).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return bytes;
}

async function archiveOf(header: Header, text = ''): Promise<Buffer> {
  const archive = pack();
  archive.entry(header as FullHeader, text);
  archive.finalize();
  return buffer(archive);
}

describe('the first entry of an archive', () => {
  it.each<[Header, object]>([
    [
      { name: 'a', mode: 0o4751, size: 5 },
      { type: 'file', mode: 0o4751, size: 5, target: '' },
    ],
    [
      { name: 'a/', mode: 0o755, type: 'directory' },
      { type: 'directory', mode: 0o755, size: 0 },
    ],
    [
      { name: 'a', type: 'symlink', linkname: '../b' },
      { type: 'link', target: '../b' },
    ],
    [{ name: 'a', type: 'character-device' }, { type: 'other' }],
  ])('%j is known', async (header, expected) =>
    expect(parseFirstEntry(await archiveOf(header, header.size ? 'hello' : ''))).toMatchObject(expected),
  );

  it('is known also behind the records of long names and sizes, as soon as all of it has come', async () => {
    const target = `${'long/'.repeat(60)}ümlaut`;
    const bytes = await archiveOf({ name: 'x'.repeat(300), type: 'symlink', linkname: target });
    expect(parseFirstEntry(bytes)).toMatchObject({ type: 'link', target });
    for (const length of [0, 511, 512, 700, 1024]) expect(parseFirstEntry(bytes.subarray(0, length))).toBe('more');
    const sized = await archiveOf({ name: 'a', size: 0, pax: { size: '12345678901' } } as Header);
    expect(parseFirstEntry(sized)).toMatchObject({ type: 'file', size: 12345678901 });
  });

  it('is known behind the records of GNU', async () => {
    const record = changed(await archiveOf({ name: '././@LongLink', size: 5 }, '../b\0'), { type: 'K' });
    const link = await archiveOf({ name: 'a', type: 'symlink', linkname: 'cut' });
    expect(parseFirstEntry(Buffer.concat([record.subarray(0, 1024), link]))).toMatchObject({ type: 'link', target: '../b' });
  });

  it('is missing in an empty archive, and in what is none', () => {
    expect(parseFirstEntry(Buffer.alloc(1024))).toBe('none');
    expect(parseFirstEntry(Buffer.from('OCI runtime exec failed: '.repeat(40)))).toBe('broken');
  });

  it('is not waited for in records without an end', async () => {
    const record = changed(await archiveOf({ name: 'x'.repeat(300), type: 'file' }), { size: (2 ** 31).toString(8) });
    expect(parseFirstEntry(record)).toBe('broken');
  });

  it.each(['-1000', '-777', 'x', '-', '1e3'])('is not waited for behind a record with the size %j', async (size) => {
    const record = changed(await archiveOf({ name: 'x', size: 5 }, 'bytes'), { type: 'x', size });
    expect(['broken', 'more', 'none']).toContain(parseFirstEntry(record));
  });

  it.each(['1e-300', '0.5', '1e-9', '0', '-3', '0x1', '1', '2', ' 5', 'Infinity', '99999999999999999999'])(
    'is known behind a record that says it has %j bytes',
    async (length) => {
      const text = `${length} linkpath=b\n`;
      const record = changed(await archiveOf({ name: 'x', size: text.length }, text), { type: 'x' });
      const link = await archiveOf({ name: 'a', type: 'symlink', linkname: 'own' });
      expect(parseFirstEntry(Buffer.concat([record.subarray(0, 1024), link]))).toMatchObject({ type: 'link', target: 'own' });
    },
  );

  it('is refused with a link that is longer than a path', async () => {
    const link = (length: number) => archiveOf({ name: 'a', type: 'symlink', linkname: 'x/'.repeat(length) });
    expect(parseFirstEntry(await link(2_047))).toMatchObject({ type: 'link' });
    expect(parseFirstEntry(await link(2_048))).toBe('broken');
  });

  it('is read in bounded time from whatever bytes', () => {
    const header = (kind: string, size: string) => changed(Buffer.alloc(512), { type: kind, size });
    const kind = fc.constantFrom('x', 'g', 'L', 'K', '0', '2');
    const size = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.integer().map((value) => value.toString(8).slice(0, 12)),
    );
    const number = fc.oneof(fc.double().map(String), fc.integer().map(String), fc.string({ maxLength: 8 }));
    const record = fc.tuple(number, fc.string()).map(([length, text]) => Buffer.from(`${length} ${text}\n`));
    const piece = fc.oneof(
      fc.tuple(kind, size).map(([type, text]) => header(type, text)),
      record,
      fc.uint8Array(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const entry = parseFirstEntry(Buffer.concat(pieces));
        expect(['more', 'none', 'broken', 'object']).toContain(typeof entry === 'object' ? 'object' : entry);
      }),
    );
  });
});
