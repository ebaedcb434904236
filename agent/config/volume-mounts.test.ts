import { describe, expect, it } from 'vitest';
import type { VolumeMount } from '../../api/generated/types.ts';
import { computeMounts, computeSubPaths } from './volume-mounts.ts';

const volumes = new Map([
  ['data', { hostPath: '/pods/u/data', readOnly: false }],
  ['keys', { hostPath: '/pods/u/keys', readOnly: true }],
]);
const env = new Map([
  ['NAME', 'web-0'],
  ['UP', '../..'],
  ['ROOT', '/etc'],
  ['EMPTY', ''],
]);
const mounting = (...volumeMounts: VolumeMount[]) => ({ name: 'main', volumeMounts });

describe('the parts of volumes that a container mounts', () => {
  it.each([
    [{ subPath: 'a/b' }, 'a/b'],
    [{ subPath: 'a/$(NAME)' }, 'a/$(NAME)'],
    [{ subPathExpr: 'a/$(NAME)' }, 'a/web-0'],
    [{ subPathExpr: 'a/$$(NAME)' }, 'a/$(NAME)'],
    [{ subPathExpr: 'a$(EMPTY)' }, 'a'],
  ])('of %j is %j', (mount, subPath) => {
    const wanted = computeSubPaths(mounting({ name: 'keys' }, { name: 'data', ...mount }), volumes, env);
    expect(wanted).toEqual([{ index: 1, volumeName: 'data', volumePath: '/pods/u/data', subPath }]);
  });

  it.each([
    ['$(MISSING)', 'no variable "MISSING"'],
    ['x/$(UP)/y', 'not a path inside of the volume'],
    ['$(ROOT)', 'not a path inside of the volume'],
  ])('is refused for the expression %s', (subPathExpr, why) => {
    expect(() => computeSubPaths(mounting({ name: 'data', subPathExpr }), volumes, env)).toThrow(why);
  });

  it('is none where the whole volume is wanted, or an expression comes to nothing', () => {
    expect(computeSubPaths(mounting({ name: 'data' }, { name: 'data', subPathExpr: '$(EMPTY)' }), volumes, env)).toEqual([]);
  });
});

describe('the mounts of a container', () => {
  it('are whole volumes or parts of them, read-only where the volume or the mount says so', () => {
    const container = mounting(
      { name: 'data', mountPath: '/data', mountPropagation: 'Bidirectional' },
      { name: 'keys', mountPath: '/keys', mountPropagation: 'HostToContainer' },
      { name: 'data', mountPath: '/part', subPath: 'p', readOnly: true, recursiveReadOnly: 'Enabled' },
      { name: 'data', mountPath: '/other', readOnly: true, recursiveReadOnly: 'IfPossible', mountPropagation: 'None' },
    );
    const places = computeMounts(container, volumes, new Map([[2, '/pods/u/part']]));
    expect(places).toEqual([
      { hostPath: '/pods/u/data', containerPath: '/data', readOnly: false, recursive: 'no', propagation: 'rshared' },
      { hostPath: '/pods/u/keys', containerPath: '/keys', readOnly: true, recursive: 'no', propagation: 'rslave' },
      { hostPath: '/pods/u/part', containerPath: '/part', readOnly: true, recursive: 'required', propagation: 'rprivate' },
      { hostPath: '/pods/u/data', containerPath: '/other', readOnly: true, recursive: 'preferred', propagation: 'rprivate' },
    ]);
  });

  it('of a volume that the pod does not have are refused', () => {
    expect(() => computeMounts(mounting({ name: 'none', mountPath: '/x' }), volumes, new Map())).toThrow('volume "none"');
  });
});
