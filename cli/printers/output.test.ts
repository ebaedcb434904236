import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseManifests } from '../../api/codec/yaml.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { SortOrder } from '../get/sort-by.ts';
import { printObjects, yamlText } from './objects.ts';
import { parseObjectOutput, parseOutput } from './output.ts';

const pods: JsonObject[] = [
  { kind: 'Pod', metadata: { name: 'a', uid: '1' }, spec: { containers: [{ image: 'x' }, { image: 'y' }] }, n: 10, q: '1Gi' },
  { kind: 'Pod', metadata: { name: 'b', uid: '2' }, n: 9, q: '500Mi' },
  { kind: 'Pod', metadata: { name: 'c', uid: '3' } },
];
const print = async (output: string, objects = pods, single = false): Promise<string> =>
  printObjects(objects, await parseObjectOutput({ output }), { single });

describe('-o', () => {
  it('prints names, templates and columns', async () => {
    expect(await print('name')).toBe('pod/a\npod/b\npod/c\n');
    expect(await print('jsonpath={.items[*].metadata.name}')).toBe('a b c');
    expect(await print('jsonpath={.metadata.name}', pods.slice(0, 1), true)).toBe('a');
    const columns = 'custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,TWO:.spec.containers[0,1].image';
    expect(await print(columns)).toBe(
      'NAME   IMAGE    TWO\na      x,y      x,y\nb      <none>   <none>\nc      <none>   <none>\n',
    );
    expect(await print('custom-columns=:.metadata.name', pods.slice(0, 1))).toBe('\na\n');
    const options = { single: false, headers: false };
    const wanted = await parseObjectOutput({ output: 'custom-columns=N:metadata.name' });
    expect(printObjects(pods.slice(0, 1), wanted, options)).toBe('a\n');
  });

  it('fills templates of Go, and makes JSON of what a path finds', async () => {
    expect(await print('go-template={{range .items}}{{.metadata.name}} {{end}}')).toBe('a b c ');
    expect(await print('template={{.metadata.name}}', pods.slice(0, 1), true)).toBe('a');
    expect(await print('jsonpath-as-json={.items[*].metadata.name}')).toBe('[\n    "a",\n    "b",\n    "c"\n]\n');
    expect(await print('jsonpath-as-json={range .items[*]}{.metadata.uid}{end}')).toBe(
      ['1', '2', '3'].map((uid) => `[\n    "${uid}"\n]\n`).join(''),
    );
    expect(await print('jsonpath-as-json={.none}', pods, true)).toBe('[]\n');
  });

  it('takes the template from --template, which alone is one of Go', async () => {
    const filled = async (flags: object): Promise<string> =>
      printObjects(pods, await parseObjectOutput(flags), { single: false });
    expect(await filled({ template: '{{.kind}}' })).toBe('List');
    expect(await filled({ output: 'go-template', template: '{{.kind}}' })).toBe('List');
    expect(await filled({ output: 'jsonpath', template: '{.kind}' })).toBe('List');
    await expect(filled({ output: 'json', template: '{.kind}' })).rejects.toThrow('not for -o json');
  });

  it('reads templates and columns from files', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-output-'));
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    try {
      const path = file('path', '{.items[0].metadata.name}\n');
      expect(await print(`jsonpath-file=${path}`)).toBe('a\n');
      const template = file('template', '{{len .items}}\n');
      expect(await print(`go-template-file=${template}`)).toBe('3\n');
      expect(await print(`templatefile=${template}`)).toBe('3\n');
      const columns = file('columns', 'NAME           UID\nmetadata.name  {.metadata.uid}\n');
      expect(await print(`custom-columns-file=${columns}`, pods.slice(0, 1))).toBe('NAME   UID\na      1\n');
      const uneven = file('uneven', 'NAME UID\nmetadata.name\n');
      await expect(print(`custom-columns-file=${uneven}`)).rejects.toThrow('it has 2 headings and 1 paths');
      await expect(print(`go-template-file=${folder}/none`)).rejects.toThrow(/cannot read .*none: ENOENT/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('prints one object as it is and several as a list', async () => {
    expect(JSON.parse(await print('json', pods.slice(0, 1), true))).toEqual(pods[0]);
    expect(JSON.parse(await print('json'))).toMatchObject({ kind: 'List', items: pods });
    expect(await print('yaml', [{ kind: 'X', a: 'b: c' }], true)).toBe('kind: X\na: "b: c"\n');
  });

  it('shows who wrote which fields as JSON and YAML only when asked to, and to templates always', async () => {
    const owned = [{ kind: 'X', metadata: { name: 'a', managedFields: [{ manager: 'm' }] } }];
    expect(await print('yaml', owned, true)).toBe('kind: X\nmetadata:\n  name: a\n');
    expect(JSON.parse(await print('json', owned))).toMatchObject({ items: [{ metadata: { name: 'a' } }] });
    expect(await print('json', owned)).not.toContain('managedFields');
    expect(await print('jsonpath={.metadata.managedFields[0].manager}', owned, true)).toBe('m');
    expect(await print('go-template={{(index .metadata.managedFields 0).manager}}', owned, true)).toBe('m');
    const json = await parseObjectOutput({ output: 'json' });
    expect(JSON.parse(printObjects(owned, json, { single: true, showManagedFields: true }))).toEqual(owned[0]);
  });

  it.each([
    ['jsonpath={.metadata.name} {.none}', 'error executing jsonpath: none is not found'],
    ['jsonpath-as-json={.metadata.none}', 'none is not found'],
    ['go-template={{.metadata.name}} {{.none}}', 'map has no entry for key "none"'],
  ])('fails with strict keys for %s, and leaves out what is not there otherwise', async (format, message) => {
    await print(format, pods.slice(0, 1), true);
    const output = await parseObjectOutput({ output: format, allowMissingTemplateKeys: false });
    expect(() => printObjects(pods.slice(0, 1), output, { single: true })).toThrow(message);
    const fine = await parseObjectOutput({ output: 'jsonpath={.metadata.name}', allowMissingTemplateKeys: false });
    expect(printObjects(pods.slice(0, 1), fine, { single: true })).toBe('a');
  });

  it.each([
    ['yml', 'did you mean "yaml"?'],
    ['table', 'it takes wide, json'],
    ['json=x', 'did you mean "json"?'],
    ['constructor', 'it takes wide, json'],
    ['jsonpath', 'needs a template'],
    ['go-template=', "needs a template, e.g. -o go-template='{{.metadata.name}}'"],
    ['go-template={{.x', 'error parsing template {{.x, template: output:1: unclosed action'],
    ['jsonpath-file', 'needs a file'],
    ['custom-columns=', 'needs columns'],
    ['custom-columns=NAME', '"NAME" is no column; write HEADING:.path'],
  ])('refuses "%s"', (output, message) => expect(parseOutput({ output })).rejects.toThrow(message));

  it('refuses tables where there are none', () =>
    expect(parseObjectOutput({ output: 'wide' })).rejects.toThrow('-o wide is for tables'));
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
    new SortOrder(path).objects(pods).map(({ metadata }) => (metadata as JsonObject).name);

  it('knows numbers and quantities from words, and puts what has none first', () => {
    expect(sorted('.n')).toEqual(['c', 'b', 'a']);
    expect(sorted('{.q}')).toEqual(['c', 'b', 'a']);
    expect(sorted('metadata.name')).toEqual(['a', 'b', 'c']);
    expect(sorted('.none')).toEqual(['a', 'b', 'c']);
  });

  it('orders rows as the objects that they show', () => {
    const rows = [{ uid: '9' }, { uid: '1' }, { uid: '2' }];
    expect(new SortOrder('.n').rows(rows, pods).map(({ uid }) => uid)).toEqual(['2', '1', '9']);
  });

  const checked = (path: string, ...objects: JsonObject[]): Promise<void> => {
    const order = new SortOrder(path);
    order.objects(objects);
    return order.check();
  };
  const old: JsonObject = { kind: 'Pod', metadata: { name: 'old', labels: { app: 'web' } } };
  const young: JsonObject = { kind: 'Pod', metadata: { name: 'young' } };

  it.each([
    ['.metadata.nam', `"{.metadata.nam}" in the list of objects: "pod.metadata" has no field "nam"; did you mean "name"?`],
    ['{.metadata.labels.ap}', '"{.metadata.labels.ap}" in the list of objects'],
    ['spec.containers[0].imag', '"{.spec.containers[0].imag}" in the list of objects: "pod.spec.containers" has no field "imag"'],
    [`.metadata.annotations['a/b']`, `"{.metadata.annotations['a/b']}" in the list of objects`],
    [`.status.conditions[?(@.type=="x")].status`, '"{.status.conditions[?(@.type=="x")].status}" in the list of objects'],
  ])('names the path %j, which no object has and no pod can have', async (path, message) => {
    await expect(checked(path, young, old)).rejects.toThrow(`couldn't find any field with path ${message}`);
  });

  it('takes a field that some have, that pods may have, or that one of the kinds has', async () => {
    await checked('.metadata.labels.app', young, old);
    await checked('.status.startTime', young);
    await checked('.status.containerStatuses[0].restartCount', young);
    await checked('.spec.unschedulable', young, { kind: 'Node', metadata: { name: 'n1' } });
    await checked('.anything');
  });
});
