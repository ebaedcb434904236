import { StorageError } from '../storage-error.ts';
import { openTables } from './tables.ts';
import type { Verdict } from './verify.ts';
import { verifyTables } from './verify-tables.ts';

/** The program that `verifyInChild` runs: node verify-child <directory>. Prints its verdict as the last line. */
function verify(directory: string): Verdict {
  try {
    return { code: 'sound', records: verifyTables(openTables(directory, { readOnly: true })) };
  } catch (error) {
    if (error instanceof StorageError) return { code: error.code, message: error.message };
    return { code: 'corrupt', message: `${error instanceof Error ? error.message : String(error)}; restore it from a backup` };
  }
}

const directory = process.argv[2];
if (directory === undefined) throw new Error('name the directory of the store');
process.stdout.write(`${JSON.stringify(verify(directory))}\n`);
