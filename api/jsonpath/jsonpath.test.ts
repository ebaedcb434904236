import { describe, expect, it } from 'vitest';
import type { Json } from '../meta/merge-patch.ts';
import { fillTemplate, findAll, PathTooCostly } from './evaluate.ts';
import { parsePath, parseTemplate } from './parse.ts';

const list: Json = {
  kind: 'List',
  items: [
    {
      metadata: { name: 'web', labels: { app: 'web', 'app.kubernetes.io/name': 'w' } },
      spec: { containers: [{ name: 'a', image: 'i1' }, { name: 'b' }] },
      status: {
        ready: true,
        restarts: 3,
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'Initialized', status: 'False' },
        ],
      },
    },
    { metadata: { name: 'db', labels: {} }, spec: { containers: [{ name: 'c', image: 'i2' }] }, status: { restarts: 0 } },
  ],
};

const fill = (template: string): string => fillTemplate(parseTemplate(template), list);

describe('jsonpath templates, as kubectl prints them', () => {
  it.each([
    ['a field', '{.kind}', 'List'],
    ['a field of the root', '{$.kind}', 'List'],
    ['a path without braces', '.items[0].metadata.name', 'web'],
    ['an index', '{.items[1].metadata.name}', 'db'],
    ['an index from the end', '{.items[-1].metadata.name}', 'db'],
    ['all items, separated by blanks', '{.items[*].metadata.name}', 'web db'],
    ['a wildcard for fields', '{.items[0].spec.containers[0].*}', 'a i1'],
    ['a slice', '{.items[0:1].metadata.name}', 'web'],
    ['an open slice', '{.items[1:].metadata.name}', 'db'],
    ['several indexes', '{.items[0,1].metadata.name}', 'web db'],
    ['several names', "{.items[0]['kind','metadata'].name}", 'web'],
    ['names with dots inside, which are paths', "{.items[*]['metadata.name','status.restarts']}", 'web 3 db 0'],
    ['a quoted name with dots of its own', "{.items[0].metadata.labels['app.kubernetes.io/name']}", 'w'],
    ['a quoted name with escaped dots', "{.items[0].metadata.labels['app\\.kubernetes\\.io/name']}", 'w'],
    ['a name with escaped dots', '{.items[0].metadata.labels.app\\.kubernetes\\.io/name}', 'w'],
    ['text between paths', 'a={.kind};b', 'a=List;b'],
    ['quoted text with escapes', '{.kind}{"\\n\\t"}', 'List\n\t'],
    ['a path and text in one pair of braces', '{.kind "!"}', 'List!'],
    ['a filter', '{.items[0].status.conditions[?(@.type=="Ready")].status}', 'True'],
    ['a filter with the other quotes and blanks', "{.items[0].status.conditions[?( @.type != 'Ready' )].status}", 'False'],
    ['a filter that compares numbers', '{.items[?(@.status.restarts>=1)].metadata.name}', 'web'],
    ['a filter with true', '{.items[?(@.status.ready==true)].metadata.name}', 'web'],
    ['a filter that asks whether a field is there', '{.items[?(@.status.ready)].metadata.name}', 'web'],
    ['fields at any depth', '{..image}', 'i1 i2'],
    ['a range', '{range .items[*]}{.metadata.name}{"\\t"}{.status.restarts}{"\\n"}{end}', 'web\t3\ndb\t0\n'],
    ['a range in a range', '{range .items[*]}{.metadata.name}:{range .spec.containers[*]} {.name}{end};{end}', 'web: a b;db: c;'],
    ['the item itself', '{range .items[*].spec.containers[*].name}<{@}>{end}', '<a><b><c>'],
    ['objects, as JSON', '{.items[1].spec.containers[0]}', '{"name":"c","image":"i2"}'],
    ['nothing, where nothing is', '{.items[5].name}{.none.at.all}', ''],
    ['text only', 'plain', 'plain'],
  ])('prints %s', (_title, template, expected) => expect(fill(template)).toBe(expected));

  it.each([
    ['an open bracket', '{.items[0', /at its end: "\]" is missing/],
    ['an open brace', '{.kind', /at its end/],
    ['a range without an end', '{range .items[*]}x', /\{range\} has no \{end\}/],
    ['an end without a range', '{end}', /\{end\} has no \{range\}/],
    ['a dot without a name', '{.a.}', /before "}": a field name is missing/],
    ['a word', '{kind}', /before "kind\}": a path is expected, e.g. .metadata.name/],
    ['two comparisons', '{.a[?(@.b==1 && @.c==2)]}', /a filter is one comparison/],
  ])('refuses %s, and says where', (_title, template, message) => expect(() => parseTemplate(template)).toThrow(message));

  it('reads single paths with and without braces and their first dot', () => {
    expect(parsePath('metadata.name')).toEqual(parsePath('{.metadata.name}'));
    expect(() => parsePath('.a}b')).toThrow('the path should end here');
  });
});

describe('a path with a budget of values', () => {
  const chain = (depth: number): Json => (depth === 0 ? 1 : { a: chain(depth - 1) });
  const find = (path: string, root: Json) => findAll(parsePath(path), root, root, { left: 10_000 });

  it('finds what little it looks at', () => {
    expect(find('{.items[?(@.status.ready==true)].metadata.name}', list)).toEqual(['web']);
    expect(find('{..image}', list)).toEqual(['i1', 'i2']);
  });

  it.each([
    ['several steps to any depth', `.${'.a.'.repeat(8)}a`, chain(100)],
    ['several steps to any depth that find nothing', `.${'.a.'.repeat(8)}z`, chain(100)],
    ['lists of the same step', `.a${'[*,*]'.repeat(60)}`, chain(100)],
    ['a long list of steps', `.a[${Array(1_000).fill('*').join()}]`, { a: Array(100).fill(0) }],
    ['a comparison of all with all', '.a[?(@.b[*]==$.c[*])]', { a: [{ b: Array(90).fill(1) }], c: Array(200).fill(2) }],
  ])('is given up at %s', (_title, path, root) => expect(() => find(path, root)).toThrow(PathTooCostly));
});
