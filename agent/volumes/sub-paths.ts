import type { FileHandle } from 'node:fs/promises';
import { mkdir, realpath, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMissing } from './atomic-files.ts';
import { openInside } from './inside.ts';
import type { Mounts } from './mounts.ts';

/** A part of a volume for one mount of one container. */
export interface SubPathRequest {
  readonly podDir: string;
  /** Where the volume is. */
  readonly volumePath: string;
  readonly volumeName: string;
  readonly containerName: string;
  /** Which of the container's mounts. */
  readonly index: number;
  /** Relative to the volume. */
  readonly subPath: string;
}

/** Below the pod's folder: what is mounted here goes with the pod. */
export const subPathFolder = 'volume-subpaths';

/**
 * Makes a part of a volume reachable under a path of the agent's own, which no container can change, and returns it.
 * What is mounted there is the very file or folder that was opened, so nothing that a container does in between leads
 * elsewhere. Idempotent.
 */
export async function ensureSubPath(request: SubPathRequest, mounts: Mounts): Promise<string> {
  const { podDir, volumeName, containerName, index } = request;
  const target = join(podDir, subPathFolder, volumeName, containerName, String(index));
  const source = await openInside(request.volumePath, request.subPath);
  try {
    if (await isMounted(target, mounts)) {
      if (await isSame(source, target)) return target;
      // An earlier start of the container had another one: a new version of the file, or another value of a variable.
      await mounts.unmount(target);
    }
    await makeTarget(target, (await source.stat()).isDirectory());
    await mounts.bind(`/proc/${process.pid}/fd/${source.fd}`, target);
    return target;
  } finally {
    await source.close();
  }
}

async function isMounted(target: string, mounts: Mounts): Promise<boolean> {
  if ((await statOrNothing(target)) === undefined) return false;
  const real = await realpath(target);
  return (await mounts.list()).includes(real);
}

async function isSame(source: FileHandle, target: string): Promise<boolean> {
  const [wanted, mounted] = await Promise.all([source.stat(), stat(target)]);
  return wanted.dev === mounted.dev && wanted.ino === mounted.ino;
}

/** A folder can only be mounted on a folder, anything else only on a file. */
async function makeTarget(target: string, isDirectory: boolean): Promise<void> {
  const present = await statOrNothing(target);
  if (present !== undefined && present.isDirectory() === isDirectory) return;
  // Removes only an empty mount point of our own: these calls fail on purpose when it has content.
  if (present !== undefined) await (present.isDirectory() ? rmdir(target) : unlink(target));
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  if (isDirectory) await mkdir(target, { mode: 0o750 });
  else await writeFile(target, '', { mode: 0o600, flag: 'wx' });
}

async function statOrNothing(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
