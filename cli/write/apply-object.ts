import { messageType } from '../../api/codec/descriptors.ts';
import { toJson } from '../../api/codec/json.ts';
import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import type { ManifestObject } from '../../api/codec/yaml.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { readLastApplied } from '../../api/meta/last-applied.ts';
import { type JsonObject, mergePatch } from '../../api/meta/merge-patch.ts';
import { type ManifestPlan, manifestKey } from '../manifests/each-manifest.ts';
import type { Session } from '../session.ts';
import { computeApplyPatch, withLastApplied } from './apply-patch.ts';
import { findObject } from './find-object.ts';
import { isUnchanged } from './is-unchanged.ts';
import { type WriteFlags, writeOptions } from './write-options.ts';

/** With what there is; undefined: nothing. */
export type ApplyPlan = ManifestPlan & { readonly live: JsonObject | undefined };

/** Plans the writes that make one object match its manifest. */
export async function planApply(session: Session, document: ManifestObject, flags: WriteFlags): Promise<ApplyPlan> {
  const { kind, object } = document;
  const key = manifestKey(session, document);
  const wanted = withLastApplied(
    toJson(kind, { ...object, metadata: { ...object.metadata, namespace: key.namespace } }) as JsonObject,
  );
  const options = { ...writeOptions(flags, 'berth-client-side-apply'), fieldValidation: 'Strict' };
  const live = await findObject(session.client.objects, kind, key);
  if (live === undefined) {
    if (flags.dryRun === 'client') return { live, object: wanted, done: 'created' };
    const createOptions = { ...options, namespace: key.namespace };
    return {
      live,
      write: { verb: 'create', kind: kindWord(kind), object: wanted, options: createOptions },
      done: () => 'created',
    };
  }
  // A definition says nothing of how its lists are merged, so the patch has none of the words of a strategic one.
  const type = isCustom(kind) ? 'merge' : 'strategic';
  const shape = type === 'merge' ? undefined : messageType(kind.message);
  const patch = computeApplyPatch(readLastApplied(live), wanted, live, shape);
  if (patch === undefined) return { live, object: live, done: 'unchanged' };
  if (flags.dryRun === 'client') {
    const object = type === 'merge' ? (mergePatch(live, patch) as JsonObject) : strategicMerge(kind.message, live, patch);
    return { live, object, done: 'configured' };
  }
  const done = (after: JsonObject): string => (isUnchanged(live, after) ? 'unchanged' : 'configured');
  return { live, write: { verb: 'patch', kind: kindWord(kind), target: { ...key, type }, patch, options }, done };
}
