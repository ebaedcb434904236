import { toJson } from '../api/codec/json.ts';
import type { ManifestObject } from '../api/codec/yaml.ts';
import { isNotFound } from '../api/errors/index.ts';
import { type JsonObject, mergePatch } from '../api/meta/merge-patch.ts';
import { computeApplyPatch, readLastApplied, withLastApplied } from './apply-patch.ts';
import { manifestKey } from './each-manifest.ts';
import type { Session } from './session.ts';
import { type WriteFlags, writeOptions } from './write-options.ts';

export interface Applied {
  /** What there was; undefined: nothing. */
  readonly live: JsonObject | undefined;
  readonly object: JsonObject;
  readonly done: 'created' | 'configured' | 'unchanged';
}

/** Brings one object to what its manifest says, or finds out what that would do. */
export async function applyObject(session: Session, document: ManifestObject, flags: WriteFlags): Promise<Applied> {
  const { kind, object } = document;
  const key = manifestKey(session, document);
  const wanted = withLastApplied(
    toJson(kind, { ...object, metadata: { ...object.metadata, namespace: key.namespace } }) as JsonObject,
  );
  const options = writeOptions(flags, 'berth-client-side-apply');
  const { objects } = session.client;

  const live = await objects.get(kind.kind, key).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (live === undefined) {
    if (flags.dryRun === 'client') return { live, object: wanted, done: 'created' };
    const created = await objects.create(kind.kind, wanted, { ...options, namespace: key.namespace });
    return { live, object: created, done: 'created' };
  }
  const patch = computeApplyPatch(readLastApplied(live), wanted, live);
  if (patch === undefined) return { live, object: live, done: 'unchanged' };
  if (flags.dryRun === 'client') return { live, object: mergePatch(live, patch) as JsonObject, done: 'configured' };
  const after = await objects.patch(kind.kind, key, patch, options);
  return { live, object: after, done: versionOf(after) === versionOf(live) ? 'unchanged' : 'configured' };
}

function versionOf(object: JsonObject): unknown {
  return (object.metadata as JsonObject | undefined)?.resourceVersion;
}
