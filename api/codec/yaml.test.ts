import { expect, it } from 'vitest';
import type { Pod } from '../generated/types.ts';
import { parseManifests } from './yaml.ts';

const pod = (name: string, extra = ''): string =>
  `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n  containers:\n  - name: c\n    image: i\n${extra}`;

const names = (text: string): (string | undefined)[] =>
  parseManifests(text, 'f.yaml').map((each) => ('error' in each ? each.error.message : each.object.metadata?.name));

it('reads several documents, skips empty ones and says where each starts', () => {
  const documents = parseManifests(`---\n${pod('a')}---\n# nothing here\n---\n\n---\n${pod('b')}`, 'f.yaml');
  expect(documents.map((each) => [each.file, each.line])).toEqual([
    ['f.yaml', 2],
    ['f.yaml', 15],
  ]);
});

it('expands lists, typed and untyped, and lets items of a typed list leave out their kind', () => {
  expect(names('kind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n')).toEqual(['a']);
  expect(names('kind: ConfigMapList\napiVersion: v1\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n')).toEqual([
    'a',
    'b',
  ]);
  expect(names('kind: List\napiVersion: v1\n')).toEqual([]);
});

it('maps a violation back to its line, path and reason, in lists too', () => {
  const [failure] = parseManifests(`${pod('a').replace('image: i', 'imagee: i')}  hostNetwork: maybe\n`, 'f.yaml');
  expect(failure).toMatchObject({
    file: 'f.yaml',
    line: 8,
    path: 'spec.containers[0].imagee',
    problems: [
      { line: 8, path: 'spec.containers[0].imagee', reason: 'unknown field; did you mean "image"?' },
      { line: 9, path: 'spec.hostNetwork', reason: 'wrong type: expected true or false, found string "maybe"' },
    ],
  });
  const [inList] = parseManifests('kind: List\nitems:\n- kind: ConfigMap\n  apiVersion: v1\n  data:\n    a.b/c: 5\n', 'l.yaml');
  expect(inList).toMatchObject({ line: 6, path: 'items[0].data[a.b/c]' });
});

it('does not let one bad document hide the others', () => {
  expect(names(`${pod('a')}---\nkind: Pod\n  bad: indent\n---\n${pod('b')}`)).toEqual([
    'a',
    expect.stringMatching(/^f\.yaml:\d+: cannot read document: /),
    'b',
  ]);
});

it('refuses duplicate keys', () => {
  expect(parseManifests('kind: Pod\napiVersion: v1\nkind: Pod\n', 'f.yaml')).toMatchObject([
    { line: 3, reason: 'Map keys must be unique' },
  ]);
});

it('says what is missing or unknown about the kind', () => {
  expect(names('metadata: {name: a}\n')[0]).toContain('f.yaml:1: cannot read document: kind: is required');
  expect(names('apiVersion: v1\nkind: pods\n')[0]).toContain('unknown kind "pods"; did you mean "Pod"?');
  expect(names('apiVersion: apps/v1\nkind: Deployment\n')[0]).toContain(
    'unknown kind "Deployment"; Berth knows Namespace, Node, Pod',
  );
  expect(names('apiVersion: v2\nkind: Pod\n')[0]).toContain('apiVersion: invalid value "v2": must be "v1"');
  expect(names('kind: Pod\n')[0]).toContain('apiVersion: is required');
  expect(names('- 1\n')[0]).toContain('expected an object, found a list');
});

it('reads JSON through the same door, tabs and all', () => {
  expect(names('{\n\t"apiVersion": "v1",\n\t"kind": "ConfigMap",\n\t"metadata": {\n\t\t"name": "a"\n\t}\n}\n')).toEqual(['a']);
});

it("reads what Kubernetes' YAML reader reads: octal modes, yes and no, merge keys, anchors", () => {
  const text = pod('a', '  hostNetwork: yes\n  volumes:\n  - name: v\n    secret: {secretName: s, defaultMode: 0400}\n');
  const [document] = parseManifests(text, 'f.yaml');
  const { spec } = (document as { object: Pod }).object;
  expect([spec?.hostNetwork, spec?.volumes?.[0]?.volumeSource?.secret?.defaultMode]).toEqual([true, 0o400]);
  expect(names('base: &b {apiVersion: v1, kind: ConfigMap}\n')[0]).toContain('kind: is required');
  expect(names('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {x: y}, annotations: {<<: *l}}\n')).toEqual([
    'a',
  ]);
});

it('survives alias bombs and unresolved aliases', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c]\n`;
  expect(names(bomb)[0]).toContain('f.yaml:1: cannot read document');
  expect(names('a: *nothing\n')[0]).toContain('f.yaml:1: cannot read document');
});
