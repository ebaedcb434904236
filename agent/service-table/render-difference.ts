import type { TableElement } from './compute-elements.ts';
import { nameOfChain, renderChain, type SetName } from './layout.ts';
import type { ContentDifference } from './wanted-content.ts';

/** The commands of one transaction, in one line; empty when nothing is different. */
export function renderDifference(table: string, { removed, added, removedChains, addedChains }: ContentDifference): string {
  return [
    ...renderElements('delete', table, removed),
    // After the elements that name them, and before those that do.
    ...removedChains.map((spread) => `delete chain ip ${table} ${nameOfChain(spread)}`),
    ...addedChains.map((spread) => renderChain(table, spread)),
    ...renderElements('add', table, added),
  ].join('; ');
}

/** The same for an empty table, in transactions of so many elements. */
export function* renderInChunks(table: string, whole: ContentDifference, size: number): Generator<string> {
  const chains = renderDifference(table, { ...whole, added: [] });
  if (chains !== '') yield chains;
  for (let from = 0; from < whole.added.length; from += size) {
    yield renderElements('add', table, whole.added.slice(from, from + size)).join('; ');
  }
}

const textOf = (verb: 'add' | 'delete', key: string, value: string): string =>
  value === '' || verb === 'delete' ? key : `${key} : ${value}`;

function renderElements(verb: 'add' | 'delete', table: string, elements: readonly TableElement[]): string[] {
  const bySet = new Map<SetName, string[]>();
  for (const { set, key, value } of elements) {
    const list = bySet.get(set);
    const texts = set === 'allowed' ? value.split(' ').map((range) => `${key} . ${range}`) : [textOf(verb, key, value)];
    if (list === undefined) bySet.set(set, texts);
    else list.push(...texts);
  }
  return [...bySet].map(([set, texts]) => `${verb} element ip ${table} ${set} { ${texts.join(', ')} }`);
}
