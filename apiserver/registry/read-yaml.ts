import { badRequest } from '../../api/errors/index.ts';

/** JSON is read a hundred times as fast. How long YAML of this size takes depends on its tokens, which are bounded. */
const MAX_YAML_BYTES = 256 * 1024;
/** Of the same as JSON, in which what is referred to stands as often as it is. */
const MAX_JSON_BYTES = 4 * 1024 * 1024;

/**
 * One document of YAML as a text of JSON. With `keepsDuplicates` a member that stands in the document twice does so in
 * the text, too; without, it is refused. JSON, which is YAML as well, is given back unread. Errors name the document
 * by `what`. Throws BAD_REQUEST.
 */
export async function yamlToJson(bytes: Uint8Array, what: string, { keepsDuplicates = true } = {}): Promise<Uint8Array> {
  return isJson(bytes, what) ? bytes : Buffer.from(await readOne(bytes, what, keepsDuplicates));
}

function isJson(bytes: Uint8Array, what: string): boolean {
  const first = bytes.find((byte) => byte > 0x20);
  if (first === undefined) throw badRequest(`the ${what} is empty`);
  return first === 0x7b;
}

async function readOne(bytes: Uint8Array, what: string, keepsDuplicates: boolean): Promise<string> {
  if (bytes.length > MAX_YAML_BYTES)
    throw badRequest(`the ${what} has ${bytes.length} bytes of YAML, more than ${MAX_YAML_BYTES}: send it as JSON`);
  const [{ parseDocuments, readDocument }, { yamlExcess }] = await Promise.all([
    import('../../api/codec/yaml-document.ts'),
    import('../../api/codec/yaml-bounds.ts'),
  ]);
  const text = Buffer.from(bytes).toString('utf8');
  const excess = yamlExcess(text);
  if (excess !== undefined) throw badRequest(`cannot read the ${what} as YAML: it ${excess}`);
  const documents = parseDocuments(text);
  const [document] = documents;
  if (!document || documents.length > 1)
    throw badRequest(`the ${what} holds ${documents.length} documents: send one object at a time`);
  const read = readDocument(document, { keepsDuplicates });
  if (read.kind === 'value') {
    const json = keepsDuplicates ? (read.value as string) : JSON.stringify(read.value);
    if (json.length > MAX_JSON_BYTES)
      throw badRequest(`the ${what} is larger than ${MAX_JSON_BYTES} bytes where its aliases are written out`);
    return json;
  }
  const [{ place, path, reason } = { place: { line: 1 }, path: '', reason: 'it is no YAML' }] = read.problems;
  throw badRequest(`cannot read the ${what} as YAML: line ${place.line}: ${path ? `${path}: ` : ''}${reason}`);
}
