import { RE2JS } from 're2js';
import type { Budget } from './budget.ts';
import { keptBy } from './kept.ts';

/** The longest regular expression. */
export const PATTERN_CHARACTERS = 4096;
/** The largest program that a regular expression may become: repetitions are written out ("a{3}" is "aaa"). */
export const PROGRAM_INSTRUCTIONS = 5000;
/** Instructions that every program has. */
const PROGRAM_FRAME = 4;
/** Steps of compiling one character, or one instruction. */
const COMPILE_STEPS = 5;
/** Instructions that all compiled expressions that are kept have together; each takes some hundred bytes. */
const KEPT_INSTRUCTIONS = 300_000;
/** What an expression counts besides its instructions: its text. So at most 1,000 are kept. */
const TEXT_INSTRUCTIONS = 300;

/** A regular expression in RE2's syntax. Time is bounded by its size times the text's length. */
export interface Pattern {
  /** How many instructions its program has. */
  readonly size: number;
  /** Whether any part of the text matches. Takes steps of the budget for the work. */
  test(text: string, budget: Budget): boolean;
  /** The matching parts in order, at most `most` of them. */
  findAll(text: string, most: number, budget: Budget): string[];
}

const patterns = keptBy(
  KEPT_INSTRUCTIONS,
  (source): Pattern | RangeError => {
    try {
      return newPattern(source);
    } catch (error) {
      if (error instanceof RangeError) return error;
      throw error;
    }
  },
  (made) => TEXT_INSTRUCTIONS + (made instanceof RangeError ? 0 : made.size),
);

/**
 * Compiles an expression, or finds it among those that are kept. Takes the steps of compiling it, once for the same
 * work. Throws RangeError with the reason as a clause.
 */
export function compilePattern(source: string, budget?: Budget): Pattern {
  if (source.length > PATTERN_CHARACTERS)
    throw new RangeError(`has ${source.length} characters, the limit is ${PATTERN_CHARACTERS}: write it shorter`);
  budget?.prepare(`pattern ${source}`, COMPILE_STEPS * (source.length + Math.min(programSize(source), PROGRAM_INSTRUCTIONS)));
  const pattern = patterns(source);
  if (pattern instanceof RangeError) throw pattern;
  return pattern;
}

function newPattern(source: string): Pattern {
  if (programSize(source) > PROGRAM_INSTRUCTIONS) throw tooLarge();
  const compiled = compiledBy(source);
  const size = compiled.programSize();
  // The estimate is from above; should it ever not be, nothing large is kept.
  if (size > PROGRAM_INSTRUCTIONS) throw tooLarge();
  const cost = (text: string) => 1 + Math.ceil((size * text.length) / 8);
  return {
    size,
    test(text, budget) {
      budget.take(cost(text));
      return compiled.test(text);
    },
    findAll(text, most, budget) {
      const results: string[] = [];
      const matcher = compiled.matcher(text);
      let rest = text.length;
      while (results.length < most) {
        budget.take(1 + size * rest);
        if (!matcher.find()) break;
        results.push(matcher.group() ?? '');
        rest = text.length - matcher.end();
      }
      return results;
    },
  };
}

const tooLarge = (): RangeError =>
  new RangeError('is too large once its repetitions are written out: use smaller counts within {}');

function compiledBy(source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (error) {
    throw new RangeError(error instanceof Error ? error.message : 'is not a regular expression', { cause: error });
  }
}

/** An upper bound of the instructions that an expression compiles to, found without compiling it. */
export function programSize(source: string): number {
  const groups: number[] = [PROGRAM_FRAME];
  let atom = 0;
  const token = /\\Q[\s\S]*?(?:\\E|$)|\\.|\(\?[\w-]*\)|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d{1,5})(?:,(\d{0,5}))?\}|[\s\S]/gu;
  for (const [text, least, most] of source.matchAll(token)) {
    // Flags and an empty quotation are no atom: a quantifier behind them applies to the atom before them.
    if (text.startsWith('(?') || /^\\Q(\\E)?$/.test(text)) continue;
    if (least !== undefined) {
      // Each copy that may be left out takes an instruction more, and so does "x{0,}" like "x*".
      const repeated = Math.max(Number(least), Number(most || 0), 1) * (atom + 1) + 1;
      groups[groups.length - 1]! += repeated - atom;
      atom = repeated;
    } else if (text === '(') groups.push(0);
    else if (text === '|') groups[groups.length - 1]! += 2;
    else if (text === ')' && groups.length > 1) {
      atom = groups.pop()! + 3;
      groups[groups.length - 1]! += atom;
    } else if (!/^[*+?]$/.test(text)) {
      atom = text.startsWith('\\Q') ? text.length : 1 + Math.floor(text.length / 8);
      groups[groups.length - 1]! += atom;
    } else {
      // "x*" takes an instruction more where x may be empty: it becomes "(x+)?".
      const repeating = text === '*' ? 2 : 1;
      atom += repeating;
      groups[groups.length - 1]! += repeating;
    }
  }
  return groups.reduce((sum, size) => sum + size, 0);
}
