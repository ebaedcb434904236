import { readObject, toJson, undecodable } from '../../../api/codec/json.ts';
import { ApiError, badRequest, FIELD_UNKNOWN, type FieldViolation } from '../../../api/errors/index.ts';
import { forbidden, required } from '../../../api/errors/violations.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import { isJsonObject, type Json, type JsonObject, setMember } from '../../../api/meta/merge-patch.ts';
import type { AnyObject } from '../any-object.ts';
import { duplicatesIn, parseJson } from '../decode.ts';
import { checkJsonElements } from '../kind-bounds.ts';
import type { KindStore, ObjectName } from '../kind-store.ts';
import { leftOutWarnings, pruneSent } from '../prune.ts';
import { yamlToJson } from '../read-yaml.ts';
import { asStored, servedKind } from '../store-version.ts';
import type { WriteContext } from '../write-context.ts';

/** The media types of a server-side apply. JSON is YAML, too. */
export const APPLY_TYPES: readonly string[] = ['application/apply-patch+yaml', 'application/apply-patch+json'];

/** What a client applies, and what it is told about it. */
export interface Config {
  /** The document that it sent, with its values in the form in which objects are stored. */
  readonly document: JsonObject;
  readonly warnings: readonly string[];
}

/**
 * Reads a configuration in the form of a kind: that of the objects, or of a subresource. Throws INVALID_ARGUMENT, for a
 * strict writer also for fields that the kind does not have; others are warned of them.
 */
export async function readConfig(
  { kind, store, at }: { readonly kind: Kind; readonly store: KindStore; readonly at: ObjectName },
  bytes: Uint8Array,
  context: WriteContext,
): Promise<Config> {
  const text = await yamlToJson(bytes, 'configuration', { keepsDuplicates: context.fieldValidation !== undefined });
  const sent = parseJson(text, 'configuration') as Json;
  if (!isJsonObject(sent)) throw badRequest('cannot apply: the configuration is an object with apiVersion, kind and metadata');
  checkHead(kind, sent);
  const document = withName(sent, at);
  checkJsonElements(kind, document, store.subject(at));
  const twice = duplicatesIn(text, sent, context);
  if (twice.length > 0 && context.fieldValidation === 'Strict') throw undecodable(kind, document, twice);
  const object = readTyped(kind, document);
  const told = leftOutWarnings(twice, context.fieldValidation);
  const warnings = [...told, ...(kind === store.kind ? pruneSent(store, object, context) : [])];
  if (kind === store.served) return { document: storedDocument(store, document, object), warnings };
  const stored = toJson(kind, object);
  return { document: storedForm(kind.prune ? pruned(document, stored) : document, stored) as JsonObject, warnings };
}

/** An apply knows no leniency: it could not say what the fields that it does not know belong to. */
function readTyped(kind: Kind, document: JsonObject): AnyObject {
  const { value, violations } = readObject<AnyObject>(kind, document);
  if (violations.length === 0) return value;
  const { namespace, name } = document.metadata as { namespace?: string; name?: string };
  const unknown = violations.find(({ reason }) => reason === FIELD_UNKNOWN);
  const error = undecodable(kind, document, violations);
  if (unknown === undefined) throw error;
  const { code, reason, message, subject } = error;
  const object = `${namespace ?? ''}/${name}; ${kind.apiVersion}, Kind=${kind.kind}`;
  const text = `failed to create typed patch object (${object}): .${unknown.field}: field not declared in schema`;
  throw new ApiError(code, reason, message, { violations, subject, parts: { of: 'text', message: text, reason: 'BadRequest' } });
}

/** The document without what was pruned: kinds with a schema of users' own are stored as the JSON that was sent. */
const pruned = ({ metadata }: JsonObject, stored: JsonObject): JsonObject => ({ ...stored, metadata: metadata! });

/**
 * A document of another version as one of the stored version, whose fields the applier then owns. Where both have the
 * same fields, what the stored form leaves out stays said.
 */
function storedDocument(store: KindStore, document: JsonObject, object: AnyObject): JsonObject {
  const stored = asStored(store, object);
  const json = toJson(store.kind, stored);
  if (servedKind(store).message !== store.kind.message || !equalValues(object, stored)) return json;
  return storedForm({ ...document, apiVersion: store.kind.apiVersion }, json) as JsonObject;
}

function checkHead({ apiVersion, kind }: Kind, sent: JsonObject): void {
  const found: FieldViolation[] = [];
  if (!sent.apiVersion) found.push(required('apiVersion', `a ${kind} has "${apiVersion}"`));
  if (!sent.kind) found.push(required('kind', `it is "${kind}"`));
  const metadata = isJsonObject(sent.metadata) ? sent.metadata : {};
  if (Array.isArray(metadata.managedFields) && metadata.managedFields.length > 0)
    found.push(forbidden('metadata.managedFields', 'must be nil: an apply says by its fields what it owns'));
  const text = found.map(({ field, description }) => `${field}: ${description}`).join('; ');
  if (found.length > 0) throw badRequest(`cannot apply: ${text}`, found);
}

/** The request names the object; the configuration may leave that out. */
function withName(sent: JsonObject, { namespace, name }: ObjectName): JsonObject {
  const { managedFields: _, ...metadata } = isJsonObject(sent.metadata) ? sent.metadata : {};
  return { ...sent, metadata: { name, ...(namespace && { namespace }), ...metadata } };
}

/**
 * What was sent with its values as they are stored (times in UTC), so that an apply compares like with like. What the
 * stored form leaves out, as false or an empty list, stays: it says that the field is owned.
 */
function storedForm(sent: Json, stored: Json | undefined): Json {
  if (stored === undefined) return sent;
  if (isJsonObject(sent) && isJsonObject(stored)) {
    const result: JsonObject = {};
    for (const name of Object.keys(sent))
      setMember(result, name, storedForm(sent[name]!, Object.hasOwn(stored, name) ? stored[name] : undefined));
    return result;
  }
  if (Array.isArray(sent) && Array.isArray(stored) && sent.length === stored.length)
    return sent.map((item, i) => storedForm(item, stored[i]));
  return stored;
}
