import { posix } from 'node:path';

/**
 * The path of an archive's entry below the target: the parts of its name without the first, which is the name of the
 * requested file or directory (empty for the root). Undefined for a name that leads out of the target, which only a
 * hostile archive has.
 */
export function entryPath(name: string): string[] | undefined {
  const [first, ...parts] = name.split('/');
  if (first === '..' || parts.includes('..') || name.includes('\0')) return undefined;
  return parts.filter((part) => part !== '' && part !== '.');
}

/**
 * Whether a link stays inside the copied tree, wherever the target is: it is relative, has ".." only at its beginning,
 * and no more of them than there are directories above the link. Such a link stays inside also when it leads through
 * other such links.
 */
export function staysInside(path: readonly string[], target: string): boolean {
  if (target === '' || posix.isAbsolute(target) || target.includes('\0')) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const down = parts.findIndex((part) => part !== '..');
  const up = down < 0 ? parts.length : down;
  return up <= path.length - 1 && !parts.slice(up).includes('..');
}
