import { badRequest, type ErrorSubject, invalid, unimplemented } from '../../api/errors/index.ts';
import { invalidValue } from '../../api/errors/violations.ts';
import type { ListOptions } from '../../api/generated/types.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';

/** A resourceVersion as a number; 0 for none. Throws INVALID_ARGUMENT. */
export function parseVersion(text: string): number {
  const version = text === '' ? 0 : Number(text);
  if (!/^\d*$/.test(text) || !Number.isSafeInteger(version))
    throw badRequest(`"${text}" is not a resourceVersion that this server gave out`);
  return version;
}

/**
 * The version that a change names, if any: "0" is none, as in Kubernetes. Throws INVALID_ARGUMENT for a text that no
 * version has.
 */
export function namedVersion(subject: ErrorSubject, { metadata }: ApiObject): string | undefined {
  const { resourceVersion = '' } = metadata ?? {};
  if (/^\d*$/.test(resourceVersion)) return Number(resourceVersion) === 0 ? undefined : resourceVersion;
  const why = `strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`;
  throw invalid(subject, [invalidValue('metadata.resourceVersion', resourceVersion, why)]);
}

/** The same of the metadata in a patch. */
export function patchedVersion(subject: ErrorSubject, { resourceVersion }: JsonObject): string | undefined {
  return typeof resourceVersion === 'string' ? namedVersion(subject, { metadata: { resourceVersion } }) : undefined;
}

/** Parses the version that a read asks for, and whether it must be exactly that one. Throws INVALID_ARGUMENT. */
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
