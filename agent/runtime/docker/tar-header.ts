/** The first entry of a tar archive. */
export interface FirstEntry {
  readonly type: 'file' | 'directory' | 'link' | 'other';
  /** Permissions as in chmod. */
  readonly mode: number;
  readonly size: number;
  /** Where a link leads, as it is written in it; empty for others. */
  readonly target: string;
}

const blockBytes = 512;
/** More is no path: the kernel takes 4 KiB. */
const mostBytes = 64 * 1024;
const mostTargetBytes = 4_095;
const types: Readonly<Record<string, FirstEntry['type']>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '5': 'directory',
  '2': 'link',
};

/**
 * Reads the first entry of an archive from its beginning, with the records before it that hold what is too long for it
 * (POSIX' "x" and "g", GNU's "L" and "K"). "more": these bytes do not suffice. "none": the archive is empty. "broken":
 * it is no archive. A container's own program may have written it: it ends for whatever bytes.
 */
export function parseFirstEntry(bytes: Buffer): FirstEntry | 'more' | 'none' | 'broken' {
  let longTarget: string | undefined;
  let longSize: number | undefined;
  for (let at = 0; at <= mostBytes; ) {
    if (bytes.length < at + blockBytes) return 'more';
    const block = bytes.subarray(at, at + blockBytes);
    if (block.every((byte) => byte === 0)) return 'none';
    if (!isHeader(block)) return 'broken';
    const size = numberAt(block, 124, 12);
    const type = String.fromCharCode(block[156]!);
    if (!'xgLK'.includes(type)) {
      const target = longTarget ?? textAt(block, 157, 100);
      if (Buffer.byteLength(target) > mostTargetBytes) return 'broken';
      return { type: types[type] ?? 'other', mode: numberAt(block, 100, 8) & 0o7777, size: longSize ?? size, target };
    }
    // A size that is negative, or no number, would lead backwards.
    if (!(size >= 0 && size <= mostBytes)) return 'broken';
    const end = at + blockBytes + size;
    if (bytes.length < end) return 'more';
    const content = bytes.subarray(at + blockBytes, end);
    if (type === 'K') longTarget = textAt(content, 0, size);
    if (type === 'x') {
      const records = parseRecords(content);
      longTarget = records.get('linkpath') ?? longTarget;
      longSize = records.has('size') ? Number(records.get('size')) : longSize;
    }
    at += blockBytes + Math.ceil(size / blockBytes) * blockBytes;
  }
  return 'broken';
}

/** The sum of all bytes, those of the sum itself counted as spaces. */
function isHeader(block: Buffer): boolean {
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  return sum === numberAt(block, 148, 8);
}

/** Octal digits or, for large ones, binary with the highest bit set. */
function numberAt(block: Buffer, at: number, length: number): number {
  if ((block[at]! & 0x80) !== 0) return block.subarray(at + 1, at + length).reduce((total, byte) => total * 256 + byte, 0);
  return Number.parseInt(textAt(block, at, length).trim() || '0', 8);
}

function textAt(block: Buffer, at: number, length: number): string {
  const text = block.subarray(at, at + length);
  const end = text.indexOf(0);
  return text.toString('utf8', 0, end < 0 ? text.length : end);
}

/** Other forms of numbers could be too small to lead on, such as "1e-9". */
const recordLength = /^[1-9]\d{0,9}$/;

/** Each is "LENGTH KEY=VALUE\n", the length that of all of it. */
function parseRecords(content: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(32, at);
    const digits = content.toString('latin1', at, space);
    if (space < 0 || !recordLength.test(digits) || Number(digits) <= digits.length) break;
    const length = Number(digits);
    const [key = '', ...value] = content.toString('utf8', space + 1, at + length - 1).split('=');
    records.set(key, value.join('='));
    at += length;
  }
  return records;
}
