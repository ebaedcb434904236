import { chmod, lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { privateFileProblem, privateFolderProblem } from '../../api/meta/private-file.ts';

/** Keys, and tokens in clear or as hashes, by their names. */
const secretName = /\.(key|pem)$|^tokens$|token$/;

/**
 * Checks the permissions of a data directory's private files before any is used: a key that other users could read may
 * be compromised, and one that they can replace is. Throws an Error that names all of them, with the command that mends
 * each.
 */
export async function refuseExposed(dataDir: string, pki: string, self: number | undefined = process.getuid?.()): Promise<void> {
  const folders = [pki, join(pki, 'service-accounts')];
  const files = (await Promise.all(folders.map(secretsIn))).flat();
  const problems = [
    privateFolderProblem(dataDir, await stat(dataDir), self),
    ...(await Promise.all(files.map(async (file) => privateFileProblem(file, await stat(file), self)))),
  ].filter((problem) => problem !== undefined);
  if (problems.length === 0) return;
  throw new Error(`the data directory is not safe: ${problems.join('; ')}`);
}

async function secretsIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile() && secretName.test(entry.name)).map(({ name }) => join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Of the data directory: the server's own folders. What pods have of it lies elsewhere ("node"), and keys of Secrets
 * are refused when they are exposed.
 */
const ownFolder = /^(store|store\..*|pki|logs|run)$/;

/**
 * Removes other users' permissions on the server's files, which earlier versions created with the umask's. Runs after
 * `refuseExposed`: exposed keys are reported, not silently fixed.
 */
export async function tightenFiles(dataDir: string, self: number | undefined = process.getuid?.()): Promise<void> {
  const entries = await readdir(dataDir, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory() && ownFolder.test(entry.name));
  const below = await Promise.all(
    folders.map(({ name }) => readdir(join(dataDir, name), { withFileTypes: true, recursive: true })),
  );
  const files = [...entries, ...below.flat()].filter((entry) => entry.isFile());
  for (const { parentPath, name } of files) await tighten(join(parentPath, name), self);
}

async function tighten(file: string, self: number | undefined): Promise<void> {
  try {
    const { mode, uid } = await lstat(file);
    if ((mode & 0o077) !== 0 && (self === undefined || uid === self)) await chmod(file, mode & 0o700);
  } catch (error) {
    // A log was rotated, or a file of the process table has gone.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
