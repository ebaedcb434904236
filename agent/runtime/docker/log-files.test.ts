import { appendFileSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { appendFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LogBlock, type LogPart, openLogFiles, readLogFiles } from './log-files.ts';

let folder: string;
let path: string;
const files = 3;
const place = () => ({ path, files });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-log-files-'));
  path = join(folder, 'c-json.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

const line = (i: number) => `line ${i}\n`;
const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => line(from + i)).join('');

/** As the engine does it. */
function rotate(): void {
  renameIfThere(`${path}.1`, `${path}.2`);
  renameIfThere(path, `${path}.1`);
  writeFileSync(path, '');
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {}
}

/** Three files of ten lines each. */
function threeFiles(): void {
  writeFileSync(path, lines(1, 10));
  rotate();
  appendFileSync(path, lines(11, 20));
  rotate();
  appendFileSync(path, lines(21, 30));
}

async function open(part: Partial<LogPart> = {}): Promise<AsyncGenerator<LogBlock>> {
  const opened = await openLogFiles(place());
  const whole = { tailLines: undefined, sinceTime: undefined, signal: new AbortController().signal };
  return readLogFiles(place(), opened ?? [], { ...whole, ...part });
}

async function rest(blocks: AsyncGenerator<LogBlock>): Promise<string> {
  let text = '';
  for await (const block of blocks) if (typeof block !== 'string') text += block.toString();
  return text;
}

/** Reads until all that is there has been read, with no file left behind. */
async function readAllThere(blocks: AsyncGenerator<LogBlock>): Promise<string> {
  let text = '';
  for (;;) {
    const { value, done } = await blocks.next();
    if (done || value === 'all-read') return text;
    if (typeof value !== 'string') text += value.toString();
  }
}

describe('a log in files', () => {
  it('is read from the oldest file on, up to where it was when it was opened', async () => {
    threeFiles();
    const blocks = await open();
    appendFileSync(path, lines(31, 40));
    rotate();
    appendFileSync(path, lines(41, 50));
    expect(await rest(blocks)).toBe(lines(1, 30));
  });

  it('is read whole by a slow reader that does not follow it, though the engine deletes its files meanwhile', async () => {
    threeFiles();
    const blocks = await open();
    const first = await blocks.next();
    for (let i = 0; i < 5; i++) rotate();
    expect(`${first.value}${await rest(blocks)}`).toBe(lines(1, 30));
  });

  it.each([0, 1, 5, 10, 11, 20, 25, 30, 31, 100])('is read from its last %i lines on', async (tailLines) => {
    threeFiles();
    expect(await rest(await open({ tailLines }))).toBe(lines(Math.max(1, 31 - tailLines), 30));
  });

  it('is read from its last lines on also where they are longer than a block', async () => {
    const long = `${'x'.repeat(150_000)}\n`;
    writeFileSync(path, `${long}one\n${long}two\n`);
    expect(await rest(await open({ tailLines: 2 }))).toBe(`${long}two\n`);
    expect(await rest(await open({ tailLines: 3 }))).toBe(`one\n${long}two\n`);
  });

  it('is read without files in which nothing is new enough', async () => {
    threeFiles();
    expect(await rest(await open({ sinceTime: new Date(Date.now() + 60_000) }))).toBe(lines(21, 30));
    expect(await rest(await open({ sinceTime: new Date(Date.now() - 60_000) }))).toBe(lines(1, 30));
  });

  it('is opened as it is at one moment, though the engine changes files all the time', async () => {
    let written = 10;
    writeFileSync(path, lines(1, 10));
    const stop = new AbortController();
    const changing = (async () => {
      while (!stop.signal.aborted) {
        await rename(`${path}.1`, `${path}.2`).catch(() => {});
        await rename(path, `${path}.1`);
        await writeFile(path, '');
        await appendFile(path, lines(written + 1, written + 10));
        written += 10;
        // The engine does so after 10 MB.
        await delay(3);
      }
    })();
    let seen = 0;
    for (let i = 0; i < 100; i++) {
      const before = written;
      const text = await rest(await open());
      const [first = 0] = /\d+/.exec(text) ?? [];
      const last = Number(/(\d+)\n$/.exec(text)?.[1] ?? before);
      expect(text).toBe(text === '' ? '' : lines(Number(first), last));
      expect(last).toBeGreaterThanOrEqual(before - 10);
      seen += text.length;
    }
    expect(seen).toBeGreaterThan(0);
    stop.abort();
    await changing;
  });

  it('is none when there is no file', async () => {
    expect(await openLogFiles(place())).toBeUndefined();
  });
});

describe('a log that is followed', () => {
  const ended = new AbortController();
  const following = { ended: ended.signal };

  it('goes on in the next file when the engine changes it, every line once', async () => {
    writeFileSync(path, lines(1, 5));
    const blocks = await open(following);
    expect(await readAllThere(blocks)).toBe(lines(1, 5));
    // What is written just before the change is not lost, and a file may be full before it was looked at.
    appendFileSync(path, lines(6, 8));
    rotate();
    appendFileSync(path, lines(9, 12));
    rotate();
    appendFileSync(path, lines(13, 15));
    expect(await readAllThere(blocks)).toBe(lines(6, 15));
    const next = readAllThere(blocks);
    appendFileSync(path, lines(16, 16));
    expect(`${await next}${await readAllThere(blocks)}`).toBe(lines(16, 16));
    await blocks.return(undefined);
  });

  it('gives a line at once, not when the file is looked at again', async () => {
    writeFileSync(path, '');
    const blocks = await open(following);
    await readAllThere(blocks);
    const times: number[] = [];
    for (let i = 1; i <= 5; i++) {
      // A look that finds nothing: from here on it waits.
      while ((await readAllThere(blocks)) !== '');
      const next = blocks.next();
      const at = performance.now();
      appendFileSync(path, line(i));
      expect(`${await next.then(({ value }) => (value === 'all-read' ? '' : value))}${await readAllThere(blocks)}`).toBe(line(i));
      times.push(performance.now() - at);
    }
    expect(Math.min(...times)).toBeLessThan(500);
    await blocks.return(undefined);
  });

  it('is told to be incomplete when the engine has deleted a file that was not read', async () => {
    threeFiles();
    const blocks = await open(following);
    expect(await readAllThere(blocks)).toBe(lines(1, 30));
    appendFileSync(path, lines(31, 35));
    for (let i = 0; i < 3; i++) {
      rotate();
      appendFileSync(path, lines(40 + i, 40 + i));
    }
    // What is still at hand of the file that was being read is given first.
    let text = '';
    const reading = (async () => {
      for await (const block of blocks) if (typeof block !== 'string') text += block.toString();
    })();
    await expect(reading).rejects.toMatchObject({
      code: 'overtaken',
      message: expect.stringContaining('lines of the log are missing'),
    });
    expect(text).toBe(lines(31, 35));
  });

  /** An entry of some 10 KB, written so many nanoseconds after the second. */
  const entry = (ns: number) =>
    `${JSON.stringify({ log: `${'x'.repeat(10_000)}\n`, stream: 'stdout', time: `2026-11-23T10:00:00.${String(ns).padStart(9, '0')}Z` })}\n`;

  it.each([
    { title: 'goes on when the next entry was written at once, so that no file can be missing', next: 2_000, code: undefined },
    { title: 'is told to be incomplete when there was time for a file between', next: 2_000_000, code: 'overtaken' },
  ])('$title', async ({ next, code }) => {
    writeFileSync(path, entry(0));
    const blocks = await open(following);
    const first = await readAllThere(blocks);
    appendFileSync(path, entry(1_000));
    for (const ns of [next, next + 1_000, next + 2_000]) {
      rotate();
      appendFileSync(path, entry(ns));
    }
    const reading = readAllThere(blocks);
    if (code) await expect(reading).rejects.toMatchObject({ code });
    else expect(first + (await reading)).toBe([0, 1_000, next, next + 1_000, next + 2_000].map((ns) => entry(ns)).join(''));
    await blocks.return(undefined);
  });

  it('is told to be incomplete when another program has emptied it', async () => {
    writeFileSync(path, lines(1, 20));
    const blocks = await open(following);
    expect(await readAllThere(blocks)).toBe(lines(1, 20));
    truncateSync(path);
    appendFileSync(path, lines(21, 21));
    await expect(rest(blocks)).rejects.toMatchObject({ code: 'overtaken' });
  });

  it('ends with the container, with all that it wrote, also in files that came meanwhile', async () => {
    const end = new AbortController();
    writeFileSync(path, lines(1, 5));
    const blocks = await open({ ended: end.signal });
    expect(await readAllThere(blocks)).toBe(lines(1, 5));
    appendFileSync(path, lines(6, 8));
    rotate();
    appendFileSync(path, lines(9, 10));
    end.abort();
    expect(await rest(blocks)).toBe(lines(6, 10));
  });

  it('ends at once when its reader goes, or its files', async () => {
    writeFileSync(path, lines(1, 5));
    const gone = new AbortController();
    const blocks = await open({ ...following, signal: gone.signal });
    await readAllThere(blocks);
    const waiting = rest(blocks);
    gone.abort();
    expect(await waiting).toBe('');

    const end = new AbortController();
    const others = await open({ ended: end.signal });
    await readAllThere(others);
    rmSync(path);
    end.abort();
    expect(await rest(others)).toBe('');
  });
});
