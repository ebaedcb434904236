import fc from 'fast-check';
import { fromJson } from '../../../api/codec/json.ts';
import { encodeMessage } from '../../../api/codec/message.ts';
import { kinds } from '../../../api/kinds/index.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { Json, JsonObject } from '../../../api/meta/merge-patch.ts';
import { names, strangeTexts } from './words.ts';

const selector = { matchLabels: { app: 'web' } };
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'x' }] } };
/** It has no rules, so it is never called. */
const webhook = {
  name: 'a.example.com',
  clientConfig: { url: 'https://a.example.com' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
};
const once = { spec: { ...template.spec, restartPolicy: 'Never' } };

/** What is required besides a name; a kind that is not here needs nothing. */
const required: Readonly<Record<string, JsonObject>> = {
  ReplicationController: { spec: { selector: selector.matchLabels, template } },
  ReplicaSet: { spec: { selector, template } },
  Deployment: { spec: { selector, template } },
  StatefulSet: { spec: { selector, template, serviceName: 'a' } },
  DaemonSet: { spec: { selector, template } },
  ControllerRevision: { revision: 1, data: { spec: {} } },
  Job: { spec: { template: once } },
  CronJob: { spec: { schedule: '@hourly', jobTemplate: { spec: { template: once } } } },
  PodTemplate: { template },
  HorizontalPodAutoscaler: { spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' }, maxReplicas: 3 } },
  Service: { spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } },
  EndpointSlice: { addressType: 'IPv4', endpoints: [{ addresses: ['10.42.0.5'] }], ports: [{ port: 80 }] },
  Endpoints: { subsets: [{ addresses: [{ ip: '10.42.0.5' }], ports: [{ port: 80 }] }] },
  LimitRange: { spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] } },
  PersistentVolume: { spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/a' } } },
  PersistentVolumeClaim: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
  StorageClass: { provisioner: 'example.com/a' },
  RuntimeClass: { handler: 'runc' },
  CSINode: { spec: { drivers: [{ name: 'a.example.com', nodeID: 'a' }] } },
  CSIStorageCapacity: { storageClassName: 'a', capacity: '1Gi' },
  VolumeAttachment: { spec: { attacher: 'a.example.com', source: { persistentVolumeName: 'a' }, nodeName: 'a' } },
  FlowSchema: { spec: { priorityLevelConfiguration: { name: 'a' }, matchingPrecedence: 900 } },
  PriorityLevelConfiguration: { spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } } },
  MutatingWebhookConfiguration: { webhooks: [webhook] },
  ValidatingWebhookConfiguration: { webhooks: [webhook] },
  ValidatingAdmissionPolicy: {
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: ['x.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['xs'] }],
      },
      validations: [{ expression: 'true' }],
    },
  },
  ValidatingAdmissionPolicyBinding: { spec: { policyName: 'a', validationActions: ['Deny'] } },
  NodeNetwork: { addresses: ['10.0.0.7'], podCIDRs: ['10.42.1.0/24'] },
  NetworkPolicy: { spec: { podSelector: selector, ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }] } },
  Ingress: { spec: { ingressClassName: 'a', defaultBackend: { service: { name: 'a', port: { number: 80 } } } } },
  ServiceCIDR: { spec: { cidrs: ['10.44.0.0/16'] } },
  IPAddress: { spec: { parentRef: { resource: 'services', namespace: 'a', name: 'a' } } },
  IngressClass: { spec: { controller: 'example.com/a' } },
  PodAddressSlice: { pods: [{ name: 'a', uid: 'u', labels: { app: 'web' }, podIPs: ['10.42.1.2'], nodeName: 'n' }] },
  PodDisruptionBudget: { spec: { minAvailable: 1, selector } },
  Pod: { spec: { containers: [{ name: 'main', image: 'x', resources: { requests: { cpu: '100m' } } }] } },
  Node: { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } },
  Event: { involvedObject: { kind: 'Pod', namespace: 'default', name: 'x' }, reason: 'Started', message: 'm', type: 'Normal' },
  NodeMetrics: { timestamp: '2026-01-01T00:00:00Z', window: '10s' },
  ConfigMap: { data: { a: '1' }, binaryData: { b: 'AAEC' } },
  Secret: { stringData: { a: '1' } },
  Lease: { spec: { holderIdentity: 'a', leaseDurationSeconds: 15 } },
};

/** An object that the server takes. */
export function sampleOf(kind: Kind, name: string, namespace: string): JsonObject {
  const metadata = {
    name: kind.nameRule === 'ip' ? `10.44.0.${names.indexOf(name as (typeof names)[number]) + 1}` : name,
    labels: { app: 'web' },
    ...(kind.namespaced ? { namespace: kind.kind === 'Event' ? 'default' : namespace } : {}),
  };
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata, ...structuredClone(required[kind.kind] ?? {}) };
}

const deep = (open: string, close: string): string => `${open.repeat(5_000)}${close.repeat(5_000)}`;
const brokenTexts: readonly string[] = [
  '',
  '{',
  '[]',
  'null',
  '1',
  '"a"',
  '{"a":1,"a":2}',
  '{"__proto__":{"polluted":true}}',
  '{"metadata":{"__proto__":{"name":"a"}}}',
  '{"constructor":{"prototype":{}}}',
  '{"metadata":null}',
  '{"metadata":[]}',
  '{"metadata":{"labels":{"":""}}}',
  '{"spec":{"containers":[null,{},[],1]}}',
  '{"metadata":{"name":1e999}}',
  '\ufeff{}',
  'NaN',
  deep('[', ']'),
  deep('{"a":', '}'),
  `{"metadata":{"annotations":{"a":"${'x'.repeat(300_000)}"}}}`,
  `{"data":{${Array.from({ length: 5_000 }, (_, i) => `"k${i}":""`).join()}}}`,
];

const anyKind = fc.constantFrom(...kinds);
const anyName = fc.constantFrom(...names);
const sample = fc
  .tuple(anyKind, anyName, fc.constantFrom('default', 'fuzz'))
  .map(([kind, name, namespace]) => ({ kind, json: sampleOf(kind, name, namespace) }));
const anyJson = fc.oneof(
  fc.constantFrom<Json>(null, 0, -1, 1e308, true, '', [], {}, [[]], [null], { a: null }, 2 ** 53),
  fc.constantFrom(...strangeTexts),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
);

/** The same tree with one of its places, or a new one, holding something else. */
function replaced(tree: Json, steps: readonly number[], value: Json): Json {
  const [step = 0, ...rest] = steps;
  if (Array.isArray(tree)) {
    if (tree.length === 0 || rest.length === 0) return [...tree, value];
    const at = step % tree.length;
    return tree.with(at, replaced(tree[at]!, rest, value));
  }
  if (typeof tree !== 'object' || tree === null || rest.length === 0) return value;
  const keys = [...Object.keys(tree), 'status', 'extra'];
  const key = keys[step % keys.length]!;
  return { ...tree, [key]: key in tree ? replaced(tree[key]!, rest, value) : value };
}

const changed = fc
  .tuple(sample, fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }), anyJson)
  .map(([{ json }, steps, value]) => JSON.stringify(replaced(json, steps, value)));

const text = (arbitrary: fc.Arbitrary<string>): fc.Arbitrary<Buffer> => arbitrary.map((each) => Buffer.from(each));

/** What stands in the `object` of a generic write: JSON or protobuf, good, bent and broken. */
export const objectBytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 3, arbitrary: text(sample.map(({ json }) => JSON.stringify(json))) },
  { weight: 4, arbitrary: text(changed) },
  { weight: 1, arbitrary: text(fc.constantFrom(...brokenTexts)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  { weight: 3, arbitrary: sample.map(({ kind, json }) => encodeMessage(kind.message, fromJson(kind, json))) },
);

const pointers = [
  '',
  '/',
  '/metadata',
  '/metadata/name',
  '/metadata/labels',
  '/metadata/labels/app',
  '/spec',
  '/spec/containers/0',
  '/spec/containers/-',
  '/a~1b',
  '/~2',
  '/metadata/__proto__/x',
  '/constructor/prototype/x',
  '/spec/containers/00',
  '/spec/containers/99999999999',
  'metadata',
];
const operation = fc.record(
  {
    op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
    path: fc.constantFrom(...pointers),
    from: fc.constantFrom(...pointers),
    value: anyJson,
  },
  { requiredKeys: ['op', 'path'] },
);
/** Doubles the object with each copy. */
const bomb = [
  { op: 'add', path: '/metadata/annotations', value: { a: 'x'.repeat(1_000) } },
  ...Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '/metadata', path: `/metadata/annotations/k${i}` })),
];

/** Merge, strategic and JSON patches; which one it is says another field, rightly or not. */
export const patchBytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  text(fc.array(operation, { maxLength: 6 }).map((each) => JSON.stringify(each))),
  text(changed),
  text(fc.constantFrom(...brokenTexts, JSON.stringify(bomb))),
  text(
    fc.constantFrom(
      ...[
        { metadata: { labels: { step: '1' } } },
        { metadata: { labels: null, finalizers: null } },
        { metadata: { $patch: 'replace' } },
        { spec: { $patch: 'delete' } },
        { spec: { containers: [{ $patch: 'delete', name: 'main' }] } },
        { spec: { containers: [{ $patch: 'replace' }, { $setElementOrder: 1 }] } },
        { spec: { '$setElementOrder/containers': [{ name: 'x' }, null] } },
        { metadata: { '$deleteFromPrimitiveList/finalizers': ['a', 1] } },
        { metadata: { $retainKeys: ['a'] } },
        { status: { conditions: [{ type: 'Ready', status: 'True' }, { type: 'Ready' }, null] } },
        { status: null },
        { status: [] },
      ].map((each) => JSON.stringify(each)),
    ),
  ),
);
