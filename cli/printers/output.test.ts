import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseManifests } from '../../api/codec/yaml.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { parseSortBy, sortObjects, sortRowsAs } from '../sort-by.ts';
import { printObjects, yamlText } from './objects.ts';
import { parseObjectOutput, parseOutput } from './output.ts';

const pods: JsonObject[] = [
  { kind: 'Pod', metadata: { name: 'a', uid: '1' }, spec: { containers: [{ image: 'x' }, { image: 'y' }] }, n: 10, q: '1Gi' },
  { kind: 'Pod', metadata: { name: 'b', uid: '2' }, n: 9, q: '500Mi' },
  { kind: 'Pod', metadata: { name: 'c', uid: '3' } },
];
const print = (text: string, objects = pods, single = false): string =>
  printObjects(objects, parseObjectOutput(text), { single });

describe('-o', () => {
  it('prints names, templates and columns', () => {
    expect(print('name')).toBe('pod/a\npod/b\npod/c\n');
    expect(print('jsonpath={.items[*].metadata.name}')).toBe('a b c');
    expect(print('jsonpath={.metadata.name}', pods.slice(0, 1), true)).toBe('a');
    expect(print('custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,TWO:.spec.containers[0,1].image')).toBe(
      'NAME   IMAGE    TWO\na      x,y      x,y\nb      <none>   <none>\nc      <none>   <none>\n',
    );
    const options = { single: false, headers: false };
    expect(printObjects(pods.slice(0, 1), parseObjectOutput('custom-columns=N:metadata.name'), options)).toBe('a\n');
  });

  it('prints one object as it is and several as a list', () => {
    expect(JSON.parse(print('json', pods.slice(0, 1), true))).toEqual(pods[0]);
    expect(JSON.parse(print('json'))).toMatchObject({ kind: 'List', items: pods });
    expect(print('yaml', [{ kind: 'X', a: 'b: c' }], true)).toBe('kind: X\na: "b: c"\n');
  });

  it('shows who wrote which fields as JSON and YAML only when asked to, and to templates always', () => {
    const owned = [{ kind: 'X', metadata: { name: 'a', managedFields: [{ manager: 'm' }] } }];
    expect(print('yaml', owned, true)).toBe('kind: X\nmetadata:\n  name: a\n');
    expect(JSON.parse(print('json', owned))).toMatchObject({ items: [{ metadata: { name: 'a' } }] });
    expect(print('json', owned)).not.toContain('managedFields');
    expect(print('jsonpath={.metadata.managedFields[0].manager}', owned, true)).toBe('m');
    const shown = printObjects(owned, parseObjectOutput('json'), { single: true, showManagedFields: true });
    expect(JSON.parse(shown)).toEqual(owned[0]);
  });

  it.each([
    ['yml', 'did you mean "yaml"?'],
    ['go-template={{.x}}', 'it takes wide, json'],
    ['json=x', 'did you mean "json"?'],
    ['jsonpath', 'needs a template'],
    ['custom-columns=', 'needs columns'],
    ['custom-columns=NAME', '"NAME" is no column; write HEADING:.path'],
  ])('refuses "%s"', (text, message) => expect(() => parseOutput(text)).toThrow(message));

  it('refuses tables where there are none', () => expect(() => parseObjectOutput('wide')).toThrow('-o wide is for tables'));
});

describe('YAML', () => {
  const reread = (data: Record<string, string>): unknown => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data };
    const [document] = parseManifests(yamlText(object), 'f.yaml');
    return document && 'object' in document ? (document.object as { data?: unknown }).data : document;
  };

  it.each([
    'yes',
    'off',
    'y',
    '0644',
    '1e3',
    '1_000',
    '12:30:00',
    'null',
    '~',
    '',
    ' ',
    '2026-01-01',
    '- a',
    '{{ x }}',
    'a: b',
    '#',
    '\tx',
    'a\n\nb\n',
    ' \n',
    '\n ',
  ])('reads %j back as the text that it was', (text) => expect(reread({ a: text })).toEqual({ a: text }));

  it('reads any text back as it was', () => {
    const texts = fc.string({ unit: 'grapheme', maxLength: 30 });
    const lines = fc.array(fc.oneof(texts, fc.constantFrom('', ' ', '\t', 'x: y', '---', '...')), { maxLength: 4 });
    const any = fc.oneof(
      texts,
      lines.map((each) => each.join('\n')),
    );
    fc.assert(
      fc.property(any, (text) => {
        expect(reread({ a: text, b: 'c' })).toEqual({ a: text, b: 'c' });
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('--sort-by', () => {
  const sorted = (path: string): unknown[] =>
    sortObjects(pods, parseSortBy(path)).map(({ metadata }) => (metadata as JsonObject).name);

  it('knows numbers and quantities from words, and puts what has none first', () => {
    expect(sorted('.n')).toEqual(['c', 'b', 'a']);
    expect(sorted('{.q}')).toEqual(['c', 'b', 'a']);
    expect(sorted('metadata.name')).toEqual(['a', 'b', 'c']);
    expect(sorted('.none')).toEqual(['a', 'b', 'c']);
  });

  it('orders rows as the objects that they show', () => {
    const rows = [{ uid: '9' }, { uid: '1' }, { uid: '2' }];
    expect(sortRowsAs(rows, sortObjects(pods, parseSortBy('.n'))).map(({ uid }) => uid)).toEqual(['2', '1', '9']);
  });
});
