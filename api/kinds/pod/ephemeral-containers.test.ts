import { describe, expect, it } from 'vitest';
import { messageFromJson } from '../../codec/json.ts';
import type { Pod } from '../../generated/types.ts';
import { defaultPod } from './defaults.ts';
import { checkNoEphemeral, podEphemeralContainers } from './ephemeral-containers.ts';
import { validatePod } from './validate.ts';

type Json = Record<string, unknown>;

function podWith(list: Json[], annotations: Json = {}): Pod {
  const spec = { containers: [{ name: 'app', image: 'i:1' }], volumes: [{ name: 'v', emptyDir: {} }], ephemeralContainers: list };
  const pod = messageFromJson<Pod>('berth.core.v1.Pod', { metadata: { name: 'p', namespace: 'n', annotations }, spec });
  defaultPod(pod);
  return pod;
}

const sh = (more: Json = {}): Json => ({ name: 'sh', image: 'busybox:1', ...more });

/** What the subresource makes of a list, and the rules that this breaks. */
function put(previous: Pod, sent: Pod): { next: Pod; broken: string[] } {
  const next = podEphemeralContainers.take(structuredClone(sent), structuredClone(previous));
  defaultPod(next);
  const violations = [...validatePod(next), ...podEphemeralContainers.validate(next, previous)];
  return { next, broken: violations.map(({ field, description }) => `${field}: ${description}`) };
}

describe('the ephemeralContainers subresource', () => {
  it('takes one more, and nothing else', () => {
    const previous = podWith([sh()]);
    const sent = podWith([sh(), sh({ name: 'more', targetContainerName: 'app', stdin: true, tty: true })]);
    sent.spec!.containers![0]!.image = 'other:2';
    const { next, broken } = put(previous, sent);
    expect(broken).toEqual([]);
    expect(next.spec?.containers).toEqual(previous.spec?.containers);
    expect(next.spec?.ephemeralContainers?.map((each) => each.ephemeralContainerCommon?.name)).toEqual(['sh', 'more']);
  });

  it.each([
    ['removed', [], 'existing ephemeral containers "sh" may not be removed'],
    ['changed', [sh({ image: 'other:1' })], 'existing ephemeral containers "sh" may not be changed'],
  ])('refuses one that is %s', (_how, list, why) => {
    expect(put(podWith([sh()]), podWith(list)).broken).toEqual([`spec.ephemeralContainers: forbidden: ${why}`]);
  });

  it.each([
    ['ports[0].containerPort', { ports: [{ containerPort: 80 }] }],
    ['resources.limits', { resources: { limits: { cpu: '1' } } }],
    ['livenessProbe', { livenessProbe: { exec: { command: ['x'] } } }],
    ['lifecycle.preStop.exec', { lifecycle: { preStop: { exec: { command: ['x'] } } } }],
    ['restartPolicy', { restartPolicy: 'Always' }],
    ['volumeMounts[0].subPath', { volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a' }] }],
  ])('refuses one with %s', (field, more) => {
    const expected = `spec.ephemeralContainers[0].${field}: forbidden: cannot be set for an Ephemeral Container`;
    expect(put(podWith([]), podWith([sh(more)])).broken).toContain(expected);
  });

  it('refuses a name that is taken, a target that is not there, and a static pod', () => {
    expect(put(podWith([]), podWith([sh({ name: 'app' })])).broken).toEqual([
      'spec.ephemeralContainers[0].name: duplicate value "app"',
    ]);
    expect(put(podWith([]), podWith([sh({ targetContainerName: 'web' })])).broken).toEqual([
      'spec.ephemeralContainers[0].targetContainerName: not found: "web"',
    ]);
    const mirror = podWith([], { 'kubernetes.io/config.mirror': 'abc' });
    expect(put(mirror, podWith([sh()])).broken).toEqual(['metadata: forbidden: static pods do not support ephemeral containers']);
  });

  it('is the only one: a pod is not made with them', () => {
    expect(checkNoEphemeral(podWith([sh()])).map(({ description }) => description)).toEqual([
      'forbidden: cannot be set on create',
    ]);
    expect(checkNoEphemeral(podWith([]))).toEqual([]);
  });
});
