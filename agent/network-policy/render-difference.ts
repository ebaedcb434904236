import { renderChain, renderSet } from './layout.ts';
import type { PolicyDifference, PolicyElement } from './policy-content.ts';

/** The commands of one transaction, in one line; empty when nothing is different. */
export function renderDifference(table: string, difference: PolicyDifference): string {
  const { removed, added, removedChains, addedChains, removedSets, addedSets } = difference;
  return [
    // What names others goes first and comes last.
    ...renderElements('delete', table, removed),
    ...removedChains.map((name) => `delete chain inet ${table} ${name}`),
    ...removedSets.map((name) => `delete set inet ${table} ${name}`),
    ...addedSets.map((set) => renderSet(table, set)),
    ...addedChains.map(({ name, rules }) => renderChain(table, name, rules)),
    ...renderElements('add', table, added),
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
  for (let from = 0; from < whole.added.length; from += sizes.elements)
    yield renderElements('add', table, whole.added.slice(from, from + sizes.elements)).join('; ');
}

function* renderFrame(table: string, { addedSets, addedChains }: PolicyDifference): Generator<string> {
  for (const set of addedSets) yield renderSet(table, set);
  for (const { name, rules } of addedChains) yield renderChain(table, name, rules);
}

function renderElements(verb: 'add' | 'delete', table: string, elements: readonly PolicyElement[]): string[] {
  const bySet = new Map<string, string[]>();
  for (const { set, key, value } of elements) {
    const text = value === '' || verb === 'delete' ? key : `${key} : ${value}`;
    const texts = bySet.get(set);
    if (texts === undefined) bySet.set(set, [text]);
    else texts.push(text);
  }
  return [...bySet].map(([set, texts]) => `${verb} element inet ${table} ${set} { ${texts.join(', ')} }`);
}
