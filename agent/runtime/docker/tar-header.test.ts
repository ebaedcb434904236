import { buffer } from 'node:stream/consumers';
import { type Header as FullHeader, pack } from 'tar-stream';
import { describe, expect, it } from 'vitest';
import { parseFirstEntry } from './tar-header.ts';

type Header = Partial<FullHeader>;

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
    const record = await archiveOf({ name: '././@LongLink', size: 5 }, '../b\0');
    // The type, and with it the sum, made that of a long link.
    record[156] = 'K'.charCodeAt(0);
    const sum = record.subarray(0, 512).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
    record.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const link = await archiveOf({ name: 'a', type: 'symlink', linkname: 'cut' });
    expect(parseFirstEntry(Buffer.concat([record.subarray(0, 1024), link]))).toMatchObject({ type: 'link', target: '../b' });
  });

  it('is missing in an empty archive, and in what is none', () => {
    expect(parseFirstEntry(Buffer.alloc(1024))).toBe('none');
    expect(parseFirstEntry(Buffer.from('OCI runtime exec failed: '.repeat(40)))).toBe('broken');
  });

  it('is not waited for in records without an end', async () => {
    const record = await archiveOf({ name: 'x'.repeat(300), type: 'file' });
    record.write(`${(2 ** 31).toString(8).padStart(11, '0')}\0`, 124);
    const sum = record.subarray(0, 512).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
    record.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    expect(parseFirstEntry(record)).toBe('broken');
  });
});
