import { fromJson, toJson } from '../../api/codec/json.ts';
import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import type { ManifestObject } from '../../api/codec/yaml.ts';
import { asApiError } from '../../api/errors/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../client/index.ts';
import type { ManifestWrite } from '../manifests/each-manifest.ts';
import type { Session } from '../session.ts';
import { planApply } from '../write/apply-object.ts';
import { planServerSideApply, type ServerSideFlags } from '../write/server-side-apply.ts';

export interface AfterApply {
  /** What there is; undefined: nothing. */
  readonly live: JsonObject | undefined;
  /** What apply would make of it. */
  readonly object: JsonObject;
  /** Why the server refuses to; `object` is then what the manifest asks for, with its kind's defaults. */
  readonly refusal?: unknown;
}

/** What apply would make of one object. Throws ApiError when that cannot be told. */
export async function computeAfterApply(
  session: Session,
  document: ManifestObject,
  { serverSide, ...flags }: ServerSideFlags,
): Promise<AfterApply> {
  const plan = await (serverSide ? planServerSideApply : planApply)(session, document, { ...flags, dryRun: 'server' });
  if ('object' in plan) return plan;
  const { live, write } = plan;
  try {
    return { live, object: await dryRun(session, write) };
  } catch (error) {
    // Only errors of the server's own have the id of a request.
    if (asApiError(error)?.requestId === undefined) throw error;
    return { live, object: askedFor(document.kind, live, write), refusal: error };
  }
}

async function dryRun({ client: { objects } }: Session, write: ManifestWrite): Promise<JsonObject> {
  if (write.verb === 'patch') return await objects.patch(write.kind, write.target, write.patch, write.options);
  return await objects.create(write.kind, write.object, write.options);
}

function askedFor(kind: Kind, live: JsonObject | undefined, write: ManifestWrite): JsonObject {
  const json = write.verb === 'patch' ? strategicMerge(kind.message, live ?? {}, write.patch as JsonObject) : write.object;
  const object = fromJson<ApiObject>(kind, json);
  kind.defaults(object);
  return toJson(kind, object) as JsonObject;
}
