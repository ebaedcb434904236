import { describe, expect, it } from 'vitest';
import { fromJson, messageFromJson } from '../../codec/json.ts';
import type { PodTemplate, PodTemplateSpec } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { defaultTemplate } from './defaults.ts';
import { templatesEqual } from './equal.ts';
import { computeTemplateHash, templateText, withoutDefaults } from './hash.ts';
import { podTemplate as kind } from './kind.ts';
import { meaningOf } from './meaning.ts';
import { podOfTemplate } from './pod-of-template.ts';

type Json = Record<string, unknown>;

/** A template with one container, as a client sends it. */
function templateOf(spec: Json = {}, container: Json = {}, metadata: Json = { labels: { app: 'web' } }): PodTemplateSpec {
  const json = { metadata, spec: { containers: [{ name: 'main', image: 'nginx:1', ...container }], ...spec } };
  return messageFromJson<PodTemplateSpec>('berth.core.v1.PodTemplateSpec', json);
}

function complete(template: PodTemplateSpec): PodTemplateSpec {
  defaultTemplate(template);
  return template;
}

describe('a PodTemplate', () => {
  const podTemplateOf = (template: Json | undefined): PodTemplate => {
    const object = fromJson<PodTemplate>(kind, { metadata: { name: 'web' }, template });
    kind.defaults(object);
    return object;
  };
  const container = { name: 'main', image: 'x' };

  it('has the rules and the defaults of the pods that would be made of it', () => {
    expect(kind.validate(podTemplateOf({ spec: { containers: [container], restartPolicy: 'Never' } }))).toEqual([]);
    expect(podTemplateOf({ spec: { containers: [container] } }).template?.spec?.restartPolicy).toBe('Always');
    expect(kind.validate(podTemplateOf({ spec: { containers: [] } })).map(({ field }) => field)).toEqual([
      'template.spec.containers',
    ]);
    expect(kind.validate(podTemplateOf(undefined)).map(({ field }) => field)).toEqual(['template']);
  });

  it('shows what kubectl shows', () => {
    const object = podTemplateOf({ metadata: { labels: { b: '2', a: '1' } }, spec: { containers: [container] } });
    expect(kind.columns.map(({ name, cell }) => [name, cell(object, new Date())])).toEqual([
      ['NAME', 'web'],
      ['CONTAINERS', 'main'],
      ['IMAGES', 'x'],
      ['POD LABELS', 'a=1,b=2'],
    ]);
  });
});

/** Two ways to write one template: what each row says, and what it is without it. */
const sameMeaning: readonly (readonly [string, PodTemplateSpec, PodTemplateSpec])[] = [
  [
    'defaults that are written down',
    complete(templateOf({ volumes: [{ name: 'v' }] })),
    templateOf({ volumes: [{ name: 'v' }] }),
  ],
  [
    'another way to write an amount',
    templateOf({}, { resources: { limits: { cpu: '1000m' } } }),
    templateOf({}, { resources: { limits: { cpu: '1' } } }),
  ],
  ['a false that is nothing', templateOf({ hostNetwork: false }, { tty: false }), templateOf()],
  [
    'a 0 that is nothing',
    templateOf({}, { ports: [{ containerPort: 80, hostPort: 0 }] }),
    templateOf({}, { ports: [{ containerPort: 80 }] }),
  ],
  ['an empty text', templateOf({ hostname: '' }, { env: [{ name: 'A', value: '' }] }), templateOf({}, { env: [{ name: 'A' }] })],
  ['the label of the hash', templateOf({}, {}, { labels: { app: 'web', 'pod-template-hash': 'x' } }), templateOf()],
  ['no label but that of the hash', templateOf({}, {}, { labels: { 'pod-template-hash': 'x' } }), templateOf({}, {}, {})],
  [
    'the older name of the account beside the newer',
    templateOf({ serviceAccountName: 'a', serviceAccount: 'a' }),
    templateOf({ serviceAccountName: 'a' }),
  ],
  ['the order of labels', templateOf({}, {}, { labels: { a: '1', b: '2' } }), templateOf({}, {}, { labels: { b: '2', a: '1' } })],
  [
    'a probe with its defaults',
    complete(templateOf({}, { livenessProbe: { httpGet: { port: 80 } } })),
    templateOf({}, { livenessProbe: { httpGet: { port: 80 } } }),
  ],
  [
    'a source that a volume has anyway',
    templateOf({ volumes: [{ name: 'v', emptyDir: {} }] }),
    templateOf({ volumes: [{ name: 'v' }] }),
  ],
];

const anotherMeaning: readonly (readonly [string, PodTemplateSpec, PodTemplateSpec])[] = [
  ['another image', templateOf({}, { image: 'nginx:2' }), templateOf()],
  ['another label', templateOf({}, {}, { labels: { app: 'web', tier: 'a' } }), templateOf()],
  ['a label with an empty value', templateOf({}, {}, { labels: { app: 'web', tier: '' } }), templateOf()],
  ['an annotation', templateOf({}, {}, { labels: { app: 'web' }, annotations: { a: 'b' } }), templateOf()],
  ['a true', templateOf({ hostNetwork: true }), templateOf()],
  ['a false that is something', templateOf({ automountServiceAccountToken: false }), templateOf()],
  ['a 0 that is something', templateOf({ terminationGracePeriodSeconds: 0 }), templateOf()],
  [
    'another amount',
    templateOf({}, { resources: { limits: { cpu: '2' } } }),
    templateOf({}, { resources: { limits: { cpu: '1' } } }),
  ],
  ['another order of arguments', templateOf({}, { args: ['a', 'b'] }), templateOf({}, { args: ['b', 'a'] })],
  ['a value that is no default', templateOf({ dnsPolicy: 'Default' }), templateOf()],
];

describe('two templates', () => {
  it.each(sameMeaning)('are equal with %s', (_title, a, b) => {
    expect([templatesEqual(a, b), templatesEqual(b, a)]).toEqual([true, true]);
    expect(computeTemplateHash(a)).toBe(computeTemplateHash(b));
    expect(templateText(a)).toBe(templateText(b));
  });

  it.each(anotherMeaning)('differ with %s', (_title, a, b) => {
    expect([templatesEqual(a, b), templatesEqual(b, a)]).toEqual([false, false]);
    expect(computeTemplateHash(a)).not.toBe(computeTemplateHash(b));
    expect(templateText(a)).not.toBe(templateText(b));
  });

  it('are equal when there are none', () => expect(templatesEqual(undefined, {})).toBe(true));

  it('are not changed by a comparison', () => {
    const a = templateOf({}, { resources: { limits: { cpu: '1000m' } } });
    const before = structuredClone(a);
    templatesEqual(a, templateOf());
    computeTemplateHash(a);
    expect(a).toEqual(before);
  });
});

describe('the hash', () => {
  it('never changes: names of objects that are stored hold it', () => {
    const rich = templateOf(
      {
        volumes: [{ name: 'v', configMap: { name: 'c' } }],
        nodeSelector: { disk: 'ssd' },
        tolerations: [{ key: 'a', operator: 'Exists' }],
      },
      {
        env: [{ name: 'A', value: '1' }],
        resources: { requests: { memory: '64Mi' } },
        livenessProbe: { exec: { command: ['true'] } },
      },
    );
    expect([computeTemplateHash(templateOf()), computeTemplateHash(rich)]).toEqual(['55cc6b6ff', '848844744c']);
  });

  it('is another one for each collision', () => {
    const hashes = [undefined, 0, 1, 2].map((count) => computeTemplateHash(templateOf(), count));
    expect(new Set(hashes).size).toBe(4);
    for (const hash of hashes) expect(hash).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  });

  it('does not count what a later version fills in', () => {
    const later = (template: PodTemplateSpec | undefined): void => {
      template!.spec ??= {};
      template!.spec!.enableServiceLinks ??= true;
      template!.spec!.affinity ??= { nodeAffinity: {} };
      for (const each of template!.spec!.containers ?? []) each.startupProbe ??= { failureThreshold: 7, handler: { exec: {} } };
      defaultTemplate(template);
    };
    for (const [, template] of [...sameMeaning, ...anotherMeaning]) {
      const stored = meaningOf(template, later);
      expect(stored.spec?.containers?.[0]?.startupProbe).toBeDefined();
      expect(withoutDefaults(stored, later)).toEqual(withoutDefaults(template));
    }
  });

  it('is made of the least that has the meaning of the template', () => {
    const bare = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'nginx:1' }] } };
    expect(withoutDefaults(complete(templateOf()))).toEqual(bare);
    for (const [, template] of [...sameMeaning, ...anotherMeaning]) {
      const least = withoutDefaults(template);
      expect(equalValues(meaningOf(least), meaningOf(template))).toBe(true);
      expect(withoutDefaults(least)).toEqual(least);
    }
  });
});

describe('the pod of a template', () => {
  const owner = {
    kind: { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
    object: { metadata: { name: 'web-abc', namespace: 'team', uid: 'u1', labels: { not: 'taken' } } },
  };

  it('has its labels, annotations, finalizers and spec, and its owner', () => {
    const metadata = { name: 'not-taken', labels: { app: 'web' }, annotations: { a: 'b' }, finalizers: ['example.com/f'] };
    const template = complete(templateOf({ nodeSelector: { disk: 'ssd' } }, {}, metadata));
    expect(podOfTemplate(template, owner)).toEqual({
      metadata: {
        generateName: 'web-abc-',
        namespace: 'team',
        labels: { app: 'web' },
        annotations: { a: 'b' },
        finalizers: ['example.com/f'],
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-abc', uid: 'u1', controller: true, blockOwnerDeletion: true },
        ],
      },
      spec: template.spec,
    });
  });

  it('shares nothing with the template', () => {
    const template = templateOf();
    const pod = podOfTemplate(template, owner);
    pod.metadata!.labels!.app = 'other';
    pod.spec!.containers![0]!.image = 'other';
    expect(template).toEqual(templateOf());
  });

  it('is called like an owner whose name is as long as names are', () => {
    const name = 'x'.repeat(253);
    expect(podOfTemplate({}, { ...owner, object: { metadata: { name } } }).metadata?.generateName).toBe(name);
  });
});
