import { describe, expect, it } from 'vitest';
import { messageFromJson } from '../../codec/json.ts';
import type { Pod } from '../../generated/types.ts';
import { defaultPod } from './defaults.ts';
import { podLifecycle } from './lifecycle.ts';
import { podResize } from './resize.ts';

type Json = Record<string, unknown>;

function podOf(resources: Json, more: { container?: Json; spec?: Json; annotations?: Json } = {}): Pod {
  const container = { name: 'c', image: 'i:1', resources, ...more.container };
  const metadata = { name: 'p', namespace: 'n', annotations: more.annotations ?? {} };
  const pod = messageFromJson<Pod>('berth.core.v1.Pod', { metadata, spec: { containers: [container], ...more.spec } });
  defaultPod(pod);
  podLifecycle.prepareForCreate?.(pod);
  return pod;
}

/** What the subresource makes of an object, and the rules that this breaks. */
function resize(previous: Pod, sent: Pod): { next: Pod; broken: string[] } {
  const next = podResize.take(structuredClone(sent), structuredClone(previous));
  defaultPod(next);
  return { next, broken: podResize.validate(next, previous).map(({ field, description }) => `${field}: ${description}`) };
}

const burstable = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '128Mi' } };

describe('the resize subresource', () => {
  it('takes the resources of containers and sidecars, and nothing else', () => {
    const initContainers = [{ name: 's', image: 'i:1', restartPolicy: 'Always', resources: { requests: { cpu: '10m' } } }];
    const previous = podOf(burstable, { spec: { initContainers } });
    const sent = structuredClone(previous);
    sent.metadata!.labels = { no: 'way' };
    sent.spec!.containers![0]!.image = 'other:2';
    sent.spec!.activeDeadlineSeconds = 5;
    sent.spec!.containers![0]!.resources = {
      requests: { cpu: { string: '150m' }, memory: { string: '64Mi' } },
      limits: burstableLimits,
    };
    sent.spec!.initContainers![0]!.resources = { requests: { cpu: { string: '20m' } } };
    const { next, broken } = resize(previous, sent);
    expect(broken).toEqual([]);
    const expected = structuredClone(previous);
    expected.spec!.containers![0]!.resources!.requests!.cpu = { string: '150m' };
    expected.spec!.initContainers![0]!.resources!.requests!.cpu = { string: '20m' };
    expect(next).toEqual(expected);
  });

  const burstableLimits = { cpu: { string: '200m' }, memory: { string: '128Mi' } };

  it.each([
    ['a larger limit', { ...burstable, limits: { cpu: '400m', memory: '256Mi' } }],
    ['a smaller limit', { requests: { cpu: '50m', memory: '32Mi' }, limits: { cpu: '100m', memory: '64Mi' } }],
    [
      'the same amounts, written otherwise',
      { requests: { cpu: '0.1', memory: '65536Ki' }, limits: { cpu: '0.2', memory: '128Mi' } },
    ],
  ])('accepts %s', (_what, resources) => {
    expect(resize(podOf(burstable), podOf(resources)).broken).toEqual([]);
  });

  it.each([
    [
      'a limit that is gone',
      podOf({ requests: burstable.requests, limits: { cpu: '200m' } }),
      ['spec.containers[0].resources.limits[memory]: forbidden: resource limits cannot be removed'],
    ],
    [
      'a request that is gone',
      podOf({ requests: { cpu: '100m' } }),
      [
        'spec.containers[0].resources.limits[cpu]: forbidden: resource limits cannot be removed',
        'spec.containers[0].resources.limits[memory]: forbidden: resource limits cannot be removed',
        'spec.containers[0].resources.requests[memory]: forbidden: resource requests cannot be removed',
      ],
    ],
    [
      'another resource',
      podOf({ ...burstable, limits: { ...burstable.limits, 'ephemeral-storage': '1Gi' } }),
      ['spec.containers[0].resources.limits.ephemeral-storage: forbidden: only cpu and memory resources are mutable'],
    ],
    [
      'another resize policy',
      podOf(burstable, { container: { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] } }),
      ['spec.containers[0].resizePolicy: forbidden: only cpu and memory resources are mutable'],
    ],
    [
      'a new class of quality',
      podOf({ limits: { cpu: '200m', memory: '128Mi' } }),
      ['spec: invalid value "Guaranteed": Pod QOS Class may not change as a result of resizing'],
    ],
    [
      'containers by other names',
      podOf(burstable, { container: { name: 'other' } }),
      ['spec.containers: forbidden: containers may not be added, removed, renamed or reordered on resize'],
    ],
  ])('refuses %s', (_what, sent, expected) => {
    expect(resize(podOf(burstable), sent).broken).toEqual(expected);
  });

  it('refuses a change of an init container that is no sidecar, and of a static pod', () => {
    const init = (cpu: string) => ({ spec: { initContainers: [{ name: 'i', image: 'i:1', resources: { requests: { cpu } } }] } });
    expect(resize(podOf(burstable, init('10m')), podOf(burstable, init('20m'))).broken).toEqual([
      'spec.initContainers[0].resources: forbidden: resources for non-sidecar init containers are immutable',
    ]);
    const mirror = podOf(burstable, { annotations: { 'kubernetes.io/config.mirror': 'abc' } });
    expect(resize(mirror, mirror).broken).toEqual(['metadata: forbidden: static pods cannot be resized']);
  });
});
