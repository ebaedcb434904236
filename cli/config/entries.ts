import { badRequest } from '../../api/errors/index.ts';
import type { ConfigFile } from '../../client/index.ts';

/** The lists of the contexts file, with what an entry of each is called in it and by kubectl. */
export const lists = {
  clusters: {
    inner: 'cluster',
    noun: 'cluster',
    required: ['server', 'certificate-authority-data'],
    fields: ['server', 'certificate-authority-data', 'certificate-authority', 'berth-socket'],
    make: '"berth config set-cluster NAME --server=ADDRESS --certificate-authority=FILE"',
  },
  users: {
    inner: 'user',
    noun: 'user',
    required: [],
    fields: ['client-certificate-data', 'client-key-data', 'token', 'client-certificate', 'client-key', 'tokenFile'],
    make: '"berth config set-credentials NAME"',
  },
  contexts: {
    inner: 'context',
    noun: 'context',
    required: ['cluster', 'user'],
    fields: ['cluster', 'user', 'namespace'],
    make: '"berth config set-context NAME --cluster=CLUSTER --user=USER"',
  },
} as const;

export type ListName = keyof typeof lists;

export type Fields = Readonly<Record<string, unknown>>;

/** An entry of any of the lists. */
type Entry = { readonly name: string } & Fields;

export function entriesOf(file: ConfigFile, list: ListName): readonly Entry[] {
  return file[list] as unknown as readonly Entry[];
}

export function fieldsOf(entry: Entry | undefined, list: ListName): Fields {
  return (entry?.[lists[list].inner] ?? {}) as Fields;
}

export function findEntry(file: ConfigFile, list: ListName, name: string): Entry | undefined {
  return entriesOf(file, list).find((entry) => entry.name === name);
}

/**
 * The file with these fields in an entry, which is made when there is none; undefined takes a field away. Throws
 * INVALID_ARGUMENT where one is missing.
 */
export function withFields(file: ConfigFile, list: ListName, name: string, changed: Fields): ConfigFile {
  const { inner, noun, required, make } = lists[list];
  const before = findEntry(file, list, name);
  const fields = Object.entries({ ...fieldsOf(before, list), ...changed }).filter(([, value]) => value !== undefined);
  // A field with data may be a file instead.
  const missing = required.find((field) => !fields.some(([known]) => known === field || `${known}-data` === field));
  if (missing !== undefined && before === undefined)
    throw badRequest(`there is no ${noun} "${name}", and a new one needs "${missing}" too: ${make}`);
  if (missing !== undefined)
    throw badRequest(`${noun} "${name}" cannot do without "${missing}"; "berth config delete-${noun} NAME" removes all of it`);
  const entry = { ...before, name, [inner]: Object.fromEntries(fields) };
  const all = entriesOf(file, list);
  return { ...file, [list]: before ? all.map((each) => (each === before ? entry : each)) : [...all, entry] };
}

export function withoutEntry(file: ConfigFile, list: ListName, name: string): ConfigFile {
  return { ...file, [list]: entriesOf(file, list).filter((entry) => entry.name !== name) };
}

/** Names of the contexts that name an entry of another list. */
export function usersOf(file: ConfigFile, part: 'cluster' | 'user', name: string): string[] {
  return file.contexts.filter(({ context }) => context[part] === name).map((entry) => entry.name);
}
