import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import type { Pod, PodSpec } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { composeAdmission } from '../admission/admission.ts';
import { limitRangeRules } from '../admission/limit-range.ts';
import { mirrorPods } from '../admission/mirror-pods.ts';
import { podSecurityRules } from '../admission/pod-security.ts';
import { priorityRules } from '../admission/priority.ts';
import { runtimeClassRules } from '../admission/runtime-class.ts';
import { serviceAccountRules } from '../admission/service-account.ts';
import { createMemoryStorage } from '../storage/memory/memory-storage.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { createObject } from './create.ts';
import { KindStore } from './kind-store.ts';
import { decodeNew } from './repeated-specs.ts';

const quantity = (string: string) => ({ string });

const restricted = { 'pod-security.kubernetes.io/enforce': 'baseline', 'pod-security.kubernetes.io/warn': 'restricted' };

/** What rules read differs from one namespace to the next. */
const admission = composeAdmission([
  runtimeClassRules(async (name) => (name === 'gvisor' ? { overhead: { podFixed: { cpu: quantity('10m') } } } : undefined)),
  priorityRules({ get: async (name) => (name === 'high' ? { metadata: { name }, value: 7 } : undefined), list: async () => [] }),
  serviceAccountRules(async (namespace, name) => ({ metadata: { name }, imagePullSecrets: [{ name: `pull-${namespace}` }] })),
  limitRangeRules(async (namespace) =>
    namespace === 'b' ? [{ spec: { limits: [{ type: 'Container', defaultRequest: { cpu: quantity('100m') } }] } }] : undefined,
  ),
  podSecurityRules(async (name) => ({ metadata: { name, labels: name === 'c' ? restricted : {} } })),
  mirrorPods(async () => undefined),
]);

type Edit = (pod: Pod, spec: PodSpec) => void;

const container = (spec: PodSpec) => spec.containers![0]!;
const note = (pod: Pod, key: string) =>
  Object.assign(pod.metadata!, { annotations: { ...pod.metadata?.annotations, [key]: 'x' } });
const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} };

/** Of the metadata, and of the spec: both valid, noted and refused. */
const edits: readonly Edit[] = [
  () => {},
  (pod) => Object.assign(pod.metadata!, { namespace: 'b' }),
  (pod) => Object.assign(pod.metadata!, { namespace: 'c' }),
  (pod) => Object.assign(pod.metadata!, { labels: { app: 'db' } }),
  (pod) => Object.assign(pod.metadata!, { labels: { 'not/a/label': 'x' } }),
  (pod) => Object.assign(pod.metadata!, { selfLink: '/x' }),
  (pod) => Object.assign(pod.metadata!, { name: 'Not.A_Name' }),
  (pod) => note(pod, 'kubernetes.io/config.mirror'),
  (pod) => note(pod, 'container.seccomp.security.alpha.kubernetes.io/web'),
  (pod) => Object.assign(pod, { status: { phase: 'Running' } }),
  (_, spec) => Object.assign(spec, { nodeSelector: { 'beta.kubernetes.io/os': 'linux' } }),
  (_, spec) => Object.assign(spec, { topologySpreadConstraints: [{ ...spread, matchLabelKeys: ['app'] }] }),
  (_, spec) => Object.assign(spec, { topologySpreadConstraints: [spread] }),
  (_, spec) => Object.assign(spec, { volumes: [{ name: 'kube-api-access-00001', volumeSource: { emptyDir: {} } }] }),
  (_, spec) => Object.assign(spec, { automountServiceAccountToken: false }),
  (_, spec) => Object.assign(spec, { priorityClassName: 'high' }),
  (_, spec) => Object.assign(spec, { priorityClassName: 'none' }),
  (_, spec) => Object.assign(spec, { runtimeClassName: 'gvisor' }),
  (_, spec) => Object.assign(spec, { hostNetwork: true }),
  (_, spec) => Object.assign(spec, { restartPolicy: 'Sometimes' }),
  (_, spec) => Object.assign(spec, { imagePullSecrets: [{ name: '' }] }),
  (_, spec) =>
    Object.assign(container(spec), {
      env: [
        { name: 'A', value: '1' },
        { name: 'A', value: '2' },
      ],
    }),
  (_, spec) => Object.assign(container(spec), { resources: { limits: { memory: quantity('1500m'), cpu: quantity('1000m') } } }),
  (_, spec) => Object.assign(container(spec), { resources: { limits: { cpu: quantity('much') } } }),
  (_, spec) => Object.assign(container(spec), { volumeMounts: [{ name: 'missing', mountPath: '/x' }] }),
];

function podOf(chosen: readonly number[], name: string): Pod {
  const spec: PodSpec = {
    containers: [{ name: 'web', image: 'web:1', ports: [{ containerPort: 80 }] }],
    initContainers: [{ name: 'first', image: 'first', resources: { requests: { cpu: quantity('0.5') } } }],
  };
  const pod: Pod = { metadata: { name, namespace: 'a', labels: { app: 'web' } }, spec };
  for (const each of chosen) edits[each]!(pod, spec);
  return pod;
}

/** A server's part that creates pods of bytes, and tells what came of it. */
function creator(kind: Kind) {
  let made = 0;
  const uid = () => `${String(made++).padStart(5, '0')}-uid`;
  const cache = new KindCache(kind);
  cache.advance(Number.MAX_SAFE_INTEGER);
  const store = new KindStore(cache, { storage: createMemoryStorage(), now: () => new Date(0), random: () => 0, uid });
  const create = async (bytes: Uint8Array) => {
    try {
      const take = () => decodeNew(store, bytes, {});
      const { bytes: stored, warnings } = await createObject(store, admission, { user: 'u', manager: 'm', dryRun: false, take });
      return { stored: Buffer.from(stored as Uint8Array).toString('base64'), warnings };
    } catch (error) {
      const { code, message, violations } = error as { code: string; message: string; violations: unknown };
      return { code, message, violations };
    }
  };
  return { create, store };
}

const { repeats: _, ...pod } = kindNamed('Pod') as Kind;
const encode = (object: Pod): Buffer => encodeMessage('berth.core.v1.Pod', object);
const edited = fc.array(fc.nat({ max: edits.length - 1 }), { maxLength: 2 });

describe('pods whose specs come again and again', () => {
  it('are stored, refused and noted as if each came alone', async () => {
    const order = fc.array(fc.nat({ max: 3 }), { minLength: 8, maxLength: 16 });
    const sequence = fc.record({ variants: fc.array(edited, { minLength: 1, maxLength: 3 }), order });
    await fc.assert(
      fc.asyncProperty(sequence, async ({ variants, order }) => {
        const [own, plain] = [creator(kindNamed('Pod') as Kind), creator(pod as Kind)];
        for (const [i, each] of order.entries()) {
          const bytes = encode(podOf(variants[each % variants.length]!, `pod-${i}`));
          expect(await own.create(bytes)).toEqual(await plain.create(bytes));
        }
      }),
      { numRuns: 60 },
    );
  });

  it.each(edits.map((edit, i) => [i, edit] as const))('are created alike after edit %i', async (i) => {
    const [own, plain] = [creator(kindNamed('Pod') as Kind), creator(pod as Kind)];
    for (let k = 0; k < 5; k++) {
      const bytes = encode(podOf(k === 3 ? [] : [i], `pod-${k}`));
      expect(await own.create(bytes)).toEqual(await plain.create(bytes));
    }
  });

  it('are not validated any more when one was admitted alike', async () => {
    let validated = 0;
    const kind = kindNamed('Pod') as Kind;
    const validate = (object: Pod) => {
      validated++;
      return kind.validate(object);
    };
    const { create } = creator({ ...kind, validate });
    const counts: number[] = [];
    for (let k = 0; k < 12; k++) {
      await create(encode(podOf(k < 6 ? [] : [1], `pod-${k}`)));
      counts.push(validated);
    }
    // The first two are unknown; in the other namespace admission completes the third in another way.
    expect(counts).toEqual([1, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4]);
  });

  it('share what was decoded of them, which is frozen, and get parts of their own that admission may change', async () => {
    const { create, store } = creator(kindNamed('Pod') as Kind);
    for (let k = 0; k < 3; k++) await create(encode(podOf([], `pod-${k}`)));
    const [one, other] = ['x', 'y'].map((name) => decodeNew(store, encode(podOf([], name)), {}));
    expect(one!.spec).toBe(other!.spec);
    expect(Object.isFrozen((one!.spec as PodSpec).containers![0])).toBe(true);
    const spec = store.specs!.of(one!.spec)!.complete() as PodSpec;
    expect(Object.isFrozen(spec.containers![0])).toBe(false);
  });

  it('are kept up to 64 specs, the last ones', async () => {
    const { create, store } = creator(kindNamed('Pod') as Kind);
    const bytesOf = (i: number, name: string): Buffer =>
      encode({ metadata: { name, namespace: 'a' }, spec: { hostname: `h${i}`, containers: [{ name: 'c', image: 'i' }] } });
    for (let i = 0; i < 70; i++) for (let k = 0; k < 2; k++) await create(bytesOf(i, `pod-${i}-${k}`));
    expect(store.specs!.size).toBe(64);
    const isShared = (i: number) => store.specs!.of(decodeNew(store, bytesOf(i, 'x'), {}).spec) !== undefined;
    expect([isShared(0), isShared(69)]).toEqual([false, true]);
  });
});
