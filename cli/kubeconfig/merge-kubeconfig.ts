import { Document, isAlias, isMap, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import { yamlTags } from '../../api/codec/yaml-document.ts';
import { readSettings } from '../../api/codec/yaml-settings.ts';
import { badRequest } from '../../api/errors/index.ts';

type Fields = Readonly<Record<string, string>>;

/** A context for kubectl, with its cluster and user: all three have its name. */
export interface KubeconfigEntry {
  readonly name: string;
  readonly cluster: Fields & { readonly server: string; readonly 'certificate-authority-data': string };
  readonly user: Fields;
  /** Absent: as it was. */
  readonly namespace?: string | undefined;
}

export interface MergeOptions {
  /** For messages. */
  readonly path: string;
  /** Whether the context becomes the current one. */
  readonly use: boolean;
}

interface KnownContext {
  readonly name: string;
  readonly context?: { readonly cluster?: unknown; readonly user?: unknown } | null;
}
interface KnownCluster {
  readonly name: string;
  readonly cluster?: Readonly<Record<string, unknown>> | null;
}

/** Fields by which a user authenticates, and those by which a cluster is trusted: none may stay beside ours. */
const credentials = [
  ...['client-certificate', 'client-certificate-data', 'client-key', 'client-key-data', 'token', 'tokenFile'],
  ...['username', 'password', 'auth-provider', 'exec'],
];
const trust = ['certificate-authority', 'certificate-authority-data', 'insecure-skip-tls-verify', 'tls-server-name'];

/**
 * The text of a kubeconfig with the entry in it, in place of one of the same name. Everything else stays: foreign
 * entries, comments, order. No text: a file of its own. Throws INVALID_ARGUMENT for a file that is none, or whose entry
 * of that name is of another cluster.
 */
export function mergeKubeconfig(text: string, entry: KubeconfigEntry, { path, use }: MergeOptions): string {
  const known = readKubeconfig(text, path);
  const document = known ? parse(text, path) : emptyDocument(text);
  if (known) refuseForeign(known, entry, path);
  setEntry(document, { list: 'clusters', inner: 'cluster', name: entry.name, fields: entry.cluster, replaced: trust });
  setEntry(document, { list: 'users', inner: 'user', name: entry.name, fields: entry.user, replaced: credentials });
  const { namespace, name } = entry;
  const context = { cluster: name, user: name, ...(namespace === undefined ? {} : { namespace }) };
  setEntry(document, { list: 'contexts', inner: 'context', name, fields: context, replaced: [] });
  if (use) document.set('current-context', name);
  return textOf(document, text);
}

/** The text of a changed document, with lists indented as they were before. */
export function textOf(document: Document, before: string): string {
  return document.toString({ lineWidth: 0, indentSeq: !/^[\w-]+:[ \t]*(?:#.*)?\r?\n- /m.test(before) });
}

const lists = { clusters: 'cluster', users: 'user', contexts: 'context' } as const;
export type Known = Readonly<Record<keyof typeof lists, readonly { readonly name: string }[]>>;

/** What the text says, checked as far as it is looked at; undefined for none. Throws INVALID_ARGUMENT. */
export function readKubeconfig(text: string, path: string): Known | undefined {
  let value: unknown;
  try {
    value = readSettings(text);
  } catch (error) {
    throw broken(path, (error as Error).message);
  }
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw broken(path, 'it must be a mapping');
  if (value.kind !== undefined && value.kind !== 'Config') throw broken(path, `it is a ${String(value.kind)}, not a Config`);
  const read = Object.entries(lists).map(([list, inner]) => [list, entriesOf(value[list], { list, inner, path })]);
  return Object.fromEntries(read) as Known;
}

interface ListPlace {
  readonly list: string;
  readonly inner: string;
  readonly path: string;
}

function entriesOf(value: unknown, { list, inner, path }: ListPlace): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw broken(path, `${list} must be a list`);
  for (const [index, each] of value.entries()) {
    const at = `${list}[${index}]`;
    if (!isObject(each)) throw broken(path, `${at} must be a mapping`);
    if (typeof each.name !== 'string') throw broken(path, `${at}.name must be a text`);
    const fields = each[inner];
    if (fields !== undefined && fields !== null && !isObject(fields)) throw broken(path, `${at}.${inner} must be a mapping`);
  }
  return value;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const broken = (path: string, reason: string): Error =>
  badRequest(`${path} is no kubeconfig that can be merged into: ${reason}; nothing was changed`);

/** An entry that a context of another cluster uses is not ours to change. */
function refuseForeign(known: Known, { name, cluster }: KubeconfigEntry, path: string): void {
  const clusters = known.clusters as readonly KnownCluster[];
  for (const { name: by, context } of known.contexts as readonly KnownContext[]) {
    if (by !== name && context?.cluster !== name && context?.user !== name) continue;
    const its = clusters.find((each) => each.name === context?.cluster)?.cluster;
    const isOurs =
      !its || its.server === cluster.server || its['certificate-authority-data'] === cluster['certificate-authority-data'];
    if (isOurs) continue;
    const what = by === name ? `a context "${name}"` : `a context "${by}" that uses the entry "${name}"`;
    throw badRequest(
      `${path} has ${what} of another cluster (${String(its.server)}); nothing was changed: give another name with --name, or remove it with "kubectl config delete-context ${by}"`,
    );
  }
}

/** The document of a kubeconfig, with its comments. Throws INVALID_ARGUMENT for what is none. */
export function parse(text: string, path: string): Document {
  const document = parseDocument(text, { merge: true, uniqueKeys: false, customTags: yamlTags });
  const [error] = document.errors;
  if (error) throw broken(path, error.message.split('\n')[0] ?? '');
  if (!isMap(document.contents)) throw broken(path, 'it must be a mapping');
  return document as unknown as Document;
}

/** With the comments of a text that says nothing. */
function emptyDocument(text: string): Document {
  const empty = { apiVersion: 'v1', kind: 'Config', clusters: [], users: [], contexts: [] };
  const document = new Document(empty, { customTags: yamlTags });
  const comments = parseDocument(text).commentBefore ?? parseDocument(text).comment;
  if (comments) document.commentBefore = comments;
  return document;
}

interface Change {
  readonly list: string;
  readonly inner: string;
  readonly name: string;
  readonly fields: Fields;
  /** Fields of an entry that is there which go, unless they are set. */
  readonly replaced: readonly string[];
}

function setEntry(document: Document, { list, inner, name, fields, replaced }: Change): void {
  const all = listOf(document, list);
  const at = all.items.findIndex((item) => nameOf(document, item) === name);
  const found = all.items[at];
  if (!isMap(found)) {
    // One that is an alias of another entry is written out.
    const made = document.createNode({ name, [inner]: fields });
    if (at < 0) all.items.push(made);
    else all.items[at] = made;
    return;
  }
  const held = found.get(inner, true);
  if (!isMap(held)) {
    found.set(inner, document.createNode(fields));
    return;
  }
  for (const field of replaced) if (!Object.hasOwn(fields, field)) held.delete(field);
  for (const [field, value] of Object.entries(fields)) held.set(field, value);
}

/** A list of the document; made where there is none. */
export function listOf(document: Document, list: string): YAMLSeq {
  const found = document.get(list, true);
  const resolved = isAlias(found) ? found.resolve(document) : found;
  if (isSeq(resolved)) {
    if (resolved.items.length === 0 && !(document.contents as YAMLMap).flow) resolved.flow = false;
    return resolved;
  }
  const made = document.createNode([]) as YAMLSeq;
  document.set(list, made);
  return made;
}

function nameOf(document: Document, item: unknown): unknown {
  const entry = isAlias(item) ? item.resolve(document) : item;
  return isMap(entry) ? entry.get('name') : undefined;
}
