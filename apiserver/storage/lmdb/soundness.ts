import { restoreAdvice, StorageError } from '../storage-error.ts';
import { hasDatabase, isUnchanged, markMade, readClean, wasMade, writeFormat } from './markers.ts';
import { adoptNewFile, newFileIn, openNewFile, removeNewFile } from './new-file.ts';
import { runInChild, type Soundness } from './verify.ts';

/** What was done to a store while it was opened, for the log. */
export type Notice = (text: string) => void;

/**
 * Before a store is mapped: it is made if it never was; it is, byte for byte, the file that the last process closed, or
 * a child reads all of it. Throws `corrupt`, `newer-format` and `failed`; a store whose list of free pages alone is
 * damaged is copied, and then is sound.
 */
export async function ensureSound(directory: string, notice: Notice): Promise<void> {
  await removeNewFile(directory);
  if (!(await hasDatabase(directory))) return make(directory);
  const clean = await readClean(directory);
  if (clean && (await isUnchanged(directory, clean))) return;
  const { commit, canWrite } = await runInChild(directory, 'verify');
  // A damaged beginning shows the state before the last commit, which is whole, but not the last.
  if (clean?.commit !== undefined && commit < clean.commit)
    throw new StorageError(
      'corrupt',
      `verify the store ${directory}: it ends with commit ${commit}, and was closed with ${clean.commit}; ${restoreAdvice}`,
    );
  if (!canWrite) {
    await replaceByCopy(directory);
    notice('the list of free pages in the store was damaged; everything stored is sound, and was copied into a new file');
  } else if (clean) notice('the file of the store has changed since it was closed; it was read through and is sound');
}

/**
 * A file that is not whole is never in place, so that an empty or missing one later means damage and not a beginning.
 */
async function make(directory: string): Promise<void> {
  if (await wasMade(directory))
    throw new StorageError('corrupt', `open the store ${directory}: its file data.mdb is gone; ${restoreAdvice}`);
  await (await openNewFile(directory)).root.close();
  await adoptNewFile(directory);
  await markMade(directory);
}

/**
 * A new file with everything that is stored, in the present layout, in place of the old one. The store must be closed.
 * Its format is noted before: killed between, the next start finds the old layout in the tables, and copies again; an
 * older version refuses the store from then on.
 */
export async function replaceByCopy(directory: string): Promise<Soundness> {
  try {
    const found = await runInChild(directory, 'copy');
    await runInChild(newFileIn(directory), 'verify');
    await writeFormat(directory);
    await adoptNewFile(directory);
    return found;
  } catch (error) {
    await removeNewFile(directory);
    throw error;
  }
}
