import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../api/meta/merge-patch.ts';

/**
 * Whether a write left an object as it was. A dry run answers with the version that it began with: only
 * the fields show what it would have changed.
 */
export function isUnchanged(before: JsonObject, after: JsonObject): boolean {
  return isDeepStrictEqual(ofCaller(before), ofCaller(after));
}

function ofCaller({ metadata, ...object }: JsonObject): object {
  const { managedFields: _server, ...rest } = (metadata ?? {}) as JsonObject;
  return { ...object, metadata: rest };
}
