import type { CommanderError } from 'commander';
import { ExitWith } from '../program/failure.ts';

/** As kubectl diff: 0 says that nothing differs, 1 that something does, and this that it could not be told. */
export const diffFailed = 2;

/** A command line that is wrong must not look like a difference. */
export function diffUsageExit(error: CommanderError): never {
  throw error.exitCode === 0 ? error : new ExitWith(diffFailed);
}
