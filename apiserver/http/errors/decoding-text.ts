import { type FieldShape, messageShape, shapesTo } from '../../../api/codec/message-shapes.ts';
import { isOpen } from '../../../api/codec/open-message.ts';
import { FIELD_DUPLICATE, FIELD_UNKNOWN, type FieldViolation, type ReadMessage } from '../../../api/errors/index.ts';

/** A field that is not there or comes twice, as Kubernetes says it; undefined for other violations. */
export function strictText({ reason, field }: FieldViolation): string | undefined {
  if (reason === FIELD_UNKNOWN) return `unknown field ${JSON.stringify(field)}`;
  return reason === FIELD_DUPLICATE ? `duplicate field ${JSON.stringify(field)}` : undefined;
}

/** Why an object could not be read. A value of a wrong type comes first: behind it Kubernetes reads no further. */
export function decodingText(object: ReadMessage, violations: readonly FieldViolation[]): string {
  const wrong = violations.find((each) => strictText(each) === undefined);
  const { kind, apiVersion } = object;
  const said = (name: string) => violations.find(({ field, value }) => field === name && value !== undefined)?.value;
  const [otherVersion, otherKind] = [said('apiVersion'), said('kind')];
  if (wrong !== undefined && (otherVersion !== undefined || otherKind !== undefined))
    return otherTypeText({ kind: unquoted(otherKind ?? kind), apiVersion: unquoted(otherVersion ?? apiVersion) }, object);
  const version = JSON.stringify(versionOf(apiVersion));
  const why = wrong === undefined ? strictError(violations) : wrongText(object, wrong);
  return `${kind} in version ${version} cannot be handled as a ${kind}: ${why}`;
}

const strictError = (violations: readonly FieldViolation[]): string =>
  `strict decoding error: ${violations.map(strictText).join(', ')}`;

type TypeNames = Pick<ReadMessage, 'kind' | 'apiVersion'>;

/** An object of another kind, or another version, than the path names. */
export function otherTypeText(found: TypeNames, expected: TypeNames): string {
  const { kind, apiVersion } = found;
  if (kind === expected.kind)
    return `the API version in the data (${apiVersion}) does not match the expected API version (${expected.apiVersion})`;
  const version = versionOf(apiVersion);
  const [group = ''] = expected.apiVersion.includes('/') ? expected.apiVersion.split(/[./]/) : ['core'];
  const why = `converting (${version}.${kind}) to (${group}.${expected.kind}): unknown conversion`;
  return `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${expected.kind}: ${why}`;
}

const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.lastIndexOf('/') + 1);

const unquoted = (text: string): string => text.replace(/^"|"$/g, '');

/** Why what a patch makes could not be read: the patch is called wrong as a whole. */
export const patchingText = (parts: ReadPatch, violations: readonly FieldViolation[]): string =>
  ` "" is invalid: patch: ${patchedText(parts, violations)}`;

type ReadPatch = ReadMessage & { readonly patch: string };

/** The same without the path of the field. */
export function patchedText({ patch, ...object }: ReadPatch, violations: readonly FieldViolation[]): string {
  const wrong = violations.find((each) => strictText(each) === undefined);
  const why = wrong === undefined ? strictError(violations) : wrongText(object, wrong);
  return `Invalid value: ${JSON.stringify(patch)}: ${why}`;
}

/** A wrong type as Go's decoder says it; any other rule with the path of the field. */
function wrongText({ kind, message }: ReadMessage, { field, description, reason, value }: FieldViolation): string {
  if (reason !== 'FieldValueTypeInvalid' || value === undefined) return field === '' ? description : `${field}: ${description}`;
  if (field === '') return `json: cannot unmarshal ${value} into Go value of type ${kind}`;
  const { owner, type } = goField(message, field);
  if (value === 'string' && isText.has(type)) return `${field}: ${description}`;
  // Go leaves the places in lists out.
  const path = field.replace(/\[[^\]]*\]/g, '');
  return `json: cannot unmarshal ${value} into Go struct field ${owner}.${path} of type ${type}`;
}

/** Types that text is the right type for: what is wrong with it is its form, which the description tells. */
const isText: ReadonlySet<string> = new Set(['[]uint8', 'v1.Quantity', 'v1.Timestamp', 'v1.Duration']);

const lastWord = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** The message that a field stands in, and its type in Go. */
function goField(message: string, path: string): { readonly owner: string; readonly type: string } {
  let shape = isOpen(message) ? undefined : messageShape(message);
  let [owner, type] = [lastWord(message), 'object'];
  for (const step of path.match(/\[[^\]]*\]|[^.[\]]+/g) ?? []) {
    if (shape === undefined) break;
    if (step.startsWith('[')) continue;
    const field: FieldShape | undefined = shapesTo(shape, step)?.at(-1);
    if (field === undefined) break;
    owner = lastWord(shape.name);
    type = goType(field, path.endsWith(']'));
    shape = field.message();
  }
  return { owner, type };
}

function goType({ type, repeated, keyType }: FieldShape, isItem: boolean): string {
  const single = goNames[type] ?? (type.includes('.') ? `v1.${lastWord(type)}` : type);
  if (isItem) return single;
  if (keyType !== undefined) return `map[string]${single}`;
  return repeated ? `[]${single}` : single;
}

const goNames: Readonly<Record<string, string>> = { bytes: '[]uint8', double: 'float64', float: 'float32' };
