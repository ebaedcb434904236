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

/** The same for an empty table, in transactions of so many elements. */
export function* renderInChunks(table: string, whole: PolicyDifference, size: number): Generator<string> {
  const frame = renderDifference(table, { ...whole, added: [] });
  if (frame !== '') yield frame;
  for (let from = 0; from < whole.added.length; from += size)
    yield renderElements('add', table, whole.added.slice(from, from + size)).join('; ');
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
