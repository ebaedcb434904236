import { runAtOnce, type Steps } from './in-turns.ts';
import type { PolicyDifference, PolicyElement } from './journal.ts';
import { renderChain, renderSet } from './layout.ts';

/** Rendering pauses after so many. */
const elementsOfStep = 1_000;

/** The commands of one transaction, in one line; empty when nothing is different. */
export const renderDifference = (table: string, difference: PolicyDifference): string =>
  runAtOnce(renderInSteps(table, difference));

/** The same, with pauses. */
export function* renderInSteps(table: string, difference: PolicyDifference): Steps<string> {
  const { removed, added, removedChains, addedChains, removedSets, addedSets } = difference;
  return [
    // What names others goes first and comes last.
    ...(yield* renderElements('delete', table, removed)),
    ...removedChains.map((name) => `delete chain inet ${table} ${name}`),
    ...removedSets.map((name) => `delete set inet ${table} ${name}`),
    ...addedSets.map((set) => renderSet(table, set)),
    ...addedChains.map(({ name, rules }) => renderChain(table, name, rules)),
    ...(yield* renderElements('add', table, added)),
  ].join('; ');
}

/** What one transaction of a table that is built holds at most, where a chain alone is not longer. */
export interface ChunkSizes {
  readonly elements: number;
  /** Characters of sets and chains. */
  readonly characters: number;
}

/** The same for an empty table that is not in force, in several transactions. */
export function* renderInChunks(table: string, whole: PolicyDifference, sizes: ChunkSizes): Generator<string> {
  let [waiting, length]: [string[], number] = [[], 0];
  for (const command of renderFrame(table, whole)) {
    if (waiting.length > 0 && length + command.length > sizes.characters) {
      yield waiting.join('; ');
      [waiting, length] = [[], 0];
    }
    waiting.push(command);
    length += command.length;
  }
  if (waiting.length > 0) yield waiting.join('; ');
  let elements: PolicyElement[] = [];
  const flush = (): string => runAtOnce(renderElements('add', table, elements)).join('; ');
  for (const element of whole.added) {
    if (elements.length === sizes.elements) {
      yield flush();
      elements = [];
    }
    elements.push(element);
  }
  if (elements.length > 0) yield flush();
}

function* renderFrame(table: string, { addedSets, addedChains }: PolicyDifference): Generator<string> {
  for (const set of addedSets) yield renderSet(table, set);
  for (const { name, rules } of addedChains) yield renderChain(table, name, rules);
}

function* renderElements(verb: 'add' | 'delete', table: string, elements: Iterable<PolicyElement>): Steps<string[]> {
  let seen = 0;
  const bySet = new Map<string, string[]>();
  for (const { set, key, value } of elements) {
    if (++seen % elementsOfStep === 0) yield;
    const text = value === '' || verb === 'delete' ? key : `${key} : ${value}`;
    const texts = bySet.get(set);
    if (texts === undefined) bySet.set(set, [text]);
    else texts.push(text);
  }
  return [...bySet].map(([set, texts]) => `${verb} element inet ${table} ${set} { ${texts.join(', ')} }`);
}
