import { isTextTooDeep } from '../../api/meta/json-depth.ts';
import { isJsonObject, type JsonObject } from '../../api/meta/merge-patch.ts';
import { GVK, type Schema } from './definitions.ts';

/** A document of OpenAPI v2 of an extension server, which may say anything. */
export interface ForeignDocument {
  readonly group: string;
  readonly version: string;
  readonly body: Buffer;
  readonly hash: string;
}

/** A document as it was read: no members where it is no object. */
export type ParsedDocument = Pick<ForeignDocument, 'group' | 'version'> & { readonly json: JsonObject };

export const REF = '#/definitions/';
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;
const kindForm = /^[A-Za-z][A-Za-z0-9]{0,252}$/;
const types: ReadonlySet<unknown> = new Set(['object', 'string', 'number', 'integer', 'boolean']);
/** What clients read of lists besides their items. */
const listMarks = ['x-kubernetes-patch-strategy', 'x-kubernetes-patch-merge-key', 'x-kubernetes-list-type'] as const;
const mostCharacters = 20_000;
const mostNodes = 50_000;
const mostDepth = 40;

/**
 * The definitions behind the kinds of one group and version, in a form that no client stumbles over: one that cannot be
 * read makes kubectl refuse the whole document. `isOwn` are names of this server's definitions, which stay as they are.
 */
export function foreignDefinitions(document: ParsedDocument, isOwn: (name: string) => boolean): ReadonlyMap<string, Schema> {
  const { definitions } = document.json;
  const all = isJsonObject(definitions) ? definitions : {};
  const reader = new DefinitionReader(all, isOwn);
  const found = new Map<string, Schema>();
  const wanted = Object.keys(all).filter((name) => kindsOf(all[name], document).length > 0);
  const noted = new Set(wanted);
  for (const name of wanted) {
    if (isOwn(name) || !reader.isKnown(name)) continue;
    const kinds = kindsOf(all[name], document);
    const schema = reader.read(all[name], 0);
    found.set(name, kinds.length > 0 ? { ...schema, [GVK]: kinds } : schema);
    for (const next of reader.takeReferences())
      if (!noted.has(next)) {
        noted.add(next);
        wanted.push(next);
      }
  }
  return found;
}

export function parsedDocument({ group, version, body }: ForeignDocument): ParsedDocument {
  return { group, version, json: objectIn(body) };
}

function objectIn(body: Buffer): JsonObject {
  try {
    const json: unknown = isTextTooDeep(body) ? undefined : JSON.parse(body.toString('utf8'));
    return isJsonObject(json) ? json : {};
  } catch {
    return {};
  }
}

/** The kinds of the group and version that a definition is of; it may name those of others, too. */
function kindsOf(definition: unknown, { group, version }: ParsedDocument): JsonObject[] {
  const kinds = isJsonObject(definition) ? definition[GVK] : undefined;
  return (Array.isArray(kinds) ? kinds : []).flatMap((each) => {
    const isTheirs = isJsonObject(each) && each.group === group && each.version === version;
    return isTheirs && typeof each.kind === 'string' && kindForm.test(each.kind) ? [{ group, version, kind: each.kind }] : [];
  });
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= mostCharacters;

class DefinitionReader {
  readonly #all: JsonObject;
  readonly #isOwn: (name: string) => boolean;
  #nodes = 0;
  #references: string[] = [];

  constructor(all: JsonObject, isOwn: (name: string) => boolean) {
    this.#all = all;
    this.#isOwn = isOwn;
  }

  isKnown(name: string): boolean {
    return this.#isOwn(name) || (nameForm.test(name) && Object.hasOwn(this.#all, name) && isJsonObject(this.#all[name]));
  }

  /** The names of other definitions in what was read since. */
  takeReferences(): readonly string[] {
    const taken = this.#references;
    this.#references = [];
    return taken;
  }

  read(value: unknown, depth: number): Schema {
    this.#nodes++;
    if (!isJsonObject(value) || depth > mostDepth || this.#nodes > mostNodes) return { type: 'object' };
    const { $ref, type, format, items, properties, additionalProperties, required } = value;
    const said = isText(value.description) ? { description: value.description } : {};
    if (isText($ref) && $ref.startsWith(REF)) return { ...said, ...this.#reference($ref.slice(REF.length)) };
    if (type === 'array') return { ...said, type, items: this.read(items, depth + 1), ...marksOf(value) };
    if (isJsonObject(properties)) {
      const fields = Object.entries(properties).filter(([name]) => isText(name));
      const names = Array.isArray(required) ? required.filter((name) => Object.hasOwn(properties, String(name))) : [];
      return {
        ...{ ...said, type: 'object' },
        properties: Object.fromEntries(fields.map(([name, each]) => [name, this.read(each, depth + 1)])),
        ...(names.length > 0 && { required: names.map(String) }),
      };
    }
    if (isJsonObject(additionalProperties))
      return { ...said, type: 'object', additionalProperties: this.read(additionalProperties, depth + 1) };
    const known = types.has(type) ? (type as string) : 'object';
    return { ...said, type: known, ...(isText(format) && known !== 'object' && { format }) };
  }

  #reference(name: string): Schema {
    if (!this.isKnown(name)) return { type: 'object' };
    if (!this.#isOwn(name)) this.#references.push(name);
    return { $ref: REF + name };
  }
}

const marksOf = (value: JsonObject): Schema =>
  Object.fromEntries(listMarks.flatMap((mark) => (isText(value[mark]) ? [[mark, value[mark]] as const] : [])));
