import { expect, test } from 'vitest';
import { messageType } from '../../api/codec/descriptors.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import { errorOf, forEveryKind, refusedFields } from './every-kind.ts';

const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u-1' };
const long = (length: number): string => 'a'.repeat(length);

/** Metadata that no kind takes, and the field that each is refused for. */
const wrongMetadata: readonly [what: string, metadata: JsonObject, field: string][] = [
  ['a name with capitals', { name: 'Upper' }, 'metadata.name'],
  ['a name that begins with a dash', { name: '-a' }, 'metadata.name'],
  ['a name with a slash', { name: 'a/b' }, 'metadata.name'],
  ['a name that is too long', { name: long(254) }, 'metadata.name'],
  ['neither a name nor generateName', { name: '' }, 'metadata.name'],
  ['a generateName that no name can begin with', { name: '', generateName: 'Bad_' }, 'metadata.generateName'],
  ['a label key without a name', { labels: { 'example.com/': 'x' } }, 'metadata.labels[example.com/]'],
  ['a label key that is too long', { labels: { [long(64)]: 'x' } }, `metadata.labels[${long(64)}]`],
  ['a label value that is too long', { labels: { a: long(64) } }, 'metadata.labels[a]'],
  ['a label value with a blank', { labels: { a: 'x y' } }, 'metadata.labels[a]'],
  ['an annotation key with a blank', { annotations: { 'a b': 'x' } }, 'metadata.annotations[a b]'],
  ['annotations of more than 256 KiB together', { annotations: { a: long(131_072), b: long(131_072) } }, 'metadata.annotations'],
  ['a finalizer without a domain', { finalizers: ['mine'] }, 'metadata.finalizers[0]'],
  ['a finalizer that is no name', { finalizers: ['example.com/a b'] }, 'metadata.finalizers[0]'],
  ['both words on dependents', { finalizers: ['orphan', 'foregroundDeletion'] }, 'metadata.finalizers'],
  ['an owner without its uid', { ownerReferences: [{ ...owner, uid: '' }] }, 'metadata.ownerReferences[0].uid'],
  ['an owner without its kind', { ownerReferences: [{ ...owner, kind: '' }] }, 'metadata.ownerReferences[0].kind'],
  ['an event as owner', { ownerReferences: [{ ...owner, kind: 'Event' }] }, 'metadata.ownerReferences[0].kind'],
  [
    'two owners that control it',
    { ownerReferences: ['u-1', 'u-2'].map((uid) => ({ ...owner, uid, controller: true })) },
    'metadata.ownerReferences[1].controller',
  ],
  ['a resourceVersion', { resourceVersion: '1' }, 'metadata.resourceVersion'],
];

/** What names of paths may be, which roles have, and names of machines may not. */
const rightInPaths = ['a name with capitals', 'a name that begins with a dash', 'a generateName that no name can begin with'];

forEveryKind((kind, subject) => {
  const wrongHere = wrongMetadata.filter(([what]) => kind.nameRule !== 'path' || !rightInPaths.includes(what));
  test.each(wrongHere)('a new object with %s is refused for that field', async (_what, metadata, field) => {
    const { client, json } = subject();
    expect(await refusedFields(client.objects.create(kind.kind, json('wrong', metadata)))).toContain(field);
  });

  test.each(wrongMetadata.filter(([, { name, resourceVersion }]) => name === undefined && resourceVersion === undefined))(
    'an update to %s is refused for that field',
    async (_what, metadata, field) => {
      const { client, key, json } = subject();
      await client.objects.create(kind.kind, json('kept')).catch(() => undefined);
      expect(await refusedFields(client.objects.patch(kind.kind, key('kept'), { metadata }))).toContain(field);
    },
  );

  test('takes annotations of 256 KiB, keys with capitals, and labels at their limits', async () => {
    const { make, typed, key } = subject();
    const labels = { [`example.com/${long(63)}`]: long(63), empty: '' };
    // The server's own annotation counts as well.
    const others = kind.kind === 'DaemonSet' ? `${workloadAnnotations.templateGeneration}1` : '';
    const annotations = { 'Example.com/Note': 'x', a: long(262_143 - `Example.com/Notex${others}`.length) };
    const made = await make('full', { labels, annotations });
    expect(made.metadata).toMatchObject({ labels, annotations });
    await typed.delete(key('full'));
  });

  test('a namespace that is not there, or is not wanted, is named', async () => {
    const { client, json } = subject();
    const error = await errorOf(client.objects.create(kind.kind, json('lost', { namespace: 'nowhere' })));
    if (kind.namespaced) expect(error).toMatchObject({ code: 'NOT_FOUND', subject: { kind: 'Namespace', name: 'nowhere' } });
    else expect(error.violations.map(({ field }) => field)).toEqual(['metadata.namespace']);
  });

  test('generateName makes a name that is free, and stays to be read', async () => {
    const { make } = subject();
    const made = await Promise.all([0, 1, 2].map(() => make('', { generateName: 'gen-' })));
    expect(new Set(made.map(({ metadata }) => metadata?.name)).size).toBe(3);
    for (const { metadata } of made)
      expect(metadata).toMatchObject({ name: expect.stringMatching(/^gen-.{5}$/), generateName: 'gen-' });
    // Jobs are named after a CronJob, and want room for a time.
    const most = kind.kind === 'CronJob' ? 52 : 63;
    const prefix = most < 63 ? most - 5 : kind.nameRule === 'label' ? 63 : 200;
    const longest = await make('', { generateName: long(prefix) });
    expect(longest.metadata?.name).toHaveLength(most);
  });

  test('what only the server writes is not taken from a client', async () => {
    const { make, typed } = subject();
    const foreign = {
      uid: 'mine',
      generation: 7,
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 5,
    };
    const made = await make('foreign', foreign);
    expect(made.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(made.metadata?.creationTimestamp?.seconds).toBeGreaterThan(1_700_000_000);
    expect(made.metadata).not.toHaveProperty('deletionTimestamp');
    expect(made.metadata).not.toHaveProperty('deletionGracePeriodSeconds');
    const again = await typed.update({
      ...made,
      metadata: { ...made.metadata, generation: 9, creationTimestamp: { seconds: 1 } },
    });
    expect(again).toEqual(made);
  });

  test('what never changes is refused with its path, or as a conflict where it means another object', async () => {
    const { make, typed, client, key } = subject();
    const made = await make('fixed');
    const change = (metadata: JsonObject) => client.objects.patch(kind.kind, key('fixed'), { metadata });
    expect(await refusedFields(change({ name: 'other' }))).toEqual(['metadata.name']);
    if (kind.namespaced) expect(await refusedFields(change({ namespace: 'kube-system' }))).toEqual(['metadata.namespace']);
    expect(await refusedFields(change({ deletionTimestamp: '2030-01-01T00:00:00Z' }))).toEqual(['metadata.deletionTimestamp']);
    expect(await refusedFields(change({ deletionGracePeriodSeconds: 3 }))).toEqual(['metadata.deletionGracePeriodSeconds']);
    await expect(change({ uid: 'another' })).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(typed.update({ ...made, metadata: { ...made.metadata, uid: 'another' } })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    expect(await typed.get(key('fixed'))).toEqual(made);
  });

  test('its generation counts what its kind says: changes of its spec, where that says nothing', async () => {
    const { make, typed, key, observation } = subject();
    const found = [await make('counted'), await typed.patch(key('counted'), { metadata: { annotations: { a: '1' } } })];
    const status = { status: observation.status };
    found.push(kind.hasStatus ? await typed.patch({ ...key('counted'), subresource: 'status' }, status) : found[1]!);
    const change = changes[kind.kind];
    if (change) found.push(await typed.patch(key('counted'), change));
    else expect(unchangeable.includes(kind.kind) || !messageType(kind.message).fields.spec).toBe(true);
    const expected = countsOf(kind).slice(0, found.length);
    expect(found.map(({ metadata }) => metadata?.generation)).toEqual(expected);
  });

  test('fields that may not change are refused with their path', async () => {
    const { client, key, json } = subject();
    const { given, changes } = immutable[kind.kind] ?? { given: {}, changes: {} };
    await client.objects.create(kind.kind, { ...json('firm'), ...given });
    for (const [field, change] of Object.entries(changes))
      expect(await refusedFields(client.objects.patch(kind.kind, key('firm'), change))).toContain(field);
  });
});

/** The generation of an object that is new, annotated, observed, changed. */
function countsOf(kind: Kind): (number | undefined)[] {
  const nothing = [undefined, undefined, undefined, undefined];
  switch (kind.generation) {
    case 'nothing':
      return nothing;
    case 'birth':
      return [1, 1, 1, 1];
    case 'spec changes':
      return [undefined, undefined, undefined, 1];
    case 'spec and annotations':
      return [1, 2, 2, 3];
    case 'content':
      return [1, 1, 1, 2];
    default:
      return messageType(kind.message).fields.spec ? [1, 1, 1, 2] : nothing;
  }
}

/** Kinds whose spec no user may change. */
const unchangeable = ['Namespace', 'CertificateSigningRequest', 'VolumeAttachment', 'ServiceCIDR'];

/** What a user may change of a spec, for kinds that have one. */
const specChange: Readonly<Record<string, JsonObject>> = {
  Ingress: { ingressClassName: 'other' },
  IngressClass: { parameters: { kind: 'ConfigMap', name: 'other' } },
  CSIDriver: { podInfoOnMount: true },
  CSINode: { drivers: [] },
  FlowSchema: { matchingPrecedence: 7 },
  ValidatingAdmissionPolicy: { failurePolicy: 'Ignore' },
  ValidatingAdmissionPolicyBinding: { validationActions: ['Audit'] },
  PriorityLevelConfiguration: { limited: { nominalConcurrencyShares: 7 } },
  PodDisruptionBudget: { minAvailable: 2 },
  NetworkPolicy: { policyTypes: ['Egress'] },
  Pod: { activeDeadlineSeconds: 100 },
  Job: { parallelism: 2 },
  CronJob: { suspend: true },
  HorizontalPodAutoscaler: { maxReplicas: 5 },
  Service: { sessionAffinity: 'ClientIP' },
  ResourceQuota: { hard: { pods: '20' } },
  LimitRange: { limits: [{ type: 'Container', max: { cpu: '4' } }] },
  Node: { unschedulable: true },
  Lease: { holderIdentity: 'me' },
  PersistentVolume: { persistentVolumeReclaimPolicy: 'Delete' },
  PersistentVolumeClaim: { volumeName: 'v' },
  ReplicationController: { replicas: 2 },
  Deployment: { replicas: 2 },
  ReplicaSet: { replicas: 2 },
  StatefulSet: { replicas: 2 },
  DaemonSet: { minReadySeconds: 2 },
  Toy: { wheels: 3 },
};

/** What a user may change of what the generation counts. */
const changes: Readonly<Record<string, JsonObject>> = {
  ...Object.fromEntries(Object.entries(specChange).map(([kind, spec]) => [kind, { spec }])),
  PodTemplate: { template: { metadata: { labels: { a: 'b' } } } },
  EndpointSlice: { ports: [{ name: 'other', port: 81 }] },
  MutatingWebhookConfiguration: { webhooks: [] },
  ValidatingWebhookConfiguration: { webhooks: [] },
  PriorityClass: { description: 'other' },
};

const otherSelector: ApiObject & JsonObject = { spec: { selector: { matchLabels: { tier: 'a' } } } };

const claimed = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '1Gi' } },
  volumeName: 'v',
  storageClassName: 'c',
};

/** What of each kind stays as it was once made: an object, and changes of it by the field that is refused. */
const immutable: Readonly<Record<string, { given: JsonObject; changes: Readonly<Record<string, ApiObject & JsonObject>> }>> = {
  Pod: {
    given: { spec: { containers: [{ name: 'main', image: 'x' }], restartPolicy: 'Always' } },
    changes: {
      'spec.restartPolicy': { spec: { restartPolicy: 'Never' } },
      'spec.nodeName': { spec: { nodeName: 'n' } },
      'spec.containers[0].name': { spec: { containers: [{ name: 'other', image: 'x' }] } },
    },
  },
  Job: {
    given: {},
    changes: {
      'spec.completions': { spec: { completions: 2 } },
      'spec.completionMode': { spec: { completionMode: 'Indexed' } },
      'spec.managedBy': { spec: { managedBy: 'example.com/jobs' } },
      'spec.template.spec.restartPolicy': { spec: { template: { spec: { restartPolicy: 'OnFailure' } } } },
      'spec.selector.matchLabels.app': { spec: { selector: { matchLabels: { app: 'y' } } } },
    },
  },
  Service: {
    given: { spec: { clusterIP: 'None' } },
    changes: { 'spec.clusterIPs[0]': { spec: { clusterIP: '10.0.0.1' } } },
  },
  ResourceQuota: { given: {}, changes: { 'spec.scopes': { spec: { scopes: ['Terminating'] } } } },
  Node: {
    given: { spec: { podCIDR: '10.0.0.0/24', providerID: 'p' } },
    changes: { 'spec.podCIDR': { spec: { podCIDR: '10.1.0.0/24' } }, 'spec.providerID': { spec: { providerID: 'q' } } },
  },
  PersistentVolume: {
    given: {},
    changes: {
      'spec.persistentvolumesource': { spec: { hostPath: { path: '/srv/other' } } },
      'spec.volumeMode': { spec: { volumeMode: 'Block' } },
    },
  },
  PersistentVolumeClaim: {
    given: { spec: claimed },
    changes: {
      'spec.volumeName': { spec: { volumeName: 'other' } },
      'spec.accessModes[0]': { spec: { accessModes: ['ReadOnlyMany'] } },
      'spec.resources.requests.storage': { spec: { resources: { requests: { storage: '2Gi' } } } },
      'spec.storageClassName': { spec: { storageClassName: 'other' } },
    },
  },
  Deployment: { given: {}, changes: { 'spec.selector': otherSelector } },
  ReplicaSet: { given: {}, changes: { 'spec.selector': otherSelector } },
  DaemonSet: { given: {}, changes: { 'spec.selector': otherSelector } },
  StatefulSet: {
    given: {},
    changes: {
      'spec.selector.matchLabels.tier': otherSelector,
      'spec.serviceName': { spec: { serviceName: 'web' } },
      'spec.podManagementPolicy': { spec: { podManagementPolicy: 'Parallel' } },
    },
  },
  ControllerRevision: { given: {}, changes: { data: { data: { spec: { template: { count: 2 } } } } } },
  StorageClass: {
    given: { parameters: { type: 'fast' } },
    changes: {
      provisioner: { provisioner: 'example.com/tapes' },
      parameters: { parameters: { type: 'slow' } },
      reclaimPolicy: { reclaimPolicy: 'Retain' },
      volumeBindingMode: { volumeBindingMode: 'WaitForFirstConsumer' },
    },
  },
  RuntimeClass: { given: {}, changes: { handler: { handler: 'other' } } },
  PriorityClass: { given: {}, changes: { value: { value: 6 }, preemptionPolicy: { preemptionPolicy: 'Never' } } },
  ConfigMap: {
    given: { immutable: true, data: { a: '1' } },
    changes: { data: { data: { a: '2' } }, immutable: { immutable: false } },
  },
  Secret: {
    given: { immutable: true, type: 'example.com/t' },
    changes: { data: { data: { a: 'MQ==' } }, type: { type: 'example.com/u' }, immutable: { immutable: null } },
  },
};
