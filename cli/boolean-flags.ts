import type { Command } from 'commander';

/**
 * kubectl takes a value for every switch: --wait=false, --ignore-not-found=true. Rewrites those of the command that is called into what
 * the parser knows: --x=true is --x, --x=false is --no-x, or nothing where that is the default anyway.
 */
export function expandBooleanFlags(program: Command, argv: readonly string[]): string[] {
  const options = [...program.options, ...calledCommand(program, argv).options];
  const end = argv.indexOf('--');
  return argv.flatMap((word, at) => {
    const [, name, value] = ((end < 0 || at < end) && /^--([a-z][a-z-]*)=(true|false)$/.exec(word)) || [];
    const named = options.filter((option) => option.attributeName() === camelCase(name ?? ''));
    if (named.length === 0 || named.some((option) => !option.isBoolean() && !option.negate)) return [word];
    const wanted = named.find((option) => option.negate === (value === 'false'));
    return wanted?.long ? [wanted.long] : [];
  });
}

/** The innermost command that the words name; what stands between may be flags and their values. */
function calledCommand(program: Command, argv: readonly string[]): Command {
  let command = program;
  for (const word of argv) {
    if (word === '--') break;
    command = command.commands.find((each) => each.name() === word || each.aliases().includes(word)) ?? command;
  }
  return command;
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
