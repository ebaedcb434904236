import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseAllDocuments,
  type ScalarTag,
  type Tags,
} from 'yaml';
import { isTooDeep, maxJsonDepth, tooDeepText } from '../meta/json-depth.ts';
import { DocumentLines, type Place, pathText } from './yaml-lines.ts';
import { syntaxProblem } from './yaml-syntax.ts';

/** One document of a text, which may hold mistakes. */
export interface ParsedDocument {
  readonly document: Document.Parsed;
  readonly lines: DocumentLines;
  /** Nothing of it could be read: it stands for the whole text. */
  readonly isTooDeep?: true;
}

/** Something that is wrong, where it stands. The path is empty where the document cannot be read at all. */
export interface DocumentProblem {
  readonly place: Place;
  readonly path: string;
  readonly reason: string;
}

/** What a document says, as JSON, or why it cannot be read: at least one problem. */
export type DocumentValue =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'unreadable'; readonly problems: readonly DocumentProblem[] };

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

/** What the library is to know of words and numbers, in reading and in writing. */
export const yamlTags = (tags: Tags): Tags => [octal, words, ...tags];

const octalTags = (tags: Tags): Tags => [octal, ...tags];

/**
 * Takes a text apart, YAML or JSON, into its documents. Never throws: mistakes stay with their document. With
 * `wordsAreTexts`, yes, no, on and off are texts as in YAML 1.2.
 */
export function parseDocuments(text: string, { wordsAreTexts = false } = {}): ParsedDocument[] {
  const lineCounter = new LineCounter();
  // The library's own search for duplicate keys takes half a minute for a map of 60,000, and its excerpts of the text
  // around mistakes a minute for a line of 250,000: each is cut from the whole line.
  const options = {
    lineCounter,
    merge: true,
    uniqueKeys: false,
    prettyErrors: false,
    customTags: wordsAreTexts ? octalTags : yamlTags,
  };
  const read = (each: string): ParsedDocument[] => {
    const documents = parseAllDocuments(each, options);
    if ('empty' in documents) return [];
    return documents.map((document) => ({ document, lines: new DocumentLines(document, lineCounter) }));
  };
  const { stackTraceLimit } = Error;
  // Each mistake is an error, most of whose cost is where it was made.
  Error.stackTraceLimit = 0;
  try {
    return read(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // The library ran out of stack, so nothing of the text can be told.
    return read('{}').map((document) => ({ ...document, isTooDeep: true as const }));
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * What a document says. With `keepsDuplicates` a field may stand in a map twice, and the value is a text of JSON that
 * has it twice.
 */
export function readDocument(parsed: ParsedDocument, { keepsDuplicates = false } = {}): DocumentValue {
  const tooDeep = unreadable([{ place: parsed.lines.placeOf([]), path: '', reason: `it ${tooDeepText}` }]);
  if (parsed.isTooDeep || isNestedTooDeep(parsed.document.contents)) return tooDeep;
  try {
    const read = readValue(parsed, keepsDuplicates);
    return read.kind === 'value' && isTooDeep(read.value) ? tooDeep : read;
  } catch (error) {
    if (error instanceof RangeError) return tooDeep;
    throw error;
  }
}

/** Told before any other mistake: how deep the library itself can go depends on the stack that is left. */
function isNestedTooDeep(node: unknown, left = maxJsonDepth): boolean {
  if (!isSeq(node) && !isMap(node)) return false;
  if (left === 0) return true;
  if (isSeq(node)) return node.items.some((item) => isNestedTooDeep(item, left - 1));
  return node.items.some(({ key, value }) => isNestedTooDeep(key, left - 1) || isNestedTooDeep(value, left - 1));
}

function readValue({ document, lines }: ParsedDocument, keepsDuplicates: boolean): DocumentValue {
  // The library ran out of stack and caught that itself.
  if (document.errors.some(({ code }) => code === 'RESOURCE_EXHAUSTION')) throw new RangeError(tooDeepText);
  const syntax = syntaxProblem(document);
  if (syntax) return unreadable([{ place: lines.placeAt(syntax.offset), path: '', reason: syntax.reason }]);
  const all = lines.badKeys();
  const bad = keepsDuplicates ? all.filter(({ found }) => found !== 'duplicate') : all;
  if (bad.length > 0) {
    const reason = { duplicate: 'the field stands here twice', 'not a word': 'a name is expected, found a list or an object' };
    return unreadable(bad.map(({ place, path, found }) => ({ place, path: pathText(path), reason: reason[found] })));
  }
  try {
    // Resolving aliases may fail: too many of them, or one that refers to nothing.
    const value: unknown = document.toJS();
    const odd = isTooDeep(value) ? undefined : pathToOddNumber(value);
    if (odd)
      return unreadable([{ place: lines.placeOf(odd), path: pathText(odd), reason: 'JSON has no infinite number, and no NaN' }]);
    if (!keepsDuplicates) return { kind: 'value', value };
    if (isTooDeep(value)) throw new RangeError(tooDeepText);
    return { kind: 'value', value: all.length > 0 ? textOf(document.contents, document) : JSON.stringify(value) };
  } catch (error) {
    if (error instanceof RangeError) throw error;
    return unreadable([{ place: lines.placeOf([]), path: '', reason: (error as Error).message }]);
  }
}

/** Where a number stands that JSON cannot say, as ".inf"; written as JSON it would be null without a word. */
function pathToOddNumber(value: unknown): (string | number)[] | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : [];
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const below = pathToOddNumber(item);
    if (below) return [key, ...below];
  }
  return undefined;
}

/** A node as JSON, with all members of its maps. What others refer to is written out, but for what it has twice. */
function textOf(node: unknown, document: Document.Parsed): string {
  if (isSeq(node)) return `[${node.items.map((item) => textOf(item, document)).join(',')}]`;
  if (isMap(node) && !node.items.some(isMerge)) {
    const members = node.items.map(({ key, value }) => `${JSON.stringify(nameOf(key))}:${textOf(value, document)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(isNode(node) ? node.toJS(document) : (node ?? null));
}

const nameOf = (key: unknown): string => String(isScalar(key) ? key.value : key);
const isMerge = ({ key }: Pair): boolean => nameOf(key) === '<<';

function unreadable(problems: readonly DocumentProblem[]): DocumentValue {
  return { kind: 'unreadable', problems };
}
