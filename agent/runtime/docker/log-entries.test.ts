import { describe, expect, it } from 'vitest';
import { LogEntries, type LogView } from './log-entries.ts';

const beginning = Date.UTC(2026, 10, 21, 11, 22, 33);
const time = (ms: number) => new Date(beginning + ms).toISOString();
const entry = (log: string, ms = 0, stream = 'stdout') => `${JSON.stringify({ log, stream, time: time(ms) })}\n`;
const long = 'x'.repeat(16 * 1024);

/** Reads a file in blocks of a size, each in the same memory, as files are read. */
function frames(file: string, size: number, view: Partial<LogView> = {}): string[] {
  const entries = new LogEntries({ timestamps: false, sinceTime: undefined, ...view });
  const all = Buffer.from(file);
  const block = Buffer.alloc(size);
  const got: Buffer[] = [];
  for (let at = 0; at < all.length; at += size) {
    const length = all.copy(block, 0, at, at + size);
    got.push(...entries.push(block.subarray(0, length)));
    block.fill(0);
  }
  got.push(...entries.end());
  return got.map(String);
}

const read = (...args: Parameters<typeof frames>): string => frames(...args).join('');

describe.each([1, 7, 1000, 65_536])('the entries of the engine, read %i bytes at a time', (size) => {
  it('become what the container wrote', () => {
    const lines = ['one\n', 'ümläut 漢字 🎉\n', 'a "quoted" \\ and a tab\t\u0000\n', '\n', 'no end'];
    expect(read(lines.map((line) => entry(line)).join(''), size)).toBe(lines.join(''));
  });

  it('have their time at the beginning of each line, with nine digits, also of lines that are several entries', () => {
    const file = [
      entry('short\n', 100),
      entry(long, 200),
      entry('between\n', 201, 'stderr'),
      entry(long, 200),
      entry('end\n', 200),
      `{"log":"whole second\\n","stream":"stdout","time":"2026-11-21T11:22:40Z"}\n`,
    ];
    expect(read(file.join(''), size, { timestamps: true })).toBe(
      [
        '2026-11-21T11:22:33.100000000Z short\n',
        `2026-11-21T11:22:33.200000000Z ${long}`,
        '2026-11-21T11:22:33.201000000Z between\n',
        `${long}end\n`,
        '2026-11-21T11:22:40.000000000Z whole second\n',
      ].join(''),
    );
  });

  it('are chosen by their time', () => {
    const file = [entry('before\n', 1_999), entry('at\n', 2_000), entry('after\n', 2_001)].join('');
    expect(read(file, size, { sinceTime: new Date(beginning + 2_000) })).toBe('at\nafter\n');
  });

  it('are shown as they are when they are damaged', () => {
    expect(read(`${entry('one\n')}{"log":"tw\n${entry('three\n')}{"log":"fo`, size)).toBe('one\n{"log":"tw\nthree\n{"log":"fo\n');
  });
});

describe('the frames of a log', () => {
  it('have 32 to 48 KiB, but for the last', () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i} ${'ä'.repeat(i % 100)}\n`);
    const sizes = frames(lines.map((line) => entry(line)).join(''), 65_536).map((frame) => Buffer.byteLength(frame));
    expect(sizes.reduce((sum, size) => sum + size)).toBe(Buffer.byteLength(lines.join('')));
    for (const size of sizes.slice(0, -1)) expect(size).toBeGreaterThanOrEqual(32 * 1024);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(48 * 1024);
  });

  it('come at once when nothing more is there', () => {
    const entries = new LogEntries({ timestamps: false, sinceTime: undefined });
    const begun = Buffer.from(`${entry('one\n')}${entry('two\n')}${entry('three\n').slice(0, 20)}`);
    expect([...entries.push(begun)]).toEqual([]);
    expect([...entries.take()].map(String)).toEqual(['one\ntwo\n']);
    expect([...entries.take()]).toEqual([]);
    expect([...entries.push(Buffer.from(entry('three\n').slice(20)))]).toEqual([]);
    expect([...entries.take()].map(String)).toEqual(['three\n']);
  });

  it('hold no damage without an end', () => {
    const entries = new LogEntries({ timestamps: false, sinceTime: undefined });
    const zeros = Buffer.alloc(65_536);
    let given = 0;
    for (let i = 0; i < 100; i++) for (const frame of entries.push(zeros)) given += frame.length;
    expect(given).toBeGreaterThan(5 * 1024 * 1024);
  });
});
