import fc from 'fast-check';
import type { Affinity, LabelSelector, Node, Pod, PodAffinityTerm, TopologySpreadConstraint } from '../../api/generated/types.ts';
import { node, pod } from '../builders/index.ts';

/** What may happen to a cluster, one thing at a time; nodes and pods are drawn from a few, so that they meet. */
export type Step =
  | { readonly kind: 'node'; readonly which: number; readonly look: NodeLook }
  | { readonly kind: 'nodeGone'; readonly which: number }
  | { readonly kind: 'bound' | 'assumed'; readonly which: number; readonly on: number; readonly look: PodLook }
  | { readonly kind: 'changed'; readonly which: number; readonly labels: Record<string, string>; readonly leaving: boolean }
  | { readonly kind: 'gone'; readonly which: number }
  | { readonly kind: 'nominated'; readonly which: number; readonly on: number; readonly look: PodLook }
  | { readonly kind: 'withdrawn'; readonly which: number }
  | { readonly kind: 'namespace'; readonly name: string; readonly team: string | undefined }
  | { readonly kind: 'later'; readonly seconds: number }
  | { readonly kind: 'attempt'; readonly look: PodLook; readonly stays: boolean };

const few = <const T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
/** Nothing, far more often than something: a cluster where everything is said at once fits no pod. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: few(undefined) }, { weight: 2, arbitrary });

const often = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.oneof(few(undefined), arbitrary);

const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';

const nodeLook = fc.record({
  cpu: few('2', '4'),
  memory: few('4Gi', '8Gi'),
  pods: few('4', '20'),
  zone: few('a', 'b', 'c', undefined),
  disk: seldom(few('ssd', 'tape')),
  taint: seldom(
    few(
      { key: 'k', effect: 'NoSchedule' },
      { key: 'k', effect: 'PreferNoSchedule' },
      { key: 'x', effect: 'PreferNoSchedule', value: 'v' },
      { key: 'x', effect: 'NoExecute', value: 'v' },
    ),
  ),
  unschedulable: seldom(few(true)),
  ready: seldom(few('False', 'Unknown')),
  usage: often(fc.record({ cpu: few('500m', '3'), memory: few('1Gi', '3Gi', '7Gi') })),
  images: fc.subarray(['web:1', 'db:1', 'tool:1']),
  gpu: few('0', '2'),
});
export type NodeLook = typeof nodeLook extends fc.Arbitrary<infer T> ? T : never;

const selector = few<LabelSelector>(
  {},
  { matchLabels: { app: 'web' } },
  { matchLabels: { app: 'db' } },
  { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['x'] }] },
  {
    matchExpressions: [
      { key: 'app', operator: 'In', values: ['web', 'db'] },
      { key: 'tier', operator: 'Exists' },
    ],
  },
);
const podLabels = fc.record({ app: few('web', 'db'), tier: few('x', 'y') }, { requiredKeys: [] });
const topologyKey = few(zoneKey, hostKey, 'disk');
const term: fc.Arbitrary<PodAffinityTerm> = fc.record(
  {
    topologyKey,
    labelSelector: selector,
    namespaces: few<string[]>([], ['default'], ['other', 'default']),
    namespaceSelector: few<LabelSelector>({}, { matchLabels: { team: 'red' } }),
  },
  { requiredKeys: ['topologyKey', 'labelSelector'] },
);
const weighted = fc.record({ weight: few(1, 7, 50), podAffinityTerm: term });
const side = fc.record(
  {
    requiredDuringSchedulingIgnoredDuringExecution: fc.array(term, { maxLength: 2 }),
    preferredDuringSchedulingIgnoredDuringExecution: fc.array(weighted, { maxLength: 2 }),
  },
  { requiredKeys: [] },
);
const ssd = { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] };
const zoned = { matchExpressions: [{ key: zoneKey, operator: 'NotIn', values: ['a'] }] };
const nodeAffinity = few<NonNullable<Affinity['nodeAffinity']>>(
  { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [ssd, zoned] } },
  {
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight: 10, preference: ssd },
      { weight: 3, preference: zoned },
    ],
  },
);
const constraint: fc.Arbitrary<TopologySpreadConstraint> = fc
  .record(
    {
      topologyKey,
      maxSkew: few(1, 2),
      whenUnsatisfiable: few('DoNotSchedule', 'ScheduleAnyway'),
      labelSelector: selector,
      minDomains: few(1, 3),
      nodeAffinityPolicy: few('Honor', 'Ignore'),
      nodeTaintsPolicy: few('Honor', 'Ignore'),
    },
    { requiredKeys: ['topologyKey', 'maxSkew', 'whenUnsatisfiable', 'labelSelector'] },
  )
  .map((each) => (each.whenUnsatisfiable === 'DoNotSchedule' ? each : { ...each, minDomains: undefined }) as never);

const podLook = fc.record({
  namespace: few('default', 'default', 'other'),
  labels: podLabels,
  priority: few(0, 0, 10),
  cpu: few(undefined, '100m', '500m', '2'),
  memory: few(undefined, '100Mi', '1Gi'),
  gpu: seldom(few('1')),
  hostPort: seldom(
    few(
      { hostPort: 80, hostIP: '' },
      { hostPort: 80, hostIP: '10.0.0.1' },
      { hostPort: 80, hostIP: '10.0.0.2' },
      { hostPort: 53 },
    ),
  ),
  image: few('web:1', 'db:1', 'nowhere:1'),
  tolerations: few([], [], [{ key: 'k', operator: 'Exists' }], [{ operator: 'Exists' }]),
  nodeSelector: seldom(few({ disk: 'ssd' })),
  affinity: fc.record({ podAffinity: often(side), podAntiAffinity: often(side), nodeAffinity: seldom(nodeAffinity) }),
  spread: seldom(
    fc.uniqueArray(constraint, { maxLength: 2, selector: (each) => `${each.topologyKey} ${each.whenUnsatisfiable}` }),
  ),
  owner: seldom(few('rs-1', 'rs-2')),
  claim: seldom(few('shared', 'single', 'alone', 'waiting', 'nowhere', 'disk', 'disk2', 'folder')),
  nodeName: fc.oneof({ weight: 30, arbitrary: few(undefined) }, { weight: 1, arbitrary: few('n1') }),
});
export type PodLook = typeof podLook extends fc.Arbitrary<infer T> ? T : never;

const whichNode = fc.integer({ min: 0, max: 6 });
const whichPod = fc.integer({ min: 0, max: 11 });
const whichNominated = fc.integer({ min: 0, max: 2 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: few('node'), which: whichNode, look: nodeLook }) },
  { weight: 1, arbitrary: fc.record({ kind: few('nodeGone'), which: whichNode }) },
  { weight: 5, arbitrary: fc.record({ kind: few('bound', 'assumed'), which: whichPod, on: whichNode, look: podLook }) },
  { weight: 2, arbitrary: fc.record({ kind: few('changed'), which: whichPod, labels: podLabels, leaving: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: few('gone'), which: whichPod }) },
  { weight: 2, arbitrary: fc.record({ kind: few('nominated'), which: whichNominated, on: whichNode, look: podLook }) },
  { weight: 1, arbitrary: fc.record({ kind: few('withdrawn'), which: whichNominated }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: few('namespace'), name: few('default', 'other'), team: few(undefined, 'red', 'blue') }),
  },
  { weight: 3, arbitrary: fc.record({ kind: few('later'), seconds: few(1, 20, 100) }) },
  { weight: 8, arbitrary: fc.record({ kind: few('attempt'), look: podLook, stays: fc.boolean() }) },
);

/** Four nodes, and then anything. */
export const clusterHistory: fc.Arbitrary<readonly Step[]> = fc
  .tuple(fc.array(nodeLook, { minLength: 4, maxLength: 4 }), fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }))
  .map(([looks, steps]) => [...looks.map((look, which): Step => ({ kind: 'node', which, look })), ...steps]);

export function nodeFrom(name: string, look: NodeLook, now: number): Node {
  const labels = { ...(look.zone && { [zoneKey]: look.zone }), ...(look.disk && { disk: look.disk }) };
  const size = { cpu: look.cpu, memory: look.memory, pods: look.pods, 'example.com/gpu': look.gpu };
  let plain = node(name).labels(labels).capacity(size);
  if (look.unschedulable) plain = plain.unschedulable();
  if (look.usage) plain = plain.usage(look.usage, now);
  return plain
    .with(({ spec, status }) => {
      if (look.taint) spec!.taints = [look.taint];
      if (look.ready) status!.conditions = [{ type: 'Ready', status: look.ready }];
      status!.images = look.images.map((image) => ({ names: [image], sizeBytes: image.length * 1e8 }));
    })
    .build();
}

export function podFrom(name: string, look: PodLook): Pod {
  const requests = { cpu: look.cpu, memory: look.memory, 'example.com/gpu': look.gpu };
  const said = Object.entries(requests).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
  const ports = look.hostPort ? [{ containerPort: 1, protocol: 'TCP', ...look.hostPort }] : [];
  let plain = pod(name)
    .namespace(look.namespace)
    .labels(look.labels)
    .priority(look.priority)
    .container('main', { image: look.image, ports })
    .requests(Object.fromEntries(said))
    .spec({ tolerations: [...look.tolerations], affinity: withoutGaps(look.affinity) as Affinity });
  if (look.nodeSelector) plain = plain.nodeSelector(look.nodeSelector);
  if (look.spread) plain = plain.spec({ topologySpreadConstraints: look.spread.map(withoutGaps) });
  if (look.nodeName) plain = plain.on(look.nodeName);
  if (look.claim) plain = plain.volume({ name: 'data', volumeSource: { persistentVolumeClaim: { claimName: look.claim } } });
  return plain
    .with(({ metadata }) => {
      if (look.owner) metadata!.ownerReferences = [{ kind: 'ReplicaSet', name: look.owner, uid: look.owner, controller: true }];
    })
    .build();
}

function withoutGaps<T extends object>(given: T): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}
