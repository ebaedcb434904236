import type { RegistryEntry } from './docker-config.ts';

/** The registry of images without one, and the name that logins write for it. */
const hub = 'docker.io';
const hubLocation = 'index.docker.io';

interface Location {
  readonly host: string;
  readonly port: string;
  readonly path: string;
}

/**
 * The entries that an image's repository ("docker.io/library/nginx") may be pulled with, the most particular first.
 * Rules of Kubernetes: scheme and API version of a location do not count; its port must be the same; each part of its
 * host may hold the wildcards of a file name, and there are as many parts; its path is the beginning of the
 * repository's. Entries of Docker Hub are for images without a registry.
 */
export function findEntries<E extends RegistryEntry>(entries: readonly E[], repository: string): E[] {
  const target = parseLocation(repository);
  const matching = entries
    .map((entry) => ({ entry, location: parseLocation(entry.location) }))
    .filter(({ location }) => matches(location, target));
  // Texts in falling order: a longer path stands before the shorter one that it begins with.
  const sorted = matching.toSorted((a, b) => compare(textOf(b.location), textOf(a.location)));
  if (sorted.length > 0 || target.host !== hub) return sorted.map(({ entry }) => entry);
  return entries.filter((entry) => {
    const { host, path } = parseLocation(entry.location);
    return host === hubLocation && path === '';
  });
}

function parseLocation(text: string): Location {
  const [authority = '', ...rest] = text.replace(/^https?:\/\//, '').split('/');
  const [, host = authority, port = ''] = /^(.*?)(?::(\d+))?$/.exec(authority) ?? [];
  const path = rest.join('/').replace(/^v[12](\/|$)/, '');
  return { host, port, path };
}

function textOf({ host, port, path }: Location): string {
  return `${host}${port === '' ? '' : `:${port}`}${path === '' ? '' : `/${path}`}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function matches(location: Location, target: Location): boolean {
  if (location.port !== target.port || !target.path.startsWith(location.path)) return false;
  const parts = location.host.split('.');
  const targetParts = target.host.split('.');
  return parts.length === targetParts.length && parts.every((part, i) => matchesPart(part, targetParts[i] ?? ''));
}

/** One character of a pattern, or any number of any. */
type Token = 'any' | ((character: string) => boolean);

function matchesPart(pattern: string, text: string): boolean {
  if (pattern === text) return true;
  if (!/[*?[]/.test(pattern)) return false;
  return matchesTokens(tokensOf(pattern), text);
}

function tokensOf(pattern: string): Token[] {
  return [...pattern.matchAll(/\[(\^?)([^\]]+)\]|[\s\S]/g)].map(([piece, not, set]): Token => {
    if (piece === '*') return 'any';
    if (piece === '?') return () => true;
    if (set === undefined) return (character) => character === piece;
    return (character) => isInSet(set, character) !== (not === '^');
  });
}

/** "a-z0" as in a file name's "[a-z0]". */
function isInSet(set: string, character: string): boolean {
  for (let i = 0; i < set.length; i++) {
    const [from = '', to = ''] = [set[i], set[i + 1] === '-' && i + 2 < set.length ? set[i + 2] : set[i]];
    if (from <= character && character <= to) return true;
    if (from !== to) i += 2;
  }
  return false;
}

/** Going back to the last "any" alone keeps it fast for any pattern in a Secret. */
function matchesTokens(tokens: readonly Token[], text: string): boolean {
  let [at, token, lastAny, retryAt] = [0, 0, -1, 0];
  while (at < text.length) {
    const current = tokens[token];
    if (current === 'any') {
      lastAny = token++;
      retryAt = at;
    } else if (current?.(text[at] ?? '') === true) {
      token++;
      at++;
    } else if (lastAny >= 0) {
      token = lastAny + 1;
      at = ++retryAt;
    } else return false;
  }
  return tokens.slice(token).every((rest) => rest === 'any');
}
