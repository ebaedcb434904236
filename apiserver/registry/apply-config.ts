import { fromJson, toJson } from '../../api/codec/json.ts';
import { badRequest, type FieldViolation } from '../../api/errors/index.ts';
import { forbidden, required } from '../../api/errors/violations.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { isJsonObject, type Json, type JsonObject, setMember } from '../../api/meta/merge-patch.ts';
import type { AnyObject } from './any-object.ts';
import { checkJsonElements } from './kind-bounds.ts';
import type { KindStore, ObjectName } from './kind-store.ts';
import { pruneSent } from './prune.ts';
import { readYaml } from './read-yaml.ts';
import { asStored, servedKind } from './store-version.ts';
import type { WriteContext } from './write-context.ts';

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
  const sent = await readYaml(bytes, 'configuration');
  if (!isJsonObject(sent)) throw badRequest('cannot apply: the configuration is an object with apiVersion, kind and metadata');
  checkHead(kind, sent);
  const document = withName(sent, at);
  checkJsonElements(kind, document, store.subject(at));
  const object = fromJson<AnyObject>(kind, document);
  const warnings = kind === store.kind ? pruneSent(store, object, context) : [];
  if (kind === store.served) return { document: storedDocument(store, document, object), warnings };
  const stored = toJson(kind, object);
  return { document: storedForm(kind.prune ? pruned(document, stored) : document, stored) as JsonObject, warnings };
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
