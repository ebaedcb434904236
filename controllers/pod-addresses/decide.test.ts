import { describe, expect, it } from 'vitest';
import type { Pod, PodAddressSlice } from '../../api/generated/types.ts';
import { type IpBlock, parseIpBlock } from '../../api/meta/ip-block.ts';
import type { SlicePlan } from '../slices/write.ts';
import { decidePodAddressSlices, type NamespaceView, podAddressOf } from './decide.ts';
import { type AddressedPod, namespaceOf, podOf } from './test-pods.ts';

const ranges: Readonly<Record<string, IpBlock>> = {
  n1: parseIpBlock('10.42.0.0/22')!,
  n2: parseIpBlock('10.42.8.0/24')!,
  n6: parseIpBlock('fd00::/64')!,
};
const rangesOf = (node: string): IpBlock[] => (ranges[node] ? [ranges[node]] : []);
const base: NamespaceView = { namespace: namespaceOf(), isNeeded: true, pods: [], slices: [], rangesOf };

let made = 0;
/** The slices after a plan is carried out. */
function carriedOut(slices: readonly PodAddressSlice[], plan: SlicePlan<PodAddressSlice>): PodAddressSlice[] {
  const gone = new Set(plan.delete.map(({ metadata }) => metadata?.name));
  const updated = new Map(plan.update.map((slice) => [slice.metadata?.name, slice]));
  const named = plan.create.map((slice) => ({ ...slice, metadata: { ...slice.metadata, name: `s${++made}` } }));
  const left = slices.filter(({ metadata }) => !gone.has(metadata?.name));
  return [...left.map((slice) => updated.get(slice.metadata?.name) ?? slice), ...named];
}
const many = (count: number, facts: AddressedPod = {}): Pod[] => Array.from({ length: count }, (_, i) => podOf(`p${i}`, facts));
const slicesFor = (pods: readonly Pod[]): PodAddressSlice[] => carriedOut([], decidePodAddressSlices({ ...base, pods }));
const sizes = (slices: readonly PodAddressSlice[]): number[] => slices.map(({ pods = [] }) => pods.length);
const writes = (view: Partial<NamespaceView>): number[] => {
  const plan = decidePodAddressSlices({ ...base, ...view });
  return [plan.create.length, plan.update.length, plan.delete.length];
};

describe('the slice of a namespace', () => {
  it('has its labels, and each pod with its labels, addresses and node', () => {
    expect(decidePodAddressSlices({ ...base, pods: [podOf('p1')] }).create).toEqual([
      {
        metadata: { generateName: 'pods-', namespace: 'shop' },
        namespaceLabels: { team: 'a' },
        pods: [{ name: 'p1', uid: 'uid-p1', labels: { app: 'web' }, podIPs: ['10.42.0.1'], nodeName: 'n1' }],
      },
    ]);
  });

  it.each<[string, AddressedPod, string[] | undefined]>([
    ['runs', {}, ['10.42.0.1']],
    ['has not begun, and has an address', { status: { phase: 'Pending' } }, ['10.42.0.1']],
    ['has ended', { status: { phase: 'Succeeded' } }, undefined],
    ['has failed', { status: { phase: 'Failed' } }, undefined],
    ['has no address yet', { status: { podIP: '' } }, undefined],
    ['has no node', { spec: { nodeName: '' } }, undefined],
    ['is on the network of its host', { spec: { hostNetwork: true } }, undefined],
    ['has an address of the engine', { status: { podIP: '172.17.0.2' } }, undefined],
    ['has an address of another node', { status: { podIP: '10.42.8.1' } }, undefined],
    ['is on a node without a range', { spec: { nodeName: 'n9' } }, undefined],
    ['has an address of IPv6', { spec: { nodeName: 'n6' }, status: { podIP: 'fd00::1' } }, ['fd00::1']],
    ['has two addresses', { status: { podIPs: [{ ip: '10.42.0.1' }, { ip: 'fd00::1' }] } }, ['10.42.0.1']],
    ['has a text for an address', { status: { podIP: '10.42.0' } }, undefined],
  ])('of a pod that %s has its own addresses alone', (_title, facts, expected) => {
    expect(podAddressOf(podOf('p1', facts), rangesOf)?.podIPs).toEqual(expected);
  });

  it('has the ports of a pod that have names, those of sidecars too', () => {
    const ports = [
      { name: 'web', protocol: 'TCP', containerPort: 80 },
      { protocol: 'TCP', containerPort: 81 },
    ];
    const sidecar = { name: 's', restartPolicy: 'Always', ports: [{ name: 'dns', protocol: 'UDP', containerPort: 53 }] };
    const initial = { name: 'i', ports: [{ name: 'never', protocol: 'TCP', containerPort: 1 }] };
    const spec = { containers: [{ name: 'c', ports }], initContainers: [sidecar, initial] };
    expect(podAddressOf(podOf('p1', { spec }), rangesOf)?.ports).toEqual([
      { name: 'web', protocol: 'TCP', containerPort: 80 },
      { name: 'dns', protocol: 'UDP', containerPort: 53 },
    ]);
  });

  it('says nothing of labels that are not there, as what is stored says nothing', () => {
    const plan = decidePodAddressSlices({ ...base, namespace: namespaceOf('shop', {}), pods: [podOf('p1', { labels: {} })] });
    expect(plan.create[0]).not.toHaveProperty('namespaceLabels');
    expect(plan.create[0]?.pods?.[0]).not.toHaveProperty('labels');
  });
});

describe('the slices of a namespace', () => {
  it('are none without pods, without a policy, and of a namespace that is gone', () => {
    const pods = many(3);
    const slices = slicesFor(pods);
    expect(writes({ pods: [] })).toEqual([0, 0, 0]);
    expect(writes({ pods, isNeeded: false })).toEqual([0, 0, 0]);
    expect(writes({ pods, slices, isNeeded: false })).toEqual([0, 0, 1]);
    expect(writes({ pods: [], slices })).toEqual([0, 0, 1]);
    expect(writes({ pods, slices, namespace: undefined })).toEqual([0, 0, 1]);
  });

  it('have 100 pods at most, and stay as they are while nothing changes', () => {
    const pods = many(250);
    const slices = slicesFor(pods);
    expect(sizes(slices)).toEqual([100, 100, 50]);
    expect(writes({ pods: pods.toReversed(), slices })).toEqual([0, 0, 0]);
  });

  it('change where a pod changes, goes or comes', () => {
    const pods = many(250);
    const slices = slicesFor(pods);
    const relabelled = pods.with(120, podOf('p120', { labels: { app: 'other' } }));
    expect(writes({ pods: relabelled, slices })).toEqual([0, 1, 0]);
    expect(writes({ pods: pods.toSpliced(120, 1), slices })).toEqual([0, 1, 0]);
    expect(writes({ pods: [...pods, podOf('p300')], slices })).toEqual([0, 1, 0]);
    const after = carriedOut(slices, decidePodAddressSlices({ ...base, pods: relabelled, slices }));
    expect(after[1]?.pods?.[20]?.labels).toEqual({ app: 'other' });
  });

  it('are all rewritten when the labels of the namespace change', () => {
    const pods = many(250);
    const slices = slicesFor(pods);
    const plan = decidePodAddressSlices({ ...base, pods, slices, namespace: namespaceOf('shop', { team: 'b' }) });
    expect(plan.update.map(({ namespaceLabels }) => namespaceLabels)).toEqual([{ team: 'b' }, { team: 'b' }, { team: 'b' }]);
    expect(plan.update.map(({ metadata }) => metadata?.name)).toEqual(slices.map(({ metadata }) => metadata?.name));
  });

  it('are put right when another client wrote them', () => {
    const [slice] = slicesFor([podOf('p1')]);
    const forged: PodAddressSlice = {
      metadata: { name: 'x' },
      pods: [{ name: 'z', uid: 'z', podIPs: ['10.42.0.9'], nodeName: 'n' }],
    };
    expect(writes({ pods: [podOf('p1')], slices: [slice!, forged] })).toEqual([0, 0, 1]);
    expect(writes({ pods: [podOf('p1')], slices: [{ ...slice, pods: [{ ...slice?.pods?.[0], podIPs: [] }] }] })).toEqual([
      0, 1, 0,
    ]);
  });

  it('of a namespace on its way out change and go, and none comes', () => {
    const namespace = { metadata: { ...namespaceOf().metadata, deletionTimestamp: { seconds: 1 } } };
    const slices = slicesFor(many(2));
    expect(writes({ namespace, pods: many(2) })).toEqual([0, 0, 0]);
    expect(writes({ namespace, pods: many(1), slices })).toEqual([0, 1, 0]);
  });

  it('have fewer pods where the labels of pods are long', () => {
    const labels = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`${'k'.repeat(59)}${i}`, 'v'.repeat(63)]));
    expect(sizes(slicesFor(many(10, { labels })))).toEqual([4, 4, 2]);
  });
});
