import { fromJson, toJson } from '../../api/codec/json.ts';
import { kindOf } from '../../api/kinds/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { type Json, mergePatch } from '../../api/meta/merge-patch.ts';

/** What the server makes of a JSON merge patch. */
export function patchObject<T extends ApiObject>(kindName: string, object: T, patch: object): T {
  const kind = kindOf(kindName);
  if (!kind) throw new RangeError(`patch a fake ${kindName}: unknown kind`);
  return fromJson<T>(kind, mergePatch(toJson(kind, object), patch as Json));
}
