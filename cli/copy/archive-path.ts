import { posix } from 'node:path';

/**
 * Where an archive's entry belongs under the target: the parts of its name behind the first, which stands for what was asked for (nothing
 * for the root). Undefined for a name that leads elsewhere; an honest archive has none.
 */
export function entryPath(name: string): string[] | undefined {
  const [first, ...parts] = name.split('/');
  if (first === '..' || parts.includes('..') || name.includes('\0')) return undefined;
  return parts.filter((part) => part !== '' && part !== '.');
}

/**
 * Whether a link stays inside of what is copied, wherever the target is: relative, with ".." only at its beginning and no more of them than
 * there are folders above it. Then it stays inside also through other links, each of which does.
 */
export function staysInside(path: readonly string[], target: string): boolean {
  if (target === '' || posix.isAbsolute(target) || target.includes('\0')) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const down = parts.findIndex((part) => part !== '..');
  const up = down < 0 ? parts.length : down;
  return up <= path.length - 1 && !parts.slice(up).includes('..');
}
