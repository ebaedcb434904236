import { type Command, Option } from 'commander';
import { type OutputFlags, objectOutputHelp } from './formats.ts';
import type { ObjectOutput } from './output.ts';

/** Adds -o and --template. `what` may name formats of this command alone. */
export function withOutputFlags(command: Command, what: string): Command {
  return command
    .option('-o, --output <format>', `${what}${objectOutputHelp}`)
    .option('--template <template>', 'the template of -o, or its file; without -o it is a go-template')
    .option('--allow-missing-template-keys', 'leave out what a template names and is not there, as by default')
    .addOption(new Option('--no-allow-missing-template-keys').hideHelp());
}

/** What -o and --template ask for; undefined: neither is given, and nothing is loaded. Throws INVALID_ARGUMENT. */
export async function readObjectOutput(flags: OutputFlags): Promise<ObjectOutput | undefined> {
  if (flags.output === undefined && flags.template === undefined) return undefined;
  const { parseObjectOutput } = await import('./output.ts');
  return await parseObjectOutput(flags);
}
