import { toJson } from '../../api/codec/json.ts';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { badRequest, type FieldViolation, invalid } from '../../api/errors/index.ts';
import { invalidValue } from '../../api/errors/violations.ts';
import type { GetRequest, Scale } from '../../api/generated/types.ts';
import type { Kind, Scaling } from '../../api/kinds/kind.ts';
import { SCALE, scaleKind, scaleOf } from '../../api/kinds/scale.ts';
import type { AnyObject } from './any-object.ts';
import { cloneObject } from './clone-object.ts';
import { objectFromJson } from './decode.ts';
import type { KindStore, ObjectName } from './kind-store.ts';
import { nameOf, nextVersion } from './next-version.ts';
import { checkIdentity, type PatchInput, readPatch, readPatched } from './patch.ts';
import { isLenient, leftOutWarnings } from './prune.ts';
import { getObject } from './registry.ts';
import { namedVersion, patchedVersion } from './resource-version.ts';
import type { StoreResult } from './store-values.ts';
import { shownBytes } from './stored-versions.ts';
import { checkUid, requireName } from './update.ts';
import type { WriteContext } from './write-context.ts';

// The subresource "scale": a Scale is made of the object when it is read, and changes nothing of it but the number.

/** Whether a subresource of a kind is its Scale. */
export function isScale({ kind }: KindStore, subresource: string | undefined): boolean {
  return subresource === SCALE && kind.scale !== undefined;
}

/** What a request about an object, or a subresource of it, is written and answered in. */
export function formOf(store: KindStore, subresource: string | undefined): Kind {
  return isScale(store, subresource) ? (scaleKind as Kind) : store.kind;
}

/** Reads how many pods an object wants and has. Throws INVALID_ARGUMENT for a kind that cannot be scaled. */
export async function getScale(store: KindStore, at: ObjectName, request: GetRequest): Promise<StoreResult> {
  requireScaling(store);
  return answerScale(store, (await getObject(store, at, request)).bytes, at);
}

/** Changes how many pods an object wants. With a resourceVersion only if that is current, without one in any case. */
export async function updateScale(store: KindStore, sent: AnyObject, context: WriteContext): Promise<StoreResult> {
  const at = requireName(store, sent);
  const { uid } = sent.metadata ?? {};
  const resourceVersion = namedVersion(store.subject(at), sent);
  const compute = (previous: AnyObject): AnyObject => {
    checkUid(store.subject(at), uid, previous);
    return scaled(store, previous, sent as Scale);
  };
  const bytes = await store.change(at, { context, verb: 'update-scale', resourceVersion, compute });
  return { ...(await answerScale(store, bytes)), warnings: leftOutWarnings(context.leftOut, context.fieldValidation) };
}

/** The same by a patch of the Scale. */
export async function patchScale(store: KindStore, input: PatchInput, context: WriteContext): Promise<StoreResult> {
  const kind = { scale: requireScaling(store) };
  const { metadata, twice, apply } = readPatch({ message: scaleKind.message, target: 'object' }, input, context);
  checkIdentity(store, input.at, metadata);
  let warnings: string[] = [];
  const compute = (previous: AnyObject, current: { readonly bytes: Uint8Array; readonly revision: number }): AnyObject => {
    if (typeof metadata.uid === 'string') checkUid(store.subject(input.at), metadata.uid, previous);
    const resourceVersion = String(current.revision);
    const before = scaleOf(kind, { ...previous, metadata: { ...previous.metadata, resourceVersion } });
    const leftOut: FieldViolation[] = [];
    const reading = { fieldValidation: context.fieldValidation, leftOut: isLenient(context) ? leftOut : undefined };
    const patched = apply(toJson(scaleKind, before));
    const sent = readPatched(input, () => objectFromJson<Scale>(scaleKind as Kind, patched, reading, twice));
    warnings = leftOutWarnings(leftOut, context.fieldValidation);
    store.checkVersion(input.at, current, namedVersion(store.subject(input.at), sent));
    return scaled(store, previous, sent);
  };
  const resourceVersion = patchedVersion(store.subject(input.at), metadata);
  const bytes = await store.change(input.at, { context, verb: 'patch-scale', resourceVersion, compute });
  return { ...(await answerScale(store, bytes)), warnings };
}

/** The object with the replicas of a Scale, validated as every update of it is. */
function scaled(store: KindStore, previous: AnyObject, { spec }: Scale): AnyObject {
  const next = cloneObject(previous);
  const replicas = spec?.replicas ?? 0;
  if (replicas < 0) {
    const subject = { ...store.subject(nameOf(previous)), kind: scaleKind.kind, group: 'autoscaling', resource: 'scales' };
    throw invalid(subject, [invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0')]);
  }
  requireScaling(store).write(next, replicas);
  return nextVersion(store, 'object', next, previous);
}

/** The Scale of an object that was read or written. */
export async function answerScale(store: KindStore, bytes: Buffer, at?: ObjectName): Promise<StoreResult> {
  const shown = await shownBytes(store, bytes, at && store.key(at));
  const object = decodeMessage<AnyObject>(store.kind.message, shown);
  const scale = scaleOf({ scale: requireScaling(store) }, object);
  return { bytes: encodeMessage(scaleKind.message, scale), warnings: [], form: scaleKind as Kind };
}

function requireScaling({ kind }: KindStore): Scaling<AnyObject> {
  if (!kind.scale) throw badRequest(`${kind.plural} have no subresource "${SCALE}"`);
  return kind.scale as Scaling<AnyObject>;
}
