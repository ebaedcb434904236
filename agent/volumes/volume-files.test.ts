import { describe, expect, it } from 'vitest';
import type { DownwardAPIVolumeFile, PodSpec, ProjectedVolumeSource } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { configMapFiles, downwardFiles, type FilesInput, type FilesResult, insidePath, projectedFiles } from './volume-files.ts';

const web = pod('web')
  .uid('u1')
  .labels({ tier: 'front', app: 'web' })
  .annotations({ note: 'a "quoted"\ttext\nof\u0001 läng\u200b th\\', 'example.com/x': 'y' })
  .container('main', { resources: { limits: { cpu: { string: '1500m' } }, requests: { memory: { string: '32Mi' } } } })
  .initContainer('before', { resources: { limits: { memory: { string: '1Gi' } } } })
  .build();
const input: FilesInput = {
  pod: web,
  configMaps: new Map([['cm', { data: { a: '1', ['__proto__']: 'p' }, binaryData: { b: Buffer.from([255]) } }]]),
  secrets: new Map([['s', { data: { token: Buffer.from('t') } }]]),
  allocatable: { cpuMilli: 4_000, memoryBytes: 1024 ** 3 },
};

/** The files by their paths: "text mode". */
function shown(result: FilesResult): Record<string, string> | string {
  if ('reason' in result) return `${result.reason}: ${result.message}`;
  return Object.fromEntries(result.map(({ path, data, mode }) => [path, `${Buffer.from(data).toString()} ${mode.toString(8)}`]));
}

const field = (fieldPath: string): DownwardAPIVolumeFile => ({ path: 'f', fieldRef: { fieldPath } });
const resource = (name: string, containerName: string, divisor = '0'): DownwardAPIVolumeFile => ({
  path: 'f',
  resourceFieldRef: { resource: name, containerName, divisor: { string: divisor } },
});

describe('files of the pod itself', () => {
  it.each([
    [field('metadata.name'), 'web'],
    [field('metadata.namespace'), 'default'],
    [field('metadata.uid'), 'u1'],
    [field('metadata.labels'), 'app="web"\ntier="front"'],
    [field("metadata.labels['tier']"), 'front'],
    [field("metadata.labels['none']"), ''],
    [field("metadata.annotations['example.com/x']"), 'y'],
    [field('metadata.annotations'), 'example.com/x="y"\nnote="a \\"quoted\\"\\ttext\\nof\\x01 läng\\u200b th\\\\"'],
    [resource('limits.cpu', 'main'), '2'],
    [resource('limits.cpu', 'main', '1m'), '1500'],
    [resource('requests.memory', 'main', '1Mi'), '32'],
    [resource('limits.memory', 'main', '1Mi'), '1024'],
    [resource('limits.memory', 'before'), String(1024 ** 3)],
  ])('show %j as %j', (item, text) => {
    expect(shown(downwardFiles([item], 0o400, input))).toEqual({ f: `${text} 400` });
  });

  it.each([
    [field('status.podIP'), 'invalid: field path "status.podIP" is not supported in volumes'],
    [field('metadata.constructor'), 'invalid: field path "metadata.constructor" is not supported in volumes'],
    [resource('limits.cpu', 'none'), 'invalid: resourceFieldRef names container "none", which the pod does not have'],
    [{ ...field('metadata.name'), path: '../x' }, 'invalid: path "../x" leaves the volume'],
  ])('cannot show %j', (item, why) => {
    expect(shown(downwardFiles([item], undefined, input))).toBe(why);
  });
});

describe('files of objects', () => {
  it('are only keys that the object has itself', () => {
    const items = [{ key: 'toString', path: 'x' }];
    expect(shown(configMapFiles('cm', { items }, input))).toBe('not-found: config map "cm" has no key "toString"');
    expect(shown(configMapFiles('cm', { items, optional: true }, input))).toEqual({});
  });

  it.each([
    ['a', 'a'],
    ['a/b', 'a/b'],
    ['./a//b/', 'a/b'],
    ['a..b/c..', 'a..b/c..'],
    ['...', undefined],
    ['..', undefined],
    ['', undefined],
    ['/', undefined],
    ['x'.repeat(255), 'x'.repeat(255)],
    ['x'.repeat(256), undefined],
    ['é'.repeat(128), undefined],
    [`${'x/'.repeat(2_047)}x`, `${'x/'.repeat(2_047)}x`],
    [`${'x/'.repeat(2_048)}x`, undefined],
  ])('stand inside of their volume: %j is %j', (path, plain) => {
    expect(insidePath(path)).toBe(plain);
  });
});

describe('a projected volume', () => {
  const source: ProjectedVolumeSource = {
    defaultMode: 0o440,
    sources: [
      { configMap: { localObjectReference: { name: 'cm' }, items: [{ key: 'a', path: 'maps/a', mode: 0o600 }] } },
      { secret: { localObjectReference: { name: 's' } } },
      { downwardAPI: { items: [{ path: 'pod/name', fieldRef: { fieldPath: 'metadata.name' } }] } },
      { configMap: { localObjectReference: { name: 'none' }, optional: true } },
    ],
  };

  it('puts several sources into one folder, with the modes of the items and of the volume', () => {
    expect(shown(projectedFiles(source, input))).toEqual({ 'maps/a': '1 600', token: 't 440', 'pod/name': 'web 440' });
  });

  it('waits for a source that does not exist, and refuses one that is not supported', () => {
    const none = { secret: { localObjectReference: { name: 'none' } } };
    expect(shown(projectedFiles({ sources: [none] }, input))).toBe('not-found: secret "none" does not exist');
    expect(shown(projectedFiles({ sources: [{ clusterTrustBundle: {} }] }, input))).toBe(
      'unsupported: source clusterTrustBundle is not supported',
    );
  });
});

describe("a token of the pod's account", () => {
  const source = { path: 'token', expirationSeconds: 600 };
  const tokens = new Map([['600 ', { token: 'eyJ' }]]);
  const filesOf = (spec: PodSpec = {}, more = {}) =>
    projectedFiles(
      { sources: [{ serviceAccountToken: { ...source, ...more } }], defaultMode: 0o444 },
      { ...input, tokens, pod: { ...web, spec: { ...web.spec, ...spec } } },
    );
  const file = (mode: number, uid?: number) => [
    { path: 'token', data: Buffer.from('eyJ'), mode, ...(uid !== undefined && { uid }) },
  ];

  it.each<[string, PodSpec, object[]]>([
    ["has the volume's mode where neither a user nor a group is set", {}, file(0o444)],
    ['is for its owner where there is a group, which may read it too', { securityContext: { fsGroup: 7 } }, file(0o600)],
    ['belongs to the user of the pod', { securityContext: { runAsUser: 1000 } }, file(0o600, 1000)],
    [
      'belongs to the user that all containers name',
      { initContainers: [], containers: [1, 2].map((n) => ({ name: `c${n}`, securityContext: { runAsUser: 5 } })) },
      file(0o600, 5),
    ],
    [
      "has the volume's mode where the pod's users are others on the machine",
      { hostUsers: false, securityContext: { runAsUser: 1000, fsGroup: 7 } },
      file(0o444),
    ],
    [
      "has the volume's mode where containers run as different users",
      { initContainers: [], containers: [1, 2].map((n) => ({ name: `c${n}`, securityContext: { runAsUser: n } })) },
      file(0o444),
    ],
  ])('%s', (_, spec, files) => {
    expect(filesOf(spec)).toEqual(files);
  });

  it('that is not there yet is waited for, and says why', () => {
    expect(shown(filesOf({}, { audience: 'vault' }))).toBe('not-found: there is no token');
    tokens.set('600 bank', { problem: 'cannot get a token: x' } as never);
    expect(shown(filesOf({}, { audience: 'bank' }))).toBe('not-found: cannot get a token: x');
    expect(shown(filesOf({}, { path: '../token' }))).toBe('invalid: path "../token" leaves the volume');
  });
});
