import { createReadStream } from 'node:fs';
import { chown, mkdir, open, realpath, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { settingsText } from '../../api/codec/settings-text.ts';
import { badRequest } from '../../api/errors/index.ts';
import { writeSecretFile } from '../../client/config/write-secret-file.ts';

/** Where kubectl reads first: the first file that KUBECONFIG names, or ~/.kube/config. */
export function kubeconfigPath(env: NodeJS.ProcessEnv = process.env, home: string = homedir()): string {
  return kubeconfigPaths(env, home)[0] ?? '';
}

/** The files that kubectl reads without being told to, at least one. */
export function kubeconfigPaths(env: NodeJS.ProcessEnv = process.env, home: string = homedir()): string[] {
  const named = env.KUBECONFIG?.split(delimiter).filter((each) => each !== '') ?? [];
  const paths = named.length > 0 ? named : [join(home, '.kube', 'config')];
  return [...new Set(paths.map((each) => resolve(each)))];
}

/** Whether kubectl reads a file without being told to. */
export function isReadByKubectl(path: string, env: NodeJS.ProcessEnv = process.env, home: string = homedir()): boolean {
  return kubeconfigPaths(env, home).includes(resolve(path));
}

const lockTries = 30;
const lockTryMs = 100;

/** Waits between two looks at a lock. */
export type Wait = (ms: number) => Promise<unknown>;

/**
 * Writes a kubeconfig anew as `change` makes it of the present text ("" where there is none), while kubectl's lock file
 * is held: wholly or not at all, readable by its owner alone. What `change` throws leaves the file as it is. Throws
 * INVALID_ARGUMENT for a lock that another program holds for 3 s, and for a file that cannot be read.
 */
export async function changeKubeconfig(path: string, change: (text: string) => string, wait: Wait = delay): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const lock = `${path}.lock`;
  await takeLock(lock, wait);
  try {
    // Another program's link stays one.
    const target = await realpath(path).catch(() => path);
    const text = await readText(target);
    const next = change(text ?? '');
    const before = text === undefined ? undefined : await stat(target);
    await writeSecretFile(target, next);
    // Root writes for the user whose file it is.
    if (before && before.uid !== process.getuid?.()) await chown(target, before.uid, before.gid);
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string, wait: Wait): Promise<void> {
  for (let left = lockTries; ; left--) {
    try {
      await (await open(lock, 'wx', 0o600)).close();
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
        throw badRequest(`cannot lock with ${lock}: ${(error as Error).message}`);
    }
    if (left === 0)
      throw badRequest(
        `another program holds ${lock}; nothing was changed: try again, and remove that file if no kubectl runs (one that was killed leaves it)`,
      );
    await wait(lockTryMs);
  }
}

/** Undefined where there is no such file. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await settingsText(createReadStream(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw badRequest(`cannot read ${path}: ${(error as Error).message}; nothing was changed`);
  }
}
