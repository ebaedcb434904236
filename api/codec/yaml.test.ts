import { expect, it } from 'vitest';
import type { Pod } from '../generated/types.ts';
import { parseManifests } from './yaml.ts';

const pod = (name: string, extra = ''): string =>
  `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n  containers:\n  - name: c\n    image: i\n${extra}`;

/** Each document's name, or what is wrong with it: "LINE: PATH: REASON". */
const names = (text: string): (string | undefined)[] =>
  parseManifests(text, 'f.yaml').flatMap((each) =>
    'problems' in each
      ? each.problems.map(({ line, path, reason }) => [line, path, reason].filter((part) => part !== '').join(': '))
      : [each.object.metadata?.name],
  );

it('reads several documents, skips empty ones and says where each starts', () => {
  const documents = parseManifests(`---\n${pod('a')}---\n# nothing here\n---\n\n---\n${pod('b')}`, 'f.yaml');
  expect(documents).toMatchObject([
    { file: 'f.yaml', line: 2 },
    { file: 'f.yaml', line: 15 },
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
    subject: 'pod "a"',
    identity: { name: 'a' },
    problems: [
      { line: 8, path: 'spec.containers[0].imagee', reason: 'unknown field; did you mean "image"?' },
      { line: 9, path: 'spec.hostNetwork', reason: 'wrong type: expected true or false, found string "maybe"' },
    ],
  });
  expect(names('kind: List\nitems:\n- kind: ConfigMap\n  apiVersion: v1\n  data:\n    a.b/c: 5\n')).toEqual([
    '6: items[0].data[a.b/c]: wrong type: expected a string, found number 5; put it in quotes',
  ]);
});

it('finds the line of any field of an object that was read, and of the part that should hold a missing one', () => {
  const text = `apiVersion: v1\nkind: List\nitems:\n- ${pod('a', '  volumes: &v\n  - name: x\n').replaceAll('\n', '\n  ')}`;
  const [document] = parseManifests(text, 'f.yaml');
  if (document === undefined || 'problems' in document) throw new Error('not read');
  expect(document.locate('spec.containers[0].image')).toEqual({ line: 11, path: 'items[0].spec.containers[0].image' });
  expect(document.locate('spec.containers[0].ports[1].containerPort').line).toBe(10);
  expect(document.locate('metadata.labels[a.b/c]')).toEqual({ line: 6, path: 'items[0].metadata.labels[a.b/c]' });
  expect(document.locate('')).toEqual({ line: 4, path: 'items[0]' });
});

it('does not let one bad document hide the others', () => {
  expect(names(`${pod('a')}---\nkind: Pod\n  bad: indent\n---\n${pod('b')}`)).toEqual(['a', expect.stringMatching(/^10: /), 'b']);
});

it('names every key that stands twice, with its line', () => {
  expect(names('kind: Pod\napiVersion: v1\nmetadata: {labels: {a.b/c: x, a.b/c: y}}\nkind: Pod\n')).toEqual([
    '3: metadata.labels[a.b/c]: the field stands here twice',
    '4: kind: the field stands here twice',
  ]);
});

it.each([
  ['a tab', 'kind: Pod\nmetadata:\n\tname: a\n', '3: a tab indents this line; YAML takes spaces only'],
  ['an indentation that fits nothing', 'spec:\n    a: 1\n  b: 2\n', '3: the indentation does not fit the lines above'],
  ['a missing colon', 'kind: Pod\nname web\n', '2: this is no "name: value"; a colon is missing, or the indentation is wrong'],
  ['an open quote', 'kind: "Pod\n', '2: missing closing "quote'],
  [
    'an unfilled template',
    'kind: Pod\nmetadata:\n  name: {{ .name }}\n',
    '3: this is a template, as of a Helm chart: render it first, "helm template NAME FOLDER | berth apply -f -"',
  ],
  [
    'a chart whose version is a number',
    'apiVersion: v2\nname: web\nversion: 1\n',
    '1: this describes a Helm chart: render it first, "helm template NAME FOLDER | berth apply -f -"',
  ],
  [
    'a kustomization',
    'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [web.yaml]\n',
    '1: this is a kustomization: name its folder with -k, "berth apply -k FOLDER"',
  ],
  [
    'a kustomization without its kind',
    'namePrefix: a-\nresources: [web.yaml]\n',
    '1: this is a kustomization: name its folder with -k, "berth apply -k FOLDER"',
  ],
  [
    'JSON documents one after the other',
    '{"kind": "Pod"}\n{"kind": "Pod"}\n',
    '2: something stands behind the end of the document; separate documents by a line with ---',
  ],
  ['text that is no manifest', 'hello world\n', '1: expected an object, found string "hello world"'],
])('says what is wrong with %s', (_title, text, problem) => expect(names(text)).toEqual([problem]));

it.each(['.inf', '-.INF', '.nan', '1e400'])('refuses the number %s, which JSON cannot say, with its line and path', (number) => {
  const text = `kind: Thing\napiVersion: a.b/v1\nmetadata: { name: a }\nspec:\n  list:\n  - most: ${number}\n`;
  expect(names(text)).toEqual(['6: spec.list[0].most: JSON has no infinite number, and no NaN']);
});

it('reads Windows line ends and a byte order mark, and counts lines as an editor does', () => {
  const text = `\ufeff${pod('a')}---\n${pod('b').replace('image', 'imagee')}`.replaceAll('\n', '\r\n');
  expect(names(text)).toEqual(['a', '17: spec.containers[0].imagee: unknown field; did you mean "image"?']);
});

it('reads a large map in time that grows with its size only', () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `  key-${i}: "value ${i}"\n`).join('');
  expect(names(`apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata:\n${lines}`)).toEqual(['big']);
});

it('says what is missing or unknown about the kind', () => {
  expect(names('metadata: {name: a}\n')).toEqual(['1: kind: is required: it says what the object is, e.g. "kind: Pod"']);
  expect(names('apiVersion: v1\nkind: pods\n')).toEqual(['2: kind: unknown kind "pods"; did you mean "Pod"?']);
  expect(names('apiVersion: x/v1\nkind: Gizmo\n')[0]).toContain(
    '2: kind: unknown kind "Gizmo"; Berth knows Namespace, Node, Pod',
  );
  expect(names('apiVersion: v2\nkind: Pod\n')).toEqual(['1: apiVersion: invalid value "v2": must be "v1"']);
  expect(names('kind: Pod\n')).toEqual(['1: apiVersion: is required: a Pod has "v1"']);
  expect(names('- 1\n')).toEqual(['1: expected an object, found a list']);
});

it('reads JSON through the same reader, tabs and all', () => {
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
  expect(names(bomb)[0]).toMatch(/^1: .*alias/);
  expect(names('a: *nothing\n')[0]).toMatch(/^1: .*alias/);
});

it.each([
  ['levels beyond the bound', `a: ${'['.repeat(200)}${']'.repeat(200)}`],
  ['levels beyond the stack', `a: ${'['.repeat(100_000)}`],
  ['JSON beyond the bound', `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`],
])('says of a file with %s that it is nested too deeply', (_title, text) => {
  expect(parseManifests(text, 'deep.yaml')).toMatchObject([
    { problems: [{ reason: expect.stringContaining('nested more than') }] },
  ]);
});

it('reads a line of 150,000 mistakes in time that grows with its length only', { timeout: 10_000 }, () => {
  expect(parseManifests(']'.repeat(150_000), 'bad.yaml')).toMatchObject([{ problems: [{}] }]);
});
