import type { ContainerConfig, ImageService } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';

/** Linux', without the zero at the end. */
const longestPath = 4_095;

/**
 * Refuses paths that no kernel takes. runc would tell of them on a pipe that is not read before it has ended: with one
 * of 64 KiB it waits for ever, and with it every call of the engine for this container, its removal too. Throws
 * RuntimeError.
 */
export async function checkPaths(
  { command, args, workingDir, mounts, image }: Pick<ContainerConfig, 'command' | 'args' | 'workingDir' | 'mounts' | 'image'>,
  findImage: ImageService['find'],
): Promise<void> {
  checkPath('the command', command?.[0]);
  checkPath('the working directory', workingDir);
  for (const { containerPath } of mounts) checkPath('the path of a mount', containerPath);
  if (command !== undefined || isShort(args?.[0])) return;
  // With a program of the image's own it is only an argument.
  if ((await findImage(image))?.program === undefined) checkPath('the command', args?.[0]);
}

/** `what` it is, for people. Throws RuntimeError. */
export function checkPath(what: string, path: string | undefined): void {
  if (path === undefined || isShort(path)) return;
  const words = `${what} "${path.slice(0, 20)}..." is a file name too long for Linux: ${Buffer.byteLength(path)} bytes of at most ${longestPath}`;
  throw new RuntimeError('invalid', words);
}

const isShort = (path: string | undefined): boolean => path === undefined || Buffer.byteLength(path) <= longestPath;
