import { nearestWord } from '../../api/codec/nearest.ts';
import { badRequest } from '../../api/errors/index.ts';
import type { ConfigFile } from '../../client/index.ts';
import { entriesOf, findEntry, type ListName, lists, withFields, withoutEntry } from './entries.ts';

/**
 * What the path of a property names: "current-context", "users", "users.ann", "users.ann.token". Names may hold dots.
 */
type Property =
  | { readonly type: 'current-context' }
  | { readonly type: 'list'; readonly list: ListName }
  | { readonly type: 'entry'; readonly list: ListName; readonly name: string }
  | { readonly type: 'field'; readonly list: ListName; readonly name: string; readonly field: string };

/** The file with a property set. With `raw` the value of a "-data" field is not base64 yet. Throws INVALID_ARGUMENT. */
export function setProperty(file: ConfigFile, path: string, value: string, raw: boolean): ConfigFile {
  const property = parseProperty(file, path);
  if (property.type === 'current-context') return { ...file, 'current-context': value === '' ? undefined : value };
  if (property.type !== 'field')
    throw badRequest(`"${path}" is no single value; name a field of it, e.g. ${exampleOf(property)}`);
  const { list, name, field } = property;
  const known: readonly string[] = lists[list].fields;
  if (!known.includes(field)) throw unknownField(path, field, known);
  if (value === '') throw badRequest(`"${path}" cannot be empty; "berth config unset ${path}" takes it away`);
  const isData = field.endsWith('-data');
  if (isData && !raw && !isBase64(value))
    throw badRequest(`the value of "${path}" is not base64; for what is not yet, add --set-raw-bytes`);
  const stored = isData && raw ? Buffer.from(value).toString('base64') : value;
  return withFields(file, list, name, { [field]: stored });
}

/** The file without a property. What is not there is no mistake, as with kubectl. Throws INVALID_ARGUMENT. */
export function unsetProperty(file: ConfigFile, path: string): ConfigFile {
  const property = parseProperty(file, path);
  switch (property.type) {
    case 'current-context':
      return { ...file, 'current-context': undefined };
    case 'list':
      return { ...file, [property.list]: [] };
    case 'entry':
      return withoutEntry(file, property.list, property.name);
    case 'field':
      if (findEntry(file, property.list, property.name) === undefined) return file;
      return withFields(file, property.list, property.name, { [property.field]: undefined });
  }
}

function parseProperty(file: ConfigFile, path: string): Property {
  if (path === 'current-context') return { type: 'current-context' };
  const [list = '', ...rest] = path.split('.');
  if (!Object.hasOwn(lists, list)) throw unknownField(path, list, ['current-context', ...Object.keys(lists)]);
  const name = rest.join('.');
  const found = { list: list as ListName };
  if (name === '') return { type: 'list', ...found };
  if (rest.length === 1 || entriesOf(file, found.list).some((entry) => entry.name === name))
    return { type: 'entry', ...found, name };
  return { type: 'field', ...found, name: rest.slice(0, -1).join('.'), field: rest.at(-1)! };
}

function exampleOf(property: { readonly list: ListName; readonly name?: string }): string {
  return `${property.list}.${property.name ?? 'NAME'}.${lists[property.list].fields[0]}`;
}

function unknownField(path: string, word: string, known: readonly string[]): Error {
  const close = nearestWord(word, known);
  return badRequest(
    `"${path}": Berth reads no "${word}" there; ${close ? `did you mean "${close}"?` : `it reads ${known.join(', ')}`}`,
  );
}

function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
}
