import type { Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['0', 'f', 'F', 'false', 'False', 'FALSE'].map((word) => [word, false] as const),
]);

/** What the words before the current one have come to. */
interface Line {
  command: Command;
  /** Whether the innermost command has an argument: no word behind it calls a subcommand. */
  hasArgument: boolean;
  readonly out: string[];
}

/**
 * Rewrites flags as kubectl's parser (pflag) reads them into what commander reads: `-n=a` and `-na` become `-n a`,
 * `-it=false` becomes `-i`, `--wait=false` becomes `--no-wait`. Words behind `--`, values of flags, and flags that the
 * called command does not have stay as they are. Throws INVALID_ARGUMENT for a boolean flag with another value. `argv`
 * are the words behind "berth".
 */
export function expandFlags(program: Command, argv: readonly string[]): string[] {
  const line: Line = { command: program, hasArgument: false, out: [] };
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!;
    if (word === '--') return [...line.out, ...argv.slice(at)];
    const takesNext = word.startsWith('--')
      ? readLong(line, word)
      : /^-[^-]/.test(word)
        ? readShort(line, word)
        : readWord(line, word);
    if (takesNext && at + 1 < argv.length) line.out.push(argv[++at]!);
  }
  return line.out;
}

function readWord(line: Line, word: string): boolean {
  line.out.push(word);
  const inner = line.hasArgument
    ? undefined
    : line.command.commands.find((each) => each.name() === word || each.aliases().includes(word));
  if (inner) line.command = inner;
  else line.hasArgument = true;
  return false;
}

/** Gives whether the next word is the flag's value. */
function readLong(line: Line, word: string): boolean {
  const equals = word.indexOf('=');
  const name = equals < 0 ? word : word.slice(0, equals);
  const same = optionsOf(line.command).filter((option) => positive(option) === positive({ long: name }));
  if (equals < 0) {
    line.out.push(word);
    return same.some(({ long, required }) => long === name && required);
  }
  if (same.length === 0 || same.some((option) => !option.isBoolean() && !option.negate)) line.out.push(word);
  else pushBoolean(line, same, { name, value: word.slice(equals + 1) });
  return false;
}

/** Gives whether the next word is the value of the last of these flags. */
function readShort(line: Line, word: string): boolean {
  const known = optionsOf(line.command);
  const letters = [...word.slice(1)];
  for (const [index, letter] of letters.entries()) {
    const option = known.find(({ short }) => short === `-${letter}`);
    const rest = letters.slice(index + 1).join('');
    if (!option) {
      line.out.push(`-${letter}${rest}`);
      return false;
    }
    if (!option.isBoolean()) return pushValue(line, option, rest);
    if (rest.startsWith('=')) {
      const same = known.filter((each) => positive(each) === positive(option));
      pushBoolean(line, same, { name: option.short!, value: rest.slice(1) });
      return false;
    }
    line.out.push(option.short!);
  }
  return false;
}

function pushValue({ out }: Line, option: Option, rest: string): boolean {
  const value = rest.replace(/^=/, '');
  if (rest === '') out.push(option.short!);
  else if (option.long) out.push(`${option.long}=${value}`);
  else out.push(option.short!, value);
  return rest === '' && option.required;
}

/** The last value of a boolean flag counts. */
function pushBoolean(
  { out }: Line,
  same: readonly Option[],
  { name, value }: { readonly name: string; readonly value: string },
): void {
  const wanted = booleans.get(value);
  if (wanted === undefined) throw badRequest(`invalid value "${value}" for ${name}: it must be true or false`);
  const isPositive = !name.startsWith('--no-') || same.every(({ negate }) => !negate);
  const option = same.find(({ negate }) => negate !== (wanted === isPositive));
  const spellings = same.flatMap(({ short, long }) => [short, long]);
  for (let at = out.length - 1; at >= 0; at--) if (spellings.includes(out[at]!)) out.splice(at, 1);
  if (option) out.push((option.long ?? option.short)!);
}

/** The flags of a command and of those that it is a command of. */
function optionsOf(command: Command): readonly Option[] {
  const all: Option[] = [];
  for (let each: Command | null = command; each; each = each.parent) all.push(...each.options);
  return all;
}

/** "--wait" for "--wait" and for "--no-wait". */
function positive({ long }: Pick<Option, 'long'>): string {
  return (long ?? '').replace(/^--no-/, '--');
}
