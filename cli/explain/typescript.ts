import type { Kind } from '../../api/kinds/kind.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { membersOf } from './schema.ts';

/** Names that the file uses for something else. */
const taken = ['ApiObject', 'Record', 'Readonly', 'ReadonlyArray'];
/** What every object has stands in `ApiObject`. */
const ofEveryObject: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** A version of a custom kind as TypeScript: an interface of the kind's name, and one for each object in it. Pure. */
export function kindTypes(kind: Kind, schema: JsonObject): string {
  const writer = new TypeWriter();
  writer.writeObject(kind.kind, schema, true);
  const head = `// ${kind.kind} of ${kind.apiVersion}, written by Berth from its definition.\n`;
  return [`${head}import type { ApiObject } from 'berth';\n`, ...writer.interfaces].join('\n');
}

class TypeWriter {
  readonly interfaces: string[] = [];
  readonly #names = new Set(taken);

  /** Adds an interface, and gives its name: another one if that is taken. */
  writeObject(wanted: string, schema: JsonObject, isRoot = false): string {
    const name = this.#freeName(typeName(wanted));
    // It stands before those of the objects in it.
    const at = this.interfaces.push('') - 1;
    const isResource = isRoot || schema['x-kubernetes-embedded-resource'] === true;
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const members = Object.entries(membersOf(schema)).filter(([member]) => !(isResource && ofEveryObject.has(member)));
    const lines = members.flatMap(([member, inner]) => {
      const type = isJsonObject(inner) ? this.#type(name + typeName(member), inner) : 'unknown';
      return [...comment(inner, '  '), `  readonly ${propertyName(member)}${required.has(member) ? '' : '?'}: ${type};`];
    });
    if (schema['x-kubernetes-preserve-unknown-fields'] === true) lines.push('  readonly [field: string]: unknown;');
    const heading = `export interface ${name}${isResource ? ' extends ApiObject' : ''} {`;
    this.interfaces[at] = `${[...comment(schema, ''), heading, ...lines, '}'].join('\n')}\n`;
    return name;
  }

  #type(name: string, schema: JsonObject): string {
    const type = this.#notNull(name, schema);
    return schema.nullable === true && type !== 'unknown' ? `${type} | null` : type;
  }

  #notNull(name: string, schema: JsonObject): string {
    const { type, items, additionalProperties } = schema;
    if (Array.isArray(schema.enum) && schema.enum.length > 0)
      return [...new Set(schema.enum.map((value) => (isScalar(value) ? JSON.stringify(value) : 'unknown')))].join(' | ');
    if (schema['x-kubernetes-int-or-string'] === true) return 'number | string';
    if (type === 'string' || type === 'boolean') return type;
    if (type === 'integer' || type === 'number') return 'number';
    if (type === 'array') return listOf(isJsonObject(items) ? this.#type(`${name}Item`, items) : 'unknown');
    if (isJsonObject(additionalProperties))
      return `Readonly<Record<string, ${this.#type(`${name}Value`, additionalProperties)}>>`;
    const isResource = schema['x-kubernetes-embedded-resource'] === true;
    if (isResource || Object.keys(membersOf(schema)).length > 0) return this.writeObject(name, schema);
    return type === 'object' ? 'Readonly<Record<string, unknown>>' : 'unknown';
  }

  #freeName(wanted: string): string {
    let name = wanted;
    for (let count = 2; this.#names.has(name); count++) name = `${wanted}${count}`;
    this.#names.add(name);
    return name;
  }
}

const listOf = (type: string): string => `readonly ${/^[\w<>, ]+$/.test(type) && !type.includes(' ') ? type : `(${type})`}[]`;

const isScalar = (value: Json): boolean => value === null || typeof value !== 'object';

/** "cron-spec" as "CronSpec"; what no name of a type may have is left out. */
function typeName(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  const joined = words.join('');
  return /^[A-Za-z]/.test(joined) ? joined : `Field${joined}`;
}

const propertyName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

/** The description, and the default. Whatever it says, it cannot end the comment. */
function comment(schema: Json | undefined, indent: string): string[] {
  if (!isJsonObject(schema)) return [];
  const text = typeof schema.description === 'string' ? schema.description.replace(/\s+/g, ' ').trim() : '';
  const filled = schema.default === undefined ? '' : `Default: ${JSON.stringify(schema.default)}`;
  const said = [text, filled].filter(Boolean).join(' ').replaceAll('*/', '*\\/');
  return said === '' ? [] : [`${indent}/** ${said} */`];
}
