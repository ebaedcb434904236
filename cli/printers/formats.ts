import type { Command } from 'commander';
import type { ObjectOutput } from './output.ts';

/** What `-o` may be, by what it takes behind "=". */
export const outputFormats = {
  wide: 'nothing',
  json: 'nothing',
  yaml: 'nothing',
  name: 'nothing',
  jsonpath: 'template',
  'jsonpath-as-json': 'template',
  'jsonpath-file': 'file',
  'go-template': 'template',
  'go-template-file': 'file',
  'custom-columns': 'columns',
  'custom-columns-file': 'file',
} as const;

/** For the help. */
export const objectOutputHelp =
  'json, yaml, name, jsonpath=TEMPLATE, jsonpath-as-json=TEMPLATE, jsonpath-file=FILE, go-template=TEMPLATE, go-template-file=FILE, custom-columns=NAME:.path,..., custom-columns-file=FILE';

export interface OutputFlags {
  readonly output?: string;
  /** The template of `-o`, or the file that holds it. */
  readonly template?: string;
}

/** Adds -o and --template. `what` may name formats of this command alone. */
export function withOutputFlags(command: Command, what: string): Command {
  return command
    .option('-o, --output <format>', `${what}${objectOutputHelp}`)
    .option('--template <template>', 'the template of -o, or its file; without -o it is a go-template');
}

/** What -o and --template ask for; undefined: neither is given, and nothing is loaded. Throws INVALID_ARGUMENT. */
export async function readObjectOutput(flags: OutputFlags): Promise<ObjectOutput | undefined> {
  if (flags.output === undefined && flags.template === undefined) return undefined;
  const { parseObjectOutput } = await import('./output.ts');
  return await parseObjectOutput(flags);
}
