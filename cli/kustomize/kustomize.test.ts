import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { buildKustomization } from './build.ts';
import { contentHash } from './content-hash.ts';
import { changedImage } from './transformers.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'berth-kustomize-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Writes files, and builds the folder of them. */
function build(files: Readonly<Record<string, string>>, folder = '.'): JsonObject[] {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return buildKustomization(join(root, folder));
}
const deployment = (name = 'web', image = 'web:1'): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      serviceAccountName: runner
      containers:
      - name: main
        image: ${image}
        envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: keys}}]
      volumes:
      - {name: all, projected: {sources: [{configMap: {name: settings}}, {secret: {name: keys}}]}}
      - {name: other, configMap: {name: foreign}}
`;
const podSpec = (json: JsonObject | undefined): JsonObject =>
  ((json!.spec as JsonObject).template as JsonObject).spec as JsonObject;
const names = (objects: readonly JsonObject[]): string[] =>
  objects.map(({ kind, metadata }) => `${String(kind)}/${String((metadata as JsonObject).name)}`);

describe('the hash of content', () => {
  // Known answers of kubectl.
  it.each<[JsonObject, string]>([
    [{ kind: 'ConfigMap', data: {} }, '42745tchd9'],
    [{ kind: 'ConfigMap', data: { one: '' } }, '9g67k2htb6'],
    [{ kind: 'ConfigMap', data: { two: '2', one: '', three: '3' } }, 'f5h7t85m9b'],
    [{ kind: 'Secret', type: 'my-type', data: {} }, 't75bgf6ctb'],
    [{ kind: 'Secret', type: 'my-type', data: { one: '' } }, '74bd68bm66'],
    [{ kind: 'Secret', type: 'my-type', data: { two: 'Mg==', one: '', three: 'Mw==' } }, 'dgcb6h9tmk'],
    // Of {"data":{"-a":"1","10":"2","9":"3"},"kind":"ConfigMap","name":""}: JavaScript has such keys in another order.
    [{ kind: 'ConfigMap', metadata: { name: 'a' }, data: { 9: '3', 10: '2', '-a': '1' } }, 't557987fk7'],
  ])('of %j is %s', (json, hash) => expect(contentHash(json)).toBe(hash));

  it('does not depend on the order of the keys, and does on characters that HTML knows', () => {
    const of = (data: JsonObject): string => contentHash({ kind: 'ConfigMap', metadata: { name: 'x' }, data });
    expect(of({ a: '1', b: '<' })).toBe(of({ b: '<', a: '1' }));
    expect(of({ a: '<' })).not.toBe(of({ a: '\\u003c' }));
  });
});

describe('a kustomization', () => {
  it('generates data with the hash in its name, and rewrites what refers to it, in its base too', () => {
    const objects = build(
      {
        'base/kustomization.yaml': `resources: [web.yaml, account.yaml]
configMapGenerator:
- name: settings
  literals: [mode=fast, "quoted='yes'"]
  files: [app.conf, other=app.conf]
  envs: [vars.env]
secretGenerator:
- name: keys
  literals: [key=secret]
  options: {disableNameSuffixHash: true, labels: {kept: "1"}}
`,
        'base/web.yaml': deployment(),
        'base/account.yaml': 'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runner}\n',
        'base/app.conf': 'a = 1\n',
        'base/vars.env': '# comment\nA=1\nB=x=y\n',
        'test/kustomization.yaml': 'resources: [../base]\nnamePrefix: test-\nnamespace: shop\n',
      },
      'test',
    );
    const [account, settings, keys, web] = objects;
    expect(names(objects)).toEqual([
      'ServiceAccount/test-runner',
      `ConfigMap/test-settings-${contentHash({ ...settings!, metadata: { name: 'test-settings' } })}`,
      'Secret/test-keys',
      'Deployment/test-web',
    ]);
    expect(settings!.data).toEqual({ mode: 'fast', quoted: 'yes', 'app.conf': 'a = 1\n', other: 'a = 1\n', A: '1', B: 'x=y' });
    expect(keys).toMatchObject({
      type: 'Opaque',
      data: { key: 'c2VjcmV0' },
      metadata: { labels: { kept: '1' }, namespace: 'shop' },
    });
    expect(account!.metadata).toEqual({ name: 'test-runner', namespace: 'shop' });
    const { name } = settings!.metadata as JsonObject;
    expect(podSpec(web)).toMatchObject({
      serviceAccountName: 'test-runner',
      containers: [{ envFrom: [{ configMapRef: { name: name! } }, { secretRef: { name: 'test-keys' } }] }],
      volumes: [
        { projected: { sources: [{ configMap: { name: name! } }, { secret: { name: 'test-keys' } }] } },
        { configMap: { name: 'foreign' } },
      ],
    });
  });

  it('makes two variants of one base, each of which refers to its own', () => {
    const objects = build(
      {
        'base/kustomization.yml':
          'kind: Kustomization\nresources: [web.yaml]\nconfigMapGenerator: [{name: settings, literals: [a=1]}]\n',
        'base/web.yaml': deployment(),
        'a/kustomization.yaml': 'resources: [../base]\nnamePrefix: a-\n',
        'b/kustomization.yaml':
          'resources: [../base]\nnameSuffix: -b\nconfigMapGenerator: [{name: settings, behavior: merge, literals: [b=2]}]\n',
        'all/kustomization.yaml': 'resources: [../a, ../b]\nsortOptions: {order: fifo}\n',
      },
      'all',
    );
    expect(names(objects).map((name) => name.replace(/-\w{10}$/, ''))).toEqual([
      'Deployment/a-web',
      'ConfigMap/a-settings',
      'Deployment/web-b',
      'ConfigMap/settings-b',
    ]);
    expect(objects[3]!.data).toEqual({ a: '1', b: '2' });
    for (const at of [0, 2]) {
      const { name } = objects[at + 1]!.metadata as JsonObject;
      expect(podSpec(objects[at])).toMatchObject({ containers: [{ envFrom: [{ configMapRef: { name: name! } }, {}] }] });
    }
  });

  it('sets labels, annotations, images and replicas where they belong', () => {
    const [service, web] = build({
      Kustomization: `resources: [web.yaml, service.yaml]
commonAnnotations: {note: text}
labels:
- pairs: {plain: "1"}
- {pairs: {everywhere: "2"}, includeSelectors: true}
- {pairs: {templates: "3"}, includeTemplates: true}
images: [{name: web, newName: registry.example:5000/web, newTag: "2"}]
replicas: [{name: web, count: 4}]
`,
      'web.yaml': deployment(),
      'service.yaml': 'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}}\n',
    });
    const all = { plain: '1', everywhere: '2', templates: '3' };
    expect(service).toMatchObject({
      metadata: { labels: all, annotations: { note: 'text' } },
      spec: { selector: { app: 'web', everywhere: '2' } },
    });
    expect((service!.spec as JsonObject).selector).toEqual({ app: 'web', everywhere: '2' });
    expect(web).toMatchObject({
      metadata: { labels: all },
      spec: {
        replicas: 4,
        selector: { matchLabels: { app: 'web', everywhere: '2' } },
        template: { metadata: { labels: { app: 'web', everywhere: '2', templates: '3' }, annotations: { note: 'text' } } },
      },
    });
    expect(podSpec(web)).toMatchObject({ containers: [{ image: 'registry.example:5000/web:2' }] });
  });

  it('patches by name, by target and by operations, and deletes', () => {
    const objects = build({
      'kustomization.yaml': `resources: [a.yaml, b.yaml, c.yaml]
namePrefix: p-
patchesStrategicMerge: [delete.yaml]
patches:
- path: merge.yaml
- target: {kind: Deployment, name: "a|b", labelSelector: "!none"}
  patch: |
    - {op: replace, path: /spec/template/spec/containers/0/image, value: "web:9"}
- target: {kind: Deploy.*}
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: any, annotations: {all: "1"}}
patchesJson6902:
- target: {group: apps, version: v1, kind: Deployment, name: a}
  patch: '[{"op": "add", "path": "/spec/paused", "value": true}]'
`,
      'a.yaml': deployment('a'),
      'b.yaml': deployment('b'),
      'c.yaml': deployment('c'),
      'delete.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: c}\n$patch: delete\n',
      'merge.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    spec:
      serviceAccountName: null
      containers:
      - name: main
        env: [{name: A, value: "1"}]
      - {name: side, image: side}
`,
    });
    expect(names(objects)).toEqual(['Deployment/p-a', 'Deployment/p-b']);
    const [a, b] = objects;
    expect(a).toMatchObject({ metadata: { annotations: { all: '1' } }, spec: { paused: true } });
    expect(b).toMatchObject({ metadata: { annotations: { all: '1' } } });
    expect(podSpec(a)).toMatchObject({
      containers: [{ name: 'main', image: 'web:9', env: [{ name: 'A' }] }, { name: 'side' }],
    });
    expect(podSpec(a).serviceAccountName).toBeUndefined();
    expect(podSpec(b)).toMatchObject({ containers: [{ image: 'web:9' }] });
  });

  it('applies components to what it has so far, and renames namespaces and subjects', () => {
    const objects = build({
      'kustomization.yaml': 'resources: [all.yaml]\ncomponents: [part]\nnamespace: shop\n',
      'part/kustomization.yaml': `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [extra.yaml]
patches: [{target: {kind: ServiceAccount}, patch: '[{op: add, path: /automountServiceAccountToken, value: false}]'}]
`,
      'part/extra.yaml': 'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: extra}\n',
      'all.yaml': `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: any}}
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: runner, namespace: any}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata: {name: bound}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
  subjects:
  - {kind: ServiceAccount, name: runner, namespace: any}
  - {kind: ServiceAccount, name: default, namespace: any}
  - {kind: ServiceAccount, name: foreign, namespace: any}
`,
    });
    expect(names(objects)).toEqual([
      'Namespace/shop',
      'ServiceAccount/extra',
      'ServiceAccount/runner',
      'ClusterRoleBinding/bound',
    ]);
    expect(objects[2]).toMatchObject({ automountServiceAccountToken: false, metadata: { namespace: 'shop' } });
    expect((objects[3]!.subjects as JsonObject[]).map(({ name, namespace }) => [name, namespace])).toEqual([
      ['runner', 'shop'],
      ['default', 'shop'],
      ['foreign', 'any'],
    ]);
    expect(objects[3]!.metadata).toEqual({ name: 'bound' });
  });
});

it.each([
  ['web', 'web', { newTag: '2' }, 'web:2'],
  ['web:1@sha256:aa', 'web', { newTag: '2' }, 'web:2'],
  ['host:5000/a/web:1', 'host:5000/a/web', { newName: 'b' }, 'b:1'],
  ['web:1', 'web', { digest: 'sha256:bb' }, 'web@sha256:bb'],
  ['web:1', 'web', { tagSuffix: '-x' }, 'web:1-x'],
  ['webby:1', 'web', { newTag: '2' }, 'webby:1'],
])('changes the image %s by its name %s and %j to %s', (image, name, change, expected) => {
  const none = { newName: undefined, newTag: undefined, digest: undefined, tagSuffix: undefined };
  expect(changedImage(image, { ...none, name, ...change })).toBe(expected);
});

describe('a build refuses', () => {
  const web = { 'web.yaml': deployment() };
  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    ['a folder without a kustomization', { 'x/web.yaml': '' }, /holds no kustomization/],
    ['several of them', { 'kustomization.yaml': '', Kustomization: '' }, /holds several kustomizations/],
    ['one that makes nothing', { 'kustomization.yaml': '' }, /kustomization\.yaml: it makes no objects/],
    [
      'a field that it does not support',
      { 'kustomization.yaml': 'helmCharts: []\n' },
      /kustomization\.yaml: helmCharts is not supported: render/,
    ],
    ['replacements', { 'kustomization.yaml': 'replacements: []\n' }, /replacements is not supported/],
    ['an unknown field', { 'kustomization.yaml': 'resource: []\n' }, /unknown field "resource"; did you mean "resources"\?/],
    ['another kind', { 'kustomization.yaml': 'kind: Pod\n' }, /kind: expected Kustomization or Component/],
    [
      'a remote base',
      { 'kustomization.yaml': 'resources: [github.com/a/b//c?ref=v1]\n' },
      /is a remote resource, which is not fetched/,
    ],
    ['a file over HTTP', { 'kustomization.yaml': 'resources: ["https://example.org/a.yaml"]\n' }, /is a remote resource/],
    ['a file outside', { 'x/kustomization.yaml': 'resources: [../web.yaml]\n', ...web }, /stands outside of/],
    ['a missing file', { 'kustomization.yaml': 'resources: [gone.yaml]\n' }, /cannot read gone\.yaml: no such file or folder/],
    [
      'a base of itself',
      { 'kustomization.yaml': 'resources: [x]\n', 'x/kustomization.yaml': 'resources: [..]\n' },
      /it is its own base/,
    ],
    [
      'the same object twice',
      { 'kustomization.yaml': 'resources: [web.yaml, web.yaml]\n', ...web },
      /web\.yaml: Deployment "web" is there already, from the same file: it is named twice/,
    ],
    [
      'the same object from two files',
      { 'kustomization.yaml': 'resources: [web.yaml, b.yaml]\n', ...web, 'b.yaml': deployment() },
      /b\.yaml: Deployment "web" is there already, from .*web\.yaml: name one of them only/,
    ],
    [
      'a patch of nothing',
      {
        'kustomization.yaml': 'resources: [web.yaml]\npatches: [{patch: "{apiVersion: v1, kind: Pod, metadata: {name: x}}"}]\n',
        ...web,
      },
      /patches\[0\]: there is no Pod "x" to patch/,
    ],
    [
      'a bad operation',
      {
        'kustomization.yaml':
          'resources: [web.yaml]\npatches: [{target: {kind: Deployment}, patch: "[{op: remove, path: /x}]"}]\n',
        ...web,
      },
      /patches\[0\]: Deployment "web": cannot patch: operation 0/,
    ],
    [
      'a pattern that could run for ever',
      { 'kustomization.yaml': 'resources: [web.yaml]\npatches: [{target: {name: "(a+)+b"}, patch: "[]"}]\n', ...web },
      /target: name: "\(a\+\)\+b" is no simple pattern/,
    ],
    [
      'labels that are no text',
      { 'kustomization.yaml': 'resources: [web.yaml]\ncommonLabels: {a: 1}\n', ...web },
      /commonLabels\[a\]: expected a text: put 1 in quotes/,
    ],
    [
      'a tag that is a number',
      { 'kustomization.yaml': 'resources: [web.yaml]\nimages: [{name: web, newTag: 1.25}]\n', ...web },
      /images\[0\]: newTag: expected a text: put 1.25 in quotes/,
    ],
    [
      'replicas of nothing',
      { 'kustomization.yaml': 'resources: [web.yaml]\nreplicas: [{name: x, count: 1}]\n', ...web },
      /replicas\[0\]: no Deployment.* is called "x"/,
    ],
    [
      'a key that comes twice',
      { 'kustomization.yaml': 'configMapGenerator: [{name: x, literals: [a=1, a=2]}]\n' },
      /configMapGenerator\[0\]: the key "a" is given twice/,
    ],
    [
      'a key that is no file name',
      { 'kustomization.yaml': 'configMapGenerator: [{name: x, literals: [..=1]}]\n' },
      /configMapGenerator\[0\]: the key "\.\." must not be "\."/,
    ],
    [
      'a merge with nothing',
      { 'kustomization.yaml': 'configMapGenerator: [{name: x, behavior: merge}]\n' },
      /there is no ConfigMap "x" to merge/,
    ],
    ['bad YAML', { 'kustomization.yaml': 'resources: [web.yaml]\n', 'web.yaml': 'a: b: c\n' }, /web\.yaml:1: /],
    [
      'a component among the resources',
      { 'kustomization.yaml': 'resources: [x]\n', 'x/kustomization.yaml': 'kind: Component\n' },
      /name it in components/,
    ],
  ])('%s', (_title, files, message) => {
    const folder = Object.keys(files).some((name) => name.startsWith('x/')) && !files['kustomization.yaml'] ? 'x' : '.';
    expect(() => build(files, folder)).toThrow(message);
  });

  it('a remote kustomization', () => {
    expect(() => buildKustomization('https://example.org/a')).toThrow(/is a remote kustomization, which is not fetched/);
  });

  it('a symbolic link that leads outside', () => {
    const outside = mkdtempSync(join(tmpdir(), 'berth-outside-'));
    writeFileSync(join(outside, 'secret.yaml'), deployment());
    symlinkSync(join(outside, 'secret.yaml'), join(root, 'web.yaml'));
    expect(() => build({ 'kustomization.yaml': 'resources: [web.yaml]\n' })).toThrow(/stands outside of/);
    rmSync(outside, { recursive: true });
  });

  it('bases that multiply', () => {
    const files: Record<string, string> = { 'l0/kustomization.yaml': 'namePrefix: x\n' };
    for (let i = 1; i < 12; i++) files[`l${i}/kustomization.yaml`] = `resources: [../l${i - 1}, ../l${i - 1}]\n`;
    expect(() => build(files, 'l11')).toThrow(/more than 1000 kustomizations in one build/);
  });
});
