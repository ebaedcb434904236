import type { FieldViolation } from '../errors/api-error.ts';
import { required } from '../errors/violations.ts';
import { groupOf } from '../kinds/identity.ts';
import { kinds } from '../kinds/index.ts';
import type { ApiObject, Kind } from '../kinds/kind.ts';
import { notYetReason } from '../kinds/not-yet.ts';
import { isJsonObject, type JsonObject } from '../meta/merge-patch.ts';
import { readObject, subjectOf } from './json.ts';
import { describeJson } from './json-reader.ts';
import { nearestWord } from './nearest.ts';
import { type ParsedDocument, parseDocuments, readDocument } from './yaml-document.ts';
import { type DocumentLines, pathText, type Step, stepsOf } from './yaml-lines.ts';

/**
 * Where a field stands: the line (from 1) of its deepest part that is there,
 * and its path from the root of the document.
 */
export interface FieldPlace {
  readonly line: number;
  readonly path: string;
}

/** One thing that is wrong with a document. The path is empty where the document cannot be read at all. */
export interface ManifestProblem extends FieldPlace {
  readonly reason: string;
}

/** An object that a file describes; `line` is where it starts. */
export interface ManifestObject {
  readonly file: string;
  readonly line: number;
  readonly kind: Kind;
  readonly object: ApiObject;
  /** The document as it stands there: an apply on the server owns what it names, also where that says the default. */
  readonly json: JsonObject;
  /** Where a field of the object stands, by the path that a violation names: "spec.containers[0].image". */
  locate(field: string): FieldPlace;
}

/** A document that cannot be read, with everything that is wrong with it, at least one thing. */
export interface ManifestFailure {
  readonly file: string;
  /** What the document seems to be: 'pod "web"', or nothing. */
  readonly subject: string | undefined;
  readonly problems: readonly ManifestProblem[];
  /** Which object it is about, where that much can be read. */
  readonly identity?: ManifestIdentity | undefined;
  /** The caller does not know the object's kind. */
  readonly isOfUnknownKind?: boolean | undefined;
}

export interface ManifestIdentity {
  readonly kind: Kind;
  readonly name: string;
  readonly namespace: string | undefined;
}

export type ManifestDocument = ManifestObject | ManifestFailure;

/**
 * Reads a file of manifests, YAML or JSON: several documents, in order, empty ones skipped, lists expanded. Never
 * throws: a document that cannot be read is a failure of its own and does not hide the others. `known` are the kinds
 * that documents may be of.
 */
export function parseManifests(text: string, file: string, known: readonly Kind[] = kinds): ManifestDocument[] {
  const documents = parseDocuments(text).flatMap((document) => new ManifestReader(document, file, known).read());
  const template = documents.some((document) => 'problems' in document)
    ? /\{\{-? *(\.|\$|\/\*|include |if |range |with |define |template |toYaml )/.exec(text)
    : null;
  if (!template) return documents;
  const line = text.slice(0, template.index).split('\n').length;
  return [{ file, subject: undefined, problems: [{ line, path: '', reason: templateReason }] }];
}

const templateReason = 'this is a template, as of a Helm chart: render it first, "helm template NAME FOLDER | berth apply -f -"';

/** Reads one document of a file. */
class ManifestReader {
  readonly #document: ParsedDocument;
  readonly #lines: DocumentLines;
  readonly #file: string;
  readonly #known: readonly Kind[];

  constructor(document: ParsedDocument, file: string, known: readonly Kind[]) {
    this.#known = known;
    this.#document = document;
    this.#lines = document.lines;
    this.#file = file;
  }

  read(): ManifestDocument[] {
    const read = readDocument(this.#document);
    if (read.kind === 'value')
      return read.value === null || read.value === undefined ? [] : this.#readValue(read.value, [], undefined);
    return [this.#failure(read.problems.map(({ place: { line }, path, reason }) => ({ line, path, reason })))];
  }

  /** `itemKind`: what the items of a typed list are, which need not repeat it. */
  #readValue(json: unknown, at: readonly Step[], itemKind: Kind | undefined): ManifestDocument[] {
    if (!isJsonObject(json)) return [this.#failureAt(at, `expected an object, found ${describeJson(json)}`)];
    const name = json.kind ?? itemKind?.kind;
    if (name === undefined)
      return [foreignForm(json) ?? { path: 'kind', reason: 'is required: it says what the object is, e.g. "kind: Pod"' }].map(
        ({ path, reason }) => this.#failureAt(path === '' ? at : [...at, path], reason),
      );
    if (isListName(name) && (json.items === undefined || json.items === null || Array.isArray(json.items)))
      return this.#readItems(json.items ?? [], at, name);
    const kind = this.#kindOf(name, json.apiVersion);
    if (!kind && isKustomization(json)) return [this.#failureAt(at, kustomizationReason)];
    if (!kind) return [{ ...this.#failureAt([...at, 'kind'], unknownKind(name)), isOfUnknownKind: true }];
    const read = this.#readObject(itemKind ? { apiVersion: kind.apiVersion, kind: kind.kind, ...json } : json, at, kind);
    // Another group may have a kind of the same name.
    const isOther = typeof json.apiVersion === 'string' && groupOf(json.apiVersion) !== groupOf(kind.apiVersion);
    return ['problems' in read && isOther ? { ...read, isOfUnknownKind: true } : read];
  }

  /** Of kinds of one name that of the version, else of the group, else the first. */
  #kindOf(name: unknown, apiVersion: unknown): Kind | undefined {
    const named = this.#known.filter((each) => each.kind === name);
    if (named.length < 2 || typeof apiVersion !== 'string') return named[0];
    const group = groupOf(apiVersion);
    return (
      named.find((each) => each.apiVersion === apiVersion) ?? named.find((each) => groupOf(each.apiVersion) === group) ?? named[0]
    );
  }

  #readItems(items: readonly unknown[], at: readonly Step[], listName: string): ManifestDocument[] {
    const itemKind = kinds.find((kind) => `${kind.kind}List` === listName);
    return items.flatMap((item, i) => this.#readValue(item, [...at, 'items', i], itemKind));
  }

  #readObject(json: Record<string, unknown>, at: readonly Step[], kind: Kind): ManifestDocument {
    const missing = json.apiVersion === undefined ? [required('apiVersion', `a ${kind.kind} has "${kind.apiVersion}"`)] : [];
    const { value, violations } = readObject<ApiObject>(kind, json);
    const all: readonly FieldViolation[] = [...missing, ...violations];
    const locate = (field: string): FieldPlace => this.#locate(at, field);
    if (all.length === 0)
      return { file: this.#file, line: this.#lines.lineOf(at), kind, object: value, json: json as JsonObject, locate };
    const { name, namespace } = subjectOf(kind, json);
    const problems = all.map(({ field, description }) => ({ ...locate(field), reason: description }));
    if (name === undefined) return this.#failure(problems, kind.singular);
    return { ...this.#failure(problems, `${kind.singular} "${name}"`), identity: { kind, name, namespace } };
  }

  /** The place of a field of the object that stands at `at` in the document. */
  #locate(at: readonly Step[], field: string): FieldPlace {
    const prefix = pathText(at);
    const path = prefix === '' || field === '' ? prefix + field : `${prefix}.${field}`;
    return { line: this.#lines.lineOf([...at, ...stepsOf(field)]), path };
  }

  #failureAt(at: readonly Step[], reason: string): ManifestFailure {
    return this.#failure([{ line: this.#lines.lineOf(at), path: pathText(at), reason }]);
  }

  #failure(problems: readonly ManifestProblem[], subject?: string): ManifestFailure {
    return { file: this.#file, subject, problems: problems.toSorted((a, b) => a.line - b.line) };
  }
}

/** What a file without a kind is, when it is a well-known one of another tool. */
function foreignForm(json: Record<string, unknown>): { readonly path: string; readonly reason: string } | undefined {
  if (isJsonObject(json.services))
    return { path: '', reason: 'this is a Compose file, which Berth does not read: write a pod for each of its services' };
  if (/^v[12]$/.test(String(json.apiVersion)) && json.version !== undefined && json.metadata === undefined)
    return { path: '', reason: 'this describes a Helm chart: render it first, "helm template NAME FOLDER | berth apply -f -"' };
  if (isKustomization(json)) return { path: '', reason: kustomizationReason };
  return undefined;
}

const kustomizationReason = 'this is a kustomization: name its folder with -k, "berth apply -k FOLDER"';
const kustomizationLists = ['resources', 'bases', 'components', 'patches', 'configMapGenerator', 'secretGenerator', 'images'];

/** A kustomization may omit its kind and version: then its lists identify it. */
const isKustomization = (json: Record<string, unknown>): boolean =>
  String(json.apiVersion ?? '').startsWith('kustomize.config.k8s.io/') ||
  (json.metadata === undefined && json.spec === undefined && kustomizationLists.some((field) => Array.isArray(json[field])));

function isListName(name: unknown): name is string {
  return name === 'List' || kinds.some((kind) => `${kind.kind}List` === name);
}

function unknownKind(name: unknown): string {
  const notYet = typeof name === 'string' ? notYetReason(name) : undefined;
  if (notYet !== undefined) return notYet;
  const names = kinds.map((kind) => kind.kind);
  const close = typeof name === 'string' ? nearestWord(name, names) : undefined;
  const hint = close ? `; did you mean "${close}"?` : `; Berth knows ${names.join(', ')}`;
  return `unknown kind ${typeof name === 'string' ? JSON.stringify(name) : describeJson(name)}${hint}`;
}
