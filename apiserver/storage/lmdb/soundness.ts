import { restoreAdvice, StorageError } from '../storage-error.ts';
import { hasDatabase, isUnchanged, readClean } from './markers.ts';
import { adoptNewFile, removeNewFile } from './new-file.ts';
import { runInChild, type Soundness } from './verify.ts';

/** What was done to a store while it was opened, for the log. */
export type Notice = (text: string) => void;

/**
 * Before a store is mapped: it is, byte for byte, the file that the last process closed, or a child reads all of it. Throws `corrupt`,
 * `newer-format` and `failed`; a store whose list of free pages alone is damaged is copied, and then is sound.
 */
export async function ensureSound(directory: string, notice: Notice): Promise<void> {
  await removeNewFile(directory);
  if (!(await hasDatabase(directory))) return;
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

/** A new file with everything that is stored, in place of the old one. The store must be closed. */
export async function replaceByCopy(directory: string): Promise<Soundness> {
  try {
    const found = await runInChild(directory, 'copy');
    await adoptNewFile(directory);
    return found;
  } catch (error) {
    await removeNewFile(directory);
    throw error;
  }
}
