import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type ScalarTag,
} from 'yaml';
import type { ApiError, FieldViolation } from '../errors/api-error.ts';
import { badRequest } from '../errors/constructors.ts';
import { required } from '../errors/violations.ts';
import { kinds } from '../kinds/index.ts';
import type { ApiObject, Kind } from '../kinds/kind.ts';
import { isJsonObject } from '../meta/merge-patch.ts';
import { readObject, subjectOf } from './json.ts';
import { describeJson } from './json-reader.ts';
import { nearestWord } from './nearest.ts';

/** One thing that is wrong with a document: where (line from 1, path in the document) and why. */
export interface ManifestProblem {
  readonly line: number;
  readonly path: string;
  readonly reason: string;
}

/** An object that a file describes; `line` is where it starts. */
export interface ManifestObject {
  readonly file: string;
  readonly line: number;
  readonly kind: Kind;
  readonly object: ApiObject;
}

/** A document that cannot be read. `line`, `path` and `reason` are those of the first problem; `error` says all of them. */
export interface ManifestFailure extends ManifestProblem {
  readonly file: string;
  readonly problems: readonly ManifestProblem[];
  readonly error: ApiError;
}

export type ManifestDocument = ManifestObject | ManifestFailure;

/** What Kubernetes' YAML reader knows beyond YAML 1.2: octal file modes as 0644, and the words yes, no, on, off. */
const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0[0-7]+$/,
  resolve: (text) => Number.parseInt(text, 8),
};
const words: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$/,
  resolve: (text) => /^(yes|on)$/i.test(text),
};

/**
 * Reads a file of manifests, YAML or JSON: several documents, in order, empty ones skipped, lists expanded. Never throws: a document
 * that cannot be read is a failure of its own and does not hide the others.
 */
export function parseManifests(text: string, file: string): ManifestDocument[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, merge: true, customTags: (tags) => [octal, words, ...tags] });
  return 'empty' in documents ? [] : documents.flatMap((document) => new ManifestReader(document, lines, file).read());
}

type Step = string | number;

/** Reads one document of a file, and knows on which lines its parts stand. */
class ManifestReader {
  private readonly document: Document.Parsed;
  private readonly lines: LineCounter;
  private readonly file: string;

  constructor(document: Document.Parsed, lines: LineCounter, file: string) {
    this.document = document;
    this.lines = lines;
    this.file = file;
  }

  read(): ManifestDocument[] {
    const [syntax] = this.document.errors;
    if (syntax) {
      const reason = syntax.message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, '');
      return [this.failure([{ line: this.lineAt(syntax.pos[0]), path: '', reason }])];
    }
    const json = this.toJson();
    if (json.failure) return [json.failure];
    return json.value === null || json.value === undefined ? [] : this.readValue(json.value, [], undefined);
  }

  /** Resolving aliases may fail: too many of them, or one that refers to nothing. */
  private toJson(): { value?: unknown; failure?: ManifestFailure } {
    try {
      return { value: this.document.toJS() };
    } catch (error) {
      return { failure: this.failure([{ line: this.lineOf([]), path: '', reason: (error as Error).message }]) };
    }
  }

  /** `itemKind`: what the items of a typed list are, which need not repeat it. */
  private readValue(json: unknown, at: readonly Step[], itemKind: Kind | undefined): ManifestDocument[] {
    if (!isJsonObject(json)) return [this.failureAt(at, `expected an object, found ${describeJson(json)}`)];
    const name = json.kind ?? itemKind?.kind;
    if (name === undefined) return [this.failureAt([...at, 'kind'], 'is required: it says what the object is, e.g. "kind: Pod"')];
    if (isListName(name) && (json.items === undefined || Array.isArray(json.items)))
      return this.readItems(json.items ?? [], at, name);
    const kind = kinds.find((each) => each.kind === name);
    if (!kind) return [this.failureAt([...at, 'kind'], unknownKind(name))];
    return [this.readObject(itemKind ? { apiVersion: kind.apiVersion, kind: kind.kind, ...json } : json, at, kind)];
  }

  private readItems(items: readonly unknown[], at: readonly Step[], listName: string): ManifestDocument[] {
    const itemKind = kinds.find((kind) => `${kind.kind}List` === listName);
    return items.flatMap((item, i) => this.readValue(item, [...at, 'items', i], itemKind));
  }

  private readObject(json: Record<string, unknown>, at: readonly Step[], kind: Kind): ManifestDocument {
    const missing = json.apiVersion === undefined ? [required('apiVersion', `a ${kind.kind} has "${kind.apiVersion}"`)] : [];
    const { value, violations } = readObject<ApiObject>(kind, json);
    const all: readonly FieldViolation[] = [...missing, ...violations];
    if (all.length === 0) return { file: this.file, line: this.lineOf(at), kind, object: value };
    const { name } = subjectOf(kind, json);
    const problems = all.map(({ field, description }) => {
      const steps = [...at, ...stepsOf(field)];
      return { line: this.lineOf(steps), path: pathOf(steps, field, at), reason: description };
    });
    return this.failure(problems, `${kind.kind.toLowerCase()} "${name ?? ''}"`);
  }

  private failureAt(path: readonly Step[], reason: string): ManifestFailure {
    return this.failure([{ line: this.lineOf(path), path: pathOf(path, '', path), reason }]);
  }

  private failure(problems: readonly ManifestProblem[], subject = 'document'): ManifestFailure {
    const first = problems[0]!;
    const list = problems.map(({ path, reason }) => (path ? `${path}: ${reason}` : reason)).join('; ');
    const violations = problems.map(({ line, path, reason }) => ({
      field: path,
      description: problems.length > 1 ? `${reason} (line ${line})` : reason,
      reason: 'FieldValueInvalid',
    }));
    const error = badRequest(`${this.file}:${first.line}: cannot read ${subject}: ${list}`, violations);
    return { file: this.file, ...first, problems, error };
  }

  private lineAt(offset: number): number {
    return this.lines.linePos(offset).line;
  }

  /** The line of the deepest part of the path that is there; of a field, where its name stands. */
  private lineOf(path: readonly Step[]): number {
    let [node, offset]: [Node | null | undefined, number] = [this.document.contents, startOf(this.document.contents)];
    for (const step of path) {
      if (isAlias(node)) node = node.resolve(this.document);
      const next = childOf(node, step);
      if (!next) break;
      offset = next.offset;
      node = next.node;
    }
    return this.lineAt(offset);
  }
}

function startOf(node: Node | null | undefined): number {
  return node?.range?.[0] ?? 0;
}

function childOf(node: Node | null | undefined, step: Step): { node: Node | undefined; offset: number } | undefined {
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
    if (!pair) return undefined;
    return { node: isNode(pair.value) ? pair.value : undefined, offset: startOf(pair.key as Node) };
  }
  const item = isSeq(node) && typeof step === 'number' ? node.items[step] : undefined;
  return isNode(item) ? { node: item, offset: startOf(item) } : undefined;
}

function isListName(name: unknown): name is string {
  return name === 'List' || kinds.some((kind) => `${kind.kind}List` === name);
}

function unknownKind(name: unknown): string {
  const names = kinds.map((kind) => kind.kind);
  const close = typeof name === 'string' ? nearestWord(name, names) : undefined;
  const hint = close ? `; did you mean "${close}"?` : `; Berth knows ${names.join(', ')}`;
  return `unknown kind ${typeof name === 'string' ? JSON.stringify(name) : describeJson(name)}${hint}`;
}

/** "spec.containers[0].resources.limits[cpu]" as steps. */
function stepsOf(field: string): Step[] {
  return [...field.matchAll(/\[(\d+)\]|\[([^\]]*)\]|([^.[\]]+)/g)].map(([, index, key, name]) =>
    index === undefined ? (key ?? name ?? '') : Number(index),
  );
}

/** The place of a list item before the field's own path. */
function pathOf(steps: readonly Step[], field: string, prefix: readonly Step[]): string {
  const own = steps.length === prefix.length ? '' : field;
  let text = '';
  for (const step of prefix) text += typeof step === 'number' ? `[${step}]` : text === '' ? step : `.${step}`;
  return text !== '' && own !== '' ? `${text}.${own}` : text + own;
}
