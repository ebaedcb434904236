import { fromJson, toJson } from '../../api/codec/json.ts';
import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import { kindOf } from '../../api/kinds/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { type JsonObject, mergePatch } from '../../api/meta/merge-patch.ts';
import type { PatchTarget } from '../../client/services/resource-client.ts';

/** What the server makes of a merge patch (RFC 7396) or a strategic one. */
export function patchObject<T extends ApiObject>(kindName: string, object: T, { type }: PatchTarget, patch: object): T {
  const kind = kindOf(kindName);
  if (!kind) throw new RangeError(`patch a fake ${kindName}: unknown kind`);
  if (type === 'json') throw new RangeError(`patch a fake ${kindName}: JSON patches are not known here`);
  const before = toJson(kind, object);
  const merge =
    type === 'strategic' ? strategicMerge(kind.message, before, patch as JsonObject) : mergePatch(before, patch as JsonObject);
  return fromJson<T>(kind, merge);
}
