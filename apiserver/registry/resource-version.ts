import { badRequest, unimplemented } from '../../api/errors/index.ts';
import type { ListOptions } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';

/** A resourceVersion as a number; 0 for none. Throws INVALID_ARGUMENT. */
export function parseVersion(text: string): number {
  const version = text === '' ? 0 : Number(text);
  if (!/^\d*$/.test(text) || !Number.isSafeInteger(version))
    throw badRequest(`"${text}" is not a resourceVersion that this server gave out`);
  return version;
}

/** Which version a read is to show, and whether exactly that. Throws INVALID_ARGUMENT. */
export function parseMatch(
  verb: string,
  { resourceVersion = '', resourceVersionMatch = '' }: Pick<ListOptions, 'resourceVersion' | 'resourceVersionMatch'>,
): { version: number; exact: boolean } {
  if (resourceVersionMatch && !['Exact', 'NotOlderThan'].includes(resourceVersionMatch)) {
    throw badRequest(`cannot ${verb}: resourceVersionMatch "${resourceVersionMatch}" is neither "Exact" nor "NotOlderThan"`);
  }
  if (resourceVersionMatch && !resourceVersion) throw badRequest(`cannot ${verb}: resourceVersionMatch needs a resourceVersion`);
  const version = parseVersion(resourceVersion);
  const exact = resourceVersionMatch === 'Exact';
  if (exact && version === 0) throw badRequest(`cannot ${verb}: "Exact" needs a resourceVersion other than "0"`);
  return { version, exact };
}

/** Kinds without history cannot be read at older versions. */
export function requireHistory(kind: Kind): void {
  if (kind.durability === 'relaxed') throw unimplemented(`${kind.plural} keep no history: only the present ones can be read`);
}
