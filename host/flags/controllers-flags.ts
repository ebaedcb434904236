import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { RunControllersOptions } from '../../controllers/main.ts';
import { installation } from '../paths.ts';
import { evictionRatesOf, type LostNodeFlags } from './lost-node-flags.ts';
import { type NetworkFlags, networkSettingsOf } from './network-flags.ts';

/** Which controllers run: false for none, names, or what is usual, which is all. */
export interface ControllersFlags {
  readonly controllers?: boolean | readonly string[];
}

/** `--controllers`, as kube-controller-manager has it. */
export function withControllersFlag(command: Command): Command {
  return command.addOption(
    new Option('--controllers <names>', 'which controllers run: names, "*" for all, -NAME for all but one').argParser(parseNames),
  );
}

function parseNames(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => /^(?:\*|-?[a-z][a-z-]*)$/.test(name))) return names;
  throw new InvalidArgumentError('give names with commas between, e.g. "*,-disruption"');
}

const chosen = ({ controllers }: ControllersFlags): readonly string[] | undefined =>
  typeof controllers === 'object' ? controllers : undefined;

/** What is wrong with the names: a sentence each. */
export async function controllersErrors(flags: ControllersFlags): Promise<string[]> {
  const select = chosen(flags);
  if (!select) return [];
  const { checkControllers } = await import('../../controllers/main.ts');
  try {
    checkControllers(select);
    return [];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [`--controllers: ${error.message}`];
  }
}

/** As the controllers take them; what is not said is theirs to choose. */
export function controllersOptions(
  flags: ControllersFlags & LostNodeFlags & NetworkFlags & { readonly dataDir: string },
): Pick<RunControllersOptions, 'select' | 'evictionRates' | 'authorities' | keyof ReturnType<typeof networkSettingsOf>> {
  return {
    select: chosen(flags),
    evictionRates: evictionRatesOf(flags),
    ...networkSettingsOf(flags),
    authorities: () => readFile(join(installation(flags.dataDir).pki, 'ca.crt'), 'utf8'),
  };
}
