import { join } from 'node:path';
import { restoreAdvice, StorageError } from '../storage-error.ts';
import { copyTables } from './copy-tables.ts';
import { checkPages } from './page-check.ts';
import { openTables } from './tables.ts';
import type { ChildTask, Verdict } from './verify.ts';
import { verifyTables } from './verify-tables.ts';

/** The program that verify.ts runs: node verify-child <directory> <task>. Prints its verdict as the last line. */
async function run(directory: string, task: ChildTask): Promise<Verdict> {
  try {
    const { canWrite } = checkPages(join(directory, 'data.mdb'));
    const tables = openTables(directory, { readOnly: true });
    const { commit, reserved } = verifyTables(tables);
    if (task === 'copy') await copyTables(tables, directory);
    return { code: 'sound', commit, reserved, canWrite };
  } catch (error) {
    if (error instanceof StorageError) return { code: error.code, message: error.message };
    return { code: 'corrupt', message: `${error instanceof Error ? error.message : String(error)}; ${restoreAdvice}` };
  }
}

const [directory, task] = process.argv.slice(2);
if (directory === undefined || (task !== 'verify' && task !== 'copy'))
  throw new Error('name the directory of the store and the task');
run(directory, task).then((verdict) => process.stdout.write(`${JSON.stringify(verdict)}\n`));
