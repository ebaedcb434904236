/** What a request names: what is used of a URL. */
export type Target = Pick<URL, 'pathname' | 'searchParams'>;

/** Paths that are the same when they have been parsed as a URL: without dots, escapes and empty parts. */
const plain = /^((?:\/[\w~-][\w.~-]*)+)(\?[!"$-~]*)?$/;

/**
 * The path and the query of a request's target, as of a URL; parsing one is a twentieth of a small read. Never throws:
 * "//" is a path as well, and "*" is none that there is.
 */
export function targetOf(target = '/'): Target {
  const [, pathname, query] = plain.exec(target) ?? [];
  if (pathname !== undefined) return { pathname, searchParams: new URLSearchParams(query) };
  return new URL(`http://door${target.startsWith('/') ? '' : '/'}${target}`);
}
