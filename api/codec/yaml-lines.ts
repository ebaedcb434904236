import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type LineCounter, type Node, type Pair } from 'yaml';

/** A step into a document: the name of a field, or the number of an item. */
export type Step = string | number;

/** Both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Knows on which lines the parts of one document of a file stand. */
export class DocumentLines {
  readonly #document: Document.Parsed;
  readonly #counter: LineCounter;

  constructor(document: Document.Parsed, counter: LineCounter) {
    this.#document = document;
    this.#counter = counter;
  }

  placeAt(offset: number): Place {
    const { line, col: column } = this.#counter.linePos(offset);
    return { line, column };
  }

  lineOf(path: readonly Step[]): number {
    return this.placeOf(path).line;
  }

  /** The place of the deepest part of the path that is there; of a field, where its name stands. */
  placeOf(path: readonly Step[]): Place {
    let [node, offset]: [Node | null | undefined, number] = [this.#document.contents, startOf(this.#document.contents)];
    for (const step of path) {
      if (isAlias(node)) node = node.resolve(this.#document);
      const next = childOf(node, step);
      if (!next) break;
      offset = next.offset;
      node = next.node;
    }
    return this.placeAt(offset);
  }

  /** The places of the keys that stand twice in one map, or that are no plain words, and their paths. */
  badKeys(): { readonly place: Place; readonly path: readonly Step[]; readonly found: 'duplicate' | 'not a word' }[] {
    const found: ReturnType<DocumentLines['badKeys']> = [];
    const visit = (node: unknown, path: readonly Step[]): void => {
      if (isSeq(node)) for (const [at, item] of node.items.entries()) visit(item, [...path, at]);
      if (!isMap(node)) return;
      const seen = new Set<string>();
      for (const { key, value } of node.items as Pair<Node, unknown>[]) {
        const place = this.placeAt(startOf(key));
        if (!isScalar(key)) {
          found.push({ place, path, found: 'not a word' });
          continue;
        }
        const name = String(key.value);
        if (seen.has(name)) found.push({ place, path: [...path, name], found: 'duplicate' });
        seen.add(name);
        visit(value, [...path, name]);
      }
    };
    visit(this.#document.contents, []);
    return found;
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

/** "spec.containers[0].resources.limits[cpu]" as steps. */
export function stepsOf(field: string): Step[] {
  return [...field.matchAll(/\[(\d+)\]|\[([^\]]*)\]|([^.[\]]+)/g)].map(([, index, key, name]) =>
    index === undefined ? (key ?? name ?? '') : Number(index),
  );
}

/** Steps as text: "items[0].metadata". */
export function pathText(steps: readonly Step[]): string {
  let text = '';
  for (const step of steps) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/[./[\]]/.test(step)) text += `[${step}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}
