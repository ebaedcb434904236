import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { buildKustomization } from './build.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-kustomize-fields-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const files: Readonly<Record<string, string>> = {
  'web.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: main, image: "web:1"}]}}}
`,
  'patch.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {paused: true}\n',
  'vars.env': 'A=1\n',
};

function build(kustomization: JsonObject): string {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
  writeFileSync(join(root, 'kustomization.yaml'), stringify({ resources: ['web.yaml'], ...kustomization }));
  return JSON.stringify(buildKustomization(root));
}

// All fields of a kustomization in kustomize 5.6, and those that earlier versions had.
const target = { kind: 'Deployment' };
const patch = '{metadata: {annotations: {b: c}}}';
describe('a field of a kustomization', () => {
  it.each<[string, JsonObject, RegExp]>([
    ['apiVersion and kind', { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' }, /"web"/],
    ['metadata', { metadata: { name: 'any' } }, /"web"/],
    ['resources', { resources: ['web.yaml'] }, /"web"/],
    ['bases', { bases: [] }, /"web"/],
    ['components', { components: [] }, /"web"/],
    ['namespace', { namespace: 'shop' }, /"namespace":"shop"/],
    ['namePrefix', { namePrefix: 'a-' }, /"a-web"/],
    ['nameSuffix', { nameSuffix: '-a' }, /"web-a"/],
    ['commonLabels', { commonLabels: { a: 'b' } }, /"matchLabels":\{"a":"b"\}/],
    ['commonAnnotations', { commonAnnotations: { a: 'b' } }, /"annotations":\{"a":"b"\}/],
    ['labels.pairs', { labels: [{ pairs: { a: 'b' } }] }, /"labels":\{"a":"b"\}/],
    ['labels.includeSelectors', { labels: [{ pairs: { a: 'b' }, includeSelectors: true }] }, /"matchLabels":\{"a":"b"\}/],
    ['labels.includeTemplates', { labels: [{ pairs: { a: 'b' }, includeTemplates: true }] }, /"template":.*"labels":\{"a":"b"\}/],
    [
      'labels.fields',
      { labels: [{ pairs: { a: 'b' }, fields: [{ path: 'spec/x/y', create: true }] }] },
      /"x":\{"y":\{"a":"b"\}\}/,
    ],
    [
      'labels.fields.kind',
      {
        labels: [
          {
            pairs: { a: 'b' },
            fields: [{ path: 'spec/template/labels', create: true, group: 'apps', version: 'v1', kind: 'Deployment' }],
          },
          { pairs: { c: 'd' }, fields: [{ path: 'spec/template/labels', create: true, kind: 'Pod' }] },
        ],
      },
      /\]\},"labels":\{"a":"b"\}\}\}/,
    ],
    ['images.newName', { images: [{ name: 'web', newName: 'a' }] }, /"a:1"/],
    ['images.newTag', { images: [{ name: 'web', newTag: '2' }] }, /"web:2"/],
    ['images.tagSuffix', { images: [{ name: 'web', tagSuffix: '-a' }] }, /"web:1-a"/],
    ['images.digest', { images: [{ name: 'web', digest: 'sha256:ab' }] }, /"web@sha256:ab"/],
    ['replicas', { replicas: [{ name: 'web', count: 7 }] }, /"replicas":7/],
    ['patchesStrategicMerge', { patchesStrategicMerge: ['patch.yaml'] }, /"paused":true/],
    ['patches.path', { patches: [{ path: 'patch.yaml' }] }, /"paused":true/],
    ['patches.patch', { patches: [{ patch, target: { group: 'apps', version: 'v1', ...target } }] }, /"b":"c"/],
    ['target.name', { patches: [{ patch, target: { name: 'web' } }] }, /"b":"c"/],
    ['target.namespace', { patches: [{ patch, target: { ...target, namespace: 'other' } }] }, /^((?!"b":"c").)*$/],
    ['target.labelSelector', { patches: [{ patch, target: { ...target, labelSelector: 'a=b' } }] }, /^((?!"b":"c").)*$/],
    ['target.annotationSelector', { patches: [{ patch, target: { ...target, annotationSelector: '!a' } }] }, /"b":"c"/],
    [
      'patches.options',
      { patches: [{ patch: '{metadata: {name: other}}', target, options: { allowNameChange: true, allowKindChange: true } }] },
      /"name":"other"/,
    ],
    [
      'patchesJson6902',
      { patchesJson6902: [{ target, patch: '[{op: add, path: /spec/paused, value: true}]' }] },
      /"paused":true/,
    ],
    ['configMapGenerator', { configMapGenerator: [{ name: 'a', namespace: 'b', literals: ['x=y'] }] }, /"data":\{"x":"y"\}/],
    ['configMapGenerator.behavior', { configMapGenerator: [{ name: 'a', behavior: 'create' }] }, /"kind":"ConfigMap"/],
    ['configMapGenerator.files', { configMapGenerator: [{ name: 'a', files: ['k=vars.env'] }] }, /"k":"A=1\\n"/],
    ['configMapGenerator.envs', { configMapGenerator: [{ name: 'a', envs: ['vars.env'] }] }, /"data":\{"A":"1"\}/],
    ['secretGenerator.env', { secretGenerator: [{ name: 'a', env: 'vars.env' }] }, /"data":\{"A":"MQ=="\}/],
    ['secretGenerator.type', { secretGenerator: [{ name: 'a', type: 'b/c' }] }, /"type":"b\/c"/],
    [
      'generatorOptions',
      {
        generatorOptions: { labels: { a: 'b' }, annotations: { c: 'd' }, disableNameSuffixHash: true, immutable: true },
        configMapGenerator: [{ name: 'a' }],
      },
      /"name":"a","labels":\{"a":"b"\},"annotations":\{"c":"d"\}\},"immutable":true/,
    ],
    [
      'configMapGenerator.options',
      { configMapGenerator: [{ name: 'a', options: { disableNameSuffixHash: true, immutable: true } }] },
      /"name":"a"\},"immutable":true/,
    ],
    ['sortOptions.order', { sortOptions: { order: 'fifo' } }, /"web"/],
  ])('%s is followed', (_name, kustomization, result) => expect(build(kustomization)).toMatch(result));

  const refused: readonly [string, JsonObject][] = [
    ['buildMetadata', { buildMetadata: ['managedByLabel'] }],
    ['configurations', { configurations: ['a.yaml'] }],
    ['crds', { crds: ['a.yaml'] }],
    ['generators', { generators: ['a.yaml'] }],
    ['helmChartInflationGenerator', { helmChartInflationGenerator: [{ chartName: 'a' }] }],
    ['helmCharts', { helmCharts: [{ name: 'a' }] }],
    ['helmGlobals', { helmGlobals: { chartHome: 'a' } }],
    ['imageTags', { imageTags: [{ name: 'web', newTag: '2' }] }],
    ['inventory', { inventory: { type: 'ConfigMap' } }],
    ['openapi', { openapi: { path: 'a.json' } }],
    ['replacements', { replacements: [{ path: 'a.yaml' }] }],
    ['transformers', { transformers: ['a.yaml'] }],
    ['validators', { validators: ['a.yaml'] }],
    ['vars', { vars: [{ name: 'A' }] }],
  ];
  it.each(refused)('%s is refused by its name, with the file, even where it is empty', (name, kustomization) => {
    expect(() => build(kustomization)).toThrow(new RegExp(`kustomization\\.yaml: .*\\b${name} is not supported: `));
    if (Object.hasOwn(kustomization, name)) expect(() => build({ [name]: [] })).toThrow(`${name} is not supported`);
  });

  it('labels.fields adds to lists and to what is there, and refuses to replace what is no object', () => {
    const at = (path: string) => build({ labels: [{ pairs: { a: 'b' }, fields: [{ path }] }] });
    expect(at('spec/template/spec/containers[]/resources')).not.toContain('resources');
    expect(() => at('spec/template/spec/containers')).toThrow(
      /labels\[0\]\.fields\[0\]: Deployment "web" has no object there, to which labels could be added/,
    );
    expect(() => build({ labels: [{ pairs: { a: 'b' }, fields: [{}] }] })).toThrow(/fields\[0\]: path is required/);
  });

  it('sortOptions.legacySortOptions is refused', () => {
    const sortOptions = { order: 'legacy', legacySortOptions: { orderFirst: ['Pod'] } };
    expect(() => build({ sortOptions })).toThrow(/sortOptions: only order: fifo and order: legacy are supported/);
  });
});
