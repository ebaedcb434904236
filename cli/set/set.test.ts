import { describe, expect, it } from 'vitest';
import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { selectContainers } from './containers.ts';
import { envFrom, envPatch, parseEnv, sourceText, splitEnv, withPrefix } from './env.ts';
import { imagePatch, parseImages } from './image.ts';
import { listEnv } from './list-env.ts';
import { parseResources, resourcesPatch } from './resources.ts';
import { checkSetFlags, ofPodSpec } from './run-set.ts';
import { parseSelector, selectorPatch } from './selector.ts';

const podSpec = {
  initContainers: [{ name: 'init', image: 'i:1' }],
  containers: [
    {
      name: 'web',
      image: 'w:1',
      env: [
        { name: 'A', value: '1' },
        { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
      ],
    },
    { name: 'web-log', image: 'l:1' },
  ],
};
const merged = (patch: JsonObject) =>
  strategicMerge('berth.core.v1.PodSpec', podSpec as unknown as JsonObject, patch) as unknown as typeof podSpec;

it.each([
  ['*', ['web', 'web-log', 'init']],
  ['web', ['web']],
  ['web*', ['web', 'web-log']],
  ['w?b', ['web']],
  ['web.', []],
])('the pattern %s selects the containers %j', (pattern, names) =>
  expect(selectContainers(podSpec, pattern).map(({ container }) => container.name)).toEqual(names),
);

describe('set image', () => {
  it('changes the containers that are named, and all of them with *', () => {
    const { objects, images } = parseImages(['deployment', 'web', 'web=w:2', 'init=i:2']);
    expect(objects).toEqual(['deployment', 'web']);
    const { containers, initContainers } = merged(imagePatch(podSpec, images));
    expect([...containers, ...initContainers].map(({ image }) => image)).toEqual(['w:2', 'l:1', 'i:2']);
    const all = merged(imagePatch(podSpec, parseImages(['deployment/web', '*=x']).images));
    expect([...all.containers, ...all.initContainers].map(({ image }) => image)).toEqual(['x', 'x', 'x']);
  });

  it.each([
    [['pod', 'a'], 'say which image'],
    [['pod', 'a', 'web='], '"web=" has no image'],
    [['pod', 'a', 'web-'], '"web-" is not CONTAINER=IMAGE'],
    [['pod', 'a', '*=x', 'web=y'], 'all containers are already specified by *'],
    [['pod', 'web=y', 'a'], '"a" is neither KEY=VALUE nor KEY-'],
  ])('refuses %j', (words, message) => expect(() => parseImages(words)).toThrow(message));

  it('names the containers that there are', () =>
    expect(() => imagePatch(podSpec, new Map([['db', 'x']]))).toThrow(
      'unable to find container named "db"; there are web, web-log, init',
    ));
});

describe('set env', () => {
  it('sets and removes variables, and a value takes the place of a source', () => {
    expect(splitEnv(['deploy/web', 'B=2', 'A-'])).toEqual({ objects: ['deploy/web'], changes: ['B=2', 'A-'] });
    const patch = envPatch(podSpec, parseEnv(['B=2', 'A-', 'C=x=y']), { pattern: 'web', overwrite: true });
    expect(merged(patch!).containers[0]?.env).toEqual([
      { name: 'B', value: '2' },
      { name: 'C', value: 'x=y' },
    ]);
    expect(envPatch(podSpec, parseEnv(['A=1']), { pattern: 'none', overwrite: true })).toBeUndefined();
  });

  it('reads lines of standard input', () =>
    expect(parseEnv(['-', 'Z=1'], 'A=1 # one\n\nnothing\nB=2\n')).toEqual({
      set: [
        { name: 'A', value: '1 ' },
        { name: 'B', value: '2' },
        { name: 'Z', value: '1' },
      ],
      remove: [],
    }));

  it('takes the keys of a secret as variables that refer to it', () => {
    const source = { kind: 'Secret', name: 's', keys: ['my-key.x', 'other'] } as const;
    const change = withPrefix({ set: envFrom(source, ['my-key.x']), remove: [] }, 'P_');
    expect(change.set).toEqual([{ name: 'P_MY_KEY_X', valueFrom: { secretKeyRef: { name: 's', key: 'my-key.x' } } }]);
    expect(envFrom(source, [])).toHaveLength(2);
    expect(() => envFrom(source, ['none'])).toThrow('secret "s" has no key "none"');
  });

  it.each([
    [() => splitEnv(['A=1', 'web']), 'all resources must be specified before environment changes'],
    [() => parseEnv(['A=1', 'A-']), 'can not both modify and remove the same environment variable: "A"'],
    [() => parseEnv(['A']), '"A" is neither KEY=VALUE nor KEY-'],
    [() => parseEnv(['=x']), '"" is not a valid key name'],
    [
      () => envPatch(podSpec, parseEnv(['A=2']), { pattern: '*', overwrite: false }),
      "'A' already has a value (1), and --overwrite is false",
    ],
  ])('refuses what makes no sense (%#)', (act, message) => expect(act).toThrow(message));

  it('lists variables with their sources, and looks up values when it may', async () => {
    const of = { title: 'Deployment web', pattern: 'web' };
    expect(await listEnv(podSpec, of, { object: {}, namespace: 'n', client: undefined })).toEqual({
      lines: ['# Deployment web, container web', 'A=1', '# B from secret s, key k'],
      failures: [],
    });
    const fields = { valueFrom: { fieldRef: { fieldPath: "metadata.labels['a']" } } };
    const amount = { valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } };
    const unknown = { valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } };
    const container = {
      name: 'web',
      resources: { limits: { memory: '1537Ki' } },
      env: [
        { name: 'F', ...fields },
        { name: 'R', ...amount },
        { name: 'U', ...unknown },
      ],
    };
    const sources = { object: { metadata: { labels: { a: 'b' } } }, namespace: 'n', client: {} as never };
    const listed = await listEnv({ containers: [container] }, of, sources);
    expect(listed.lines.slice(1)).toEqual(['F=b', 'R=2', '# U from field path status.podIP']);
    expect(listed.failures).toEqual(['error retrieving reference for U: unsupported fieldPath: status.podIP']);
    expect(sourceText(amount)).toBe('resource field limits.memory');
  });
});

describe('set resources', () => {
  it('sets amounts of the matching containers', () => {
    const resources = parseResources({ limits: 'cpu=200m', requests: 'cpu=100m,memory=1Gi' });
    expect(merged(resourcesPatch(podSpec, 'web*', resources)).containers).toMatchObject([
      { resources: { limits: { cpu: '200m' }, requests: { cpu: '100m', memory: '1Gi' } } },
      { resources: { limits: { cpu: '200m' } } },
    ]);
  });

  it.each([
    [() => parseResources({}), 'say what to set: --limits or --requests'],
    [() => parseResources({ limits: 'cpu=x' }), '--limits: "x" is no amount of cpu'],
    [() => resourcesPatch(podSpec, 'db', {}), 'unable to find container named db; there are web, web-log, init'],
  ])('refuses (%#)', (act, message) => expect(act).toThrow(message));
});

describe('set selector', () => {
  it('replaces the labels of a Service', () => {
    const service = kindNamed('Service');
    const patch = selectorPatch(service, parseSelector('app=web,tier=front'), '7');
    expect(strategicMerge(service.message, { spec: { selector: { old: 'x' } } }, patch)).toEqual({
      metadata: { resourceVersion: '7' },
      spec: { selector: { app: 'web', tier: 'front' } },
    });
  });

  it.each([
    [() => parseSelector(''), 'one selector is required'],
    [() => parseSelector('app in (a,b)'), '"app" takes KEY=VALUE'],
    [() => selectorPatch(kindNamed('Deployment'), {}, undefined), 'setting a selector is only supported for services'],
  ])('refuses (%#)', (act, message) => expect(act).toThrow(message));
});

it.each([
  ['Pod', { spec: { a: 1 } }],
  ['Deployment', { spec: { template: { spec: { a: 1 } } } }],
  ['CronJob', { spec: { jobTemplate: { spec: { template: { spec: { a: 1 } } } } } }],
  ['PodTemplate', { template: { spec: { a: 1 } } }],
] as const)('changes the pod spec of a %s where it stands', (kind, patch) =>
  expect(ofPodSpec('done', () => ({ a: 1 })).patch(kindNamed(kind), {})).toEqual(patch),
);

it.each([
  [[], {}, 'name the objects'],
  [['deploy'], { all: true, selector: 'a=b' }, 'cannot set --all and --selector at the same time'],
  [['deploy/a'], { local: true, filename: ['x'] }, '--local changes manifests and asks no server'],
  [[], { local: true, filename: ['x'], dryRun: 'server' }, 'did you mean --dry-run=client?'],
] as const)('refuses %j with %j', (words, flags, message) => expect(() => checkSetFlags(words, flags)).toThrow(message));

it('refuses a kind without pods', () =>
  expect(() => ofPodSpec('done', () => ({})).patch(kindNamed('ConfigMap'), {})).toThrow('a configmap is not a pod'));
