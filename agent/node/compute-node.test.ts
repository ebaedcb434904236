import { describe, expect, it } from 'vitest';
import type { LocalImage } from '../runtime/runtime.ts';
import { computeNodeStatus } from './compute-node.ts';

const inventory = {
  capacity: { cpu: { string: '4' }, memory: { string: '8Gi' } },
  allocatable: { cpu: { string: '4' }, memory: { string: '8Gi' } },
  addresses: [],
  nodeInfo: {},
};
const imagesOf = (images: readonly LocalImage[]) =>
  computeNodeStatus(
    {
      inventory,
      runtimeVersion: 'docker://1',
      engineError: undefined,
      agentVersion: '1',
      images,
      usage: undefined,
      nowMs: 0,
    },
    undefined,
  ).images;

describe('the images of a node', () => {
  it('are told with tags and digests, the largest first', () => {
    const small = { id: 'b', names: ['small:1'], sizeBytes: 1 };
    const large = { id: 'a', names: ['large:1', 'large@sha256:0a'], sizeBytes: 2 };
    expect(imagesOf([small, large])).toEqual([
      { names: ['large:1', 'large@sha256:0a'], sizeBytes: 2 },
      { names: ['small:1'], sizeBytes: 1 },
    ]);
  });

  it('are at most 50 with at most 5 names each, and none without a name', () => {
    const names = Array.from({ length: 9 }, (_, i) => `web:${i}`);
    const images = Array.from({ length: 60 }, (_, i) => ({ id: `${i}`, names, sizeBytes: i }));
    const told = imagesOf([...images, { id: 'nameless', names: [], sizeBytes: 1_000 }]) ?? [];
    expect(told).toHaveLength(50);
    expect([told[0]?.sizeBytes, told[49]?.sizeBytes]).toEqual([59, 10]);
    expect(told[0]?.names).toEqual(names.slice(0, 5));
  });
});

it('the versions of a node say that it has no proxy, in a field that Kubernetes requires', () => {
  const facts = { inventory, runtimeVersion: undefined, engineError: undefined, agentVersion: '1', images: [] };
  expect(computeNodeStatus({ ...facts, usage: undefined, nowMs: 0 }, undefined).nodeInfo).toEqual({
    kubeletVersion: '1',
    kubeProxyVersion: '',
  });
});

const base = {
  inventory,
  runtimeVersion: 'docker://1',
  engineError: undefined,
  agentVersion: '1',
  images: [],
  usage: undefined,
  nowMs: 0,
};

describe('a disk', () => {
  it.each([
    [5, 'False', 'KubeletHasNoDiskPressure'],
    [4, 'True', 'KubeletHasDiskPressure'],
  ])('of the images with %i percent left is pressure: %s', (availableBytes, status, reason) => {
    const { conditions } = computeNodeStatus({ ...base, imageDisk: { capacityBytes: 100, availableBytes } }, undefined);
    expect(conditions?.find(({ type }) => type === 'DiskPressure')).toMatchObject({ status, reason });
  });
});

it.each([
  [undefined, undefined],
  ['', 'False RouteCreated'],
  ['the range is in use', 'True NoRouteCreated'],
])('says whether the network of pods can be made (%j)', (networkError, expected) => {
  const { conditions } = computeNodeStatus({ ...base, networkError }, undefined);
  const condition = conditions?.find(({ type }) => type === 'NetworkUnavailable');
  expect(condition && `${condition.status} ${condition.reason}`).toBe(expected);
});
