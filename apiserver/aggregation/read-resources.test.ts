import { expect, it } from 'vitest';
import { readResources } from './read-resources.ts';

const list = (...resources: unknown[]): string => JSON.stringify({ kind: 'APIResourceList', groupVersion: 'a.b/v1', resources });
const toy = {
  name: 'toys',
  singularName: 'toy',
  namespaced: true,
  kind: 'Toy',
  verbs: ['get'],
  shortNames: ['t'],
  categories: ['all'],
};

it('reads what an extension server says of its resources', () => {
  expect(readResources(list(toy, { name: 'toys/status', kind: 'Toy', verbs: ['get'], group: 'c.d', version: 'v2' }))).toEqual([
    toy,
    { name: 'toys/status', singularName: '', namespaced: false, kind: 'Toy', verbs: ['get'], group: 'c.d', version: 'v2' },
  ]);
});

it.each([
  ['no JSON', '{'],
  ['another kind', '{"kind":"Status"}'],
  ['no list', '{"kind":"APIResourceList","resources":{}}'],
  ['null', 'null'],
])('takes nothing from %s', (_title, text) => expect(readResources(text)).toBeUndefined());

it.each<[string, unknown]>([
  ['no name', { ...toy, name: '' }],
  ['a name that is a path', { ...toy, name: '../pods' }],
  ['a name that is long', { ...toy, name: 'a'.repeat(300) }],
  ['a kind that is no word', { ...toy, kind: 'a b' }],
  ['no kind', { ...toy, kind: 7 }],
  ['no object', 'toys'],
  ['the name of another', { ...toy, kind: 'Other' }],
])('leaves out a resource with %s', (_title, wrong) => {
  expect(readResources(list(toy, wrong))?.map(({ kind }) => kind)).toEqual(['Toy']);
});

it('bounds what it takes', () => {
  const many = Array.from({ length: 1_000 }, (_, i) => ({ ...toy, name: `toys${i}` }));
  expect(readResources(list(...many))).toHaveLength(500);
  const [read] =
    readResources(list({ ...toy, shortNames: Array(100).fill('t'), verbs: [1, null, 'get', 'x'.repeat(300)] })) ?? [];
  expect([read?.shortNames?.length, read?.verbs]).toEqual([32, ['get']]);
});
