import { mkdirSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Candidate } from './question.ts';

/** All that may stand at a place in a command line, whatever is typed of it. */
export interface KeptWords {
  readonly words: readonly Candidate[];
  readonly glued: boolean;
  readonly files: boolean;
}

interface Entry extends KeptWords {
  /** The place: the words before it. */
  readonly of: string;
  readonly until: number;
}

/** How many places are kept, the newest, and how large the file may be. */
const maxEntries = 20;
const maxBytes = 256 * 1024;

/** Where answers are kept, and of what they were true. */
export interface AnswersCache {
  readonly path: string;
  /** The contexts file: another one, or a change of it, makes all answers unknown. */
  readonly config: string;
}

/**
 * What the server and the program told a completion of the same place a moment ago, so that the next press of the key
 * needs neither. Undefined where nothing is kept, it is too old, or the contexts file has changed. `before` are the
 * words before the cursor's.
 */
export function readKeptWords({ path, config }: AnswersCache, before: readonly string[], now: number): KeptWords | undefined {
  const key = keyOf(config, before);
  if (key === undefined) return undefined;
  // One from too far in the future was written by a clock that was wrong.
  return entriesIn(path).find(({ of, until }) => of === key && until > now && until <= now + longestMs);
}

/** Keeps words for `forMs`, in a file that only its owner may read; does nothing where that cannot be written. */
export function keepWords(
  { path, config }: AnswersCache,
  before: readonly string[],
  kept: KeptWords & { readonly forMs: number },
  now: number,
): void {
  const of = keyOf(config, before);
  if (of === undefined) return;
  const { words, glued, files } = kept;
  const entry: Entry = { of, until: now + Math.min(kept.forMs, longestMs), words, glued, files };
  const others = entriesIn(path).filter((each) => each.of !== of && each.until > now);
  const text = JSON.stringify([entry, ...others].slice(0, maxEntries));
  if (Buffer.byteLength(text) > maxBytes) return;
  const draft = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
    renameSync(draft, path);
  } catch {
    discard(draft);
  }
}

/** Where no file can be written every completion asks. */
function discard(draft: string): void {
  try {
    unlinkSync(draft);
  } catch {
    return;
  }
}

/** What the program itself knows: types and flags. */
export const longestMs = 5 * 60_000;

function keyOf(config: string, before: readonly string[]): string | undefined {
  try {
    const { size, mtimeMs, ino } = statSync(config);
    return JSON.stringify([process.env.BERTH_BUILD, config, size, mtimeMs, ino, ...before]);
  } catch {
    // In a pod there is no such file, and its identity changes in other ways.
    return undefined;
  }
}

function entriesIn(path: string): Entry[] {
  try {
    const { size } = statSync(path);
    const kept: unknown = size > maxBytes ? [] : JSON.parse(readFileSync(path, 'utf8'));
    return Array.isArray(kept) ? kept.filter(isEntry) : [];
  } catch {
    return [];
  }
}

function isEntry(value: unknown): value is Entry {
  if (typeof value !== 'object' || value === null) return false;
  const { of, until, words } = value as Partial<Entry>;
  const isWord = (each: unknown): boolean => typeof (each as Candidate | null)?.word === 'string';
  return typeof of === 'string' && typeof until === 'number' && Array.isArray(words) && words.every(isWord);
}
