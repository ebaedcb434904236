import { posix } from 'node:path';

/** As the kernel has it. */
export const mostLinks = 40;

interface Entry {
  readonly type: string;
  /** Where a link leads, as it is written in it. */
  readonly target: string;
}

/**
 * Walks down an absolute path, part by part, and follows its links as the kernel does. Undefined when there is nothing;
 * a link at the end that leads to nothing is itself what was found. `look` gets paths of which only the last part may
 * be a link; `hasNoLinks` spares looking.
 */
export async function followLinks<T extends Entry>(
  path: string,
  look: (path: string) => Promise<T | undefined>,
  hasNoLinks: (path: string) => boolean,
): Promise<{ readonly path: string; readonly entry: T } | 'too many links' | undefined> {
  let rest = partsOf(path);
  let at = '/';
  let entry: T | undefined;
  let last: { path: string; entry: T } | undefined;
  let links = 0;
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    entry = undefined;
    const next = part === '..' ? posix.dirname(at) : posix.join(at, part);
    if (part === '..' || hasNoLinks(next)) {
      at = next;
      continue;
    }
    entry = await look(next);
    if (entry === undefined) return last;
    if (entry.type !== 'link') {
      at = next;
      continue;
    }
    if (++links > mostLinks) return 'too many links';
    if (rest.length === 0) last ??= { path: next, entry };
    if (entry.target.startsWith('/')) at = '/';
    rest = [...partsOf(entry.target), ...rest];
    entry = undefined;
  }
  entry ??= await look(at);
  return entry === undefined ? last : { path: at, entry };
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}
