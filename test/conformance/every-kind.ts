import { afterAll, beforeAll, describe, expect } from 'vitest';
import { fromJson } from '../../api/codec/json.ts';
import { kindNamed, kinds } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { GrowingSet } from '../../api/meta/growing-set.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { type Client, createInformer, type ObjectKey, type ResourceClient, systemClock } from '../../client/index.ts';
import { runController } from '../../controllers/controller.ts';
import { createNamespaces } from '../../controllers/namespace/controller.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { type RunningServer, startServer } from '../integration/apiserver-harness.ts';
import { registerToy, toy } from './toy-kind.ts';

// What every kind does, on every backend. A new kind is tested by being listed in api/kinds, a new backend by being
// listed in storage-backends.ts; only what an object needs to be valid is said here.
const container = { name: 'main', image: 'x' };
/** A PKCS #10 request in PEM, as JSON has bytes. */
export const certificateRequest =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIck1JR1NBZ0VBTURBeEZUQVRCZ05WQkFvVERITjVjM1JsYlRwdWIyUmxjekVYTUJVR0ExVUVBeE1PYzNsegpkR1Z0T201dlpHVTZiakV3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVEvVjY4cTErcENCQ3pECno1dkx5ZnpLWU81b0U5c3dmZlFkdmpsVExIZFhMNldVZWxHa0pvdlN4M2RXdjRnT2dOK09YUE8zcjk3YjhUUlgKTmZBYnplZXdvQUF3Q2dZSUtvWkl6ajBFQXdJRFNBQXdSUUloQUxsSm9uZU9Wd2UvOEJ3aFF0Q2VMQWhLWVV5Rgo1UkVZNGlkNi9IeVc4R2ttQWlBaGRRMnNxTzk0SER4Z1JyemVRMUVDRzB4eS9GNDVNVTlEenpRMTk4YUl5QT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=';
const template = { metadata: { labels: { app: 'x' } }, spec: { containers: [container] } };
const workload = { spec: { selector: { matchLabels: { app: 'x' } }, template } };
/** It has no rules, so it is never called. */
const webhook = {
  name: 'x.example.com',
  clientConfig: { url: 'https://x.example.com' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
};
const required: Readonly<Record<string, JsonObject>> = {
  // The volume of a token has a random name, so that no two creates are equal, and an update has to repeat it.
  Pod: { spec: { containers: [container], automountServiceAccountToken: false } },
  PodTemplate: { template },
  ReplicationController: { spec: { template } },
  Deployment: workload,
  ReplicaSet: workload,
  StatefulSet: workload,
  DaemonSet: workload,
  ControllerRevision: { data: { spec: { template: { count: 1, rest: [null, 'x'] } } }, revision: 1 },
  // Its own selector: a replacement must name the one that the server makes.
  Job: {
    spec: {
      manualSelector: true,
      selector: { matchLabels: { app: 'x' } },
      template: { metadata: { labels: { app: 'x' } }, spec: { restartPolicy: 'Never', containers: [container] } },
    },
  },
  CronJob: {
    spec: {
      schedule: '@daily',
      jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } } } },
    },
  },
  HorizontalPodAutoscaler: {
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }, maxReplicas: 3 },
  },
  Service: { spec: { ports: [{ port: 80 }] } },
  EndpointSlice: { addressType: 'IPv4', endpoints: [{ addresses: ['10.42.0.5'] }], ports: [{ port: 80 }] },
  NetworkPolicy: { spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }] } },
  Ingress: {
    spec: {
      defaultBackend: { service: { name: 'x', port: { number: 80 } } },
    },
  },
  ServiceCIDR: { spec: { cidrs: ['10.44.0.0/16'] } },
  IngressClass: { spec: { controller: 'example.com/x', parameters: { kind: 'ConfigMap', name: 'x' } } },
  Endpoints: { subsets: [{ addresses: [{ ip: '10.42.0.5' }], ports: [{ port: 80 }] }] },
  ResourceQuota: { spec: { hard: { pods: '10' } } },
  LimitRange: { spec: { limits: [{ type: 'Container', max: { cpu: '2' } }] } },
  Event: { involvedObject: { kind: 'Pod', namespace: 'default', name: 'x' }, reason: 'Started', message: 'm', type: 'Normal' },
  NodeMetrics: { timestamp: '2026-01-01T00:00:00Z', window: '10s' },
  PersistentVolume: {
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/srv/x' } },
  },
  // Where nothing is said of a class it is given the default one, which an update may not take away again.
  PersistentVolumeClaim: {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: '' },
  },
  StorageClass: { provisioner: 'example.com/disks' },
  CSIDriver: { spec: { attachRequired: false } },
  CSINode: { spec: { drivers: [{ name: 'example.com', nodeID: 'x' }] } },
  CSIStorageCapacity: { storageClassName: 'x', capacity: '1Gi' },
  VolumeAttachment: { spec: { attacher: 'example.com', source: { persistentVolumeName: 'x' }, nodeName: 'x' } },
  FlowSchema: { spec: { priorityLevelConfiguration: { name: 'x' } } },
  PriorityLevelConfiguration: { spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } } },
  RuntimeClass: { handler: 'runc' },
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
  ValidatingAdmissionPolicyBinding: { spec: { policyName: 'x', validationActions: ['Deny'] } },
  NodeNetwork: { addresses: ['10.0.0.7'], podCIDRs: ['10.42.1.0/24'] },
  PodAddressSlice: {
    namespaceLabels: { team: 'a' },
    pods: [{ name: 'x', uid: 'u', labels: { app: 'x' }, podIPs: ['10.42.1.2'], nodeName: 'n' }],
  },
  PriorityClass: { value: 5 },
  RoleBinding: { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'x' } },
  ClusterRoleBinding: { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'x' } },
  CertificateSigningRequest: {
    spec: { request: certificateRequest, signerName: 'example.com/tests', usages: ['client auth'] },
  },
  Toy: { spec: { color: 'red' } },
};

/** What an observer may write into the status, and where it then stands: a condition, where the kind has those. */
const condition = { type: 'Tested', status: 'True', reason: 'Suite', message: 'm' };
const conditions: Observation = {
  status: { conditions: [condition] },
  field: 'conditions',
  path: 'status.conditions[type=Tested]',
  shown: { conditions: expect.arrayContaining([expect.objectContaining({ type: 'Tested', status: 'True' })]) },
};
const observations: Readonly<Record<string, Observation>> = {
  CronJob: {
    status: { lastScheduleTime: '2026-01-01T00:00:00Z' },
    field: 'lastScheduleTime',
    path: 'status.lastScheduleTime',
    shown: { lastScheduleTime: expect.anything() },
  },
  ResourceQuota: {
    status: { used: { pods: '1' } },
    field: 'used',
    path: 'status.used.pods',
    shown: { used: { pods: expect.anything() } },
  },
  Ingress: {
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } },
    field: 'loadBalancer',
    path: 'status.loadBalancer.ingress[ip=192.0.2.7]',
    shown: { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } },
  },
  VolumeAttachment: {
    status: { attachmentMetadata: { a: 'b' } },
    field: 'attachmentMetadata',
    path: 'status.attachmentMetadata.a',
    shown: { attachmentMetadata: { a: 'b' } },
  },
  // The server fills in times that are not said.
  CertificateSigningRequest: {
    ...conditions,
    status: {
      conditions: [{ ...condition, lastUpdateTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  },
  PersistentVolume: { status: { reason: 'Tested' }, field: 'reason', path: 'status.reason', shown: { reason: 'Tested' } },
};

export interface Observation {
  readonly status: JsonObject;
  readonly field: string;
  readonly path: string;
  /** What the status matches afterwards. */
  readonly shown: object;
}

registerToy();
/** Not those whose names say what they are: custom-kinds.test.ts, api-services.test.ts, service-addresses.test.ts. */
const namedByContent: readonly string[] = ['CustomResourceDefinition', 'APIService', 'IPAddress'];
export const everyKind: readonly Kind[] = [...kinds.filter(({ kind }) => !namedByContent.includes(kind)), toy as Kind];

/** As the server has them. */
export const servedKinds: readonly Kind[] = [...kinds, toy as Kind];

/** A kind on a running server, and how to make objects of it. */
export interface Subject {
  readonly kind: Kind;
  readonly server: RunningServer;
  readonly client: Client;
  /** The typed client. */
  readonly typed: ResourceClient<ApiObject>;
  key(name: string): ObjectKey;
  /** A valid object in its JSON form, with the label `suite` and what `metadata` says. */
  json(name: string, metadata?: JsonObject): JsonObject;
  readonly observation: Observation;
  make(name: string, metadata?: JsonObject): Promise<ApiObject>;
  /** Selects the objects with a label `suite`. */
  scope(suite?: string): { readonly namespace?: string; readonly labelSelector: string };
}

/** Defines the same tests for every kind on every backend. `subject` is there once the tests run. */
export function forEveryKind(define: (kind: Kind, subject: () => Subject) => void): void {
  describe.each(['memory', 'lmdb'] as const)('on %s', (backend) => {
    let server: RunningServer;
    const stop = new AbortController();
    let emptying: Promise<unknown>;
    beforeAll(async () => {
      // What the server writes behind a policy's own writes: policy-type-checking.test.ts.
      server = await startServer({ backend, checksNoPolicyTypes: true });
      // A kind that comes later is served like one that was there.
      await server.info.addKind(toy as Kind);
      emptying = emptyNamespaces(server.client, stop.signal);
    });
    afterAll(async () => {
      stop.abort();
      await emptying;
      await server.stop();
      await server.remove();
    });
    for (const kind of everyKind) describe(kind.kind, () => define(kind, () => subjectOf(kind, server)));
  });
}

/** Namespaces end only when a controller empties them; no other controller meddles with the objects of the tests. */
function emptyNamespaces(client: Client, signal: AbortSignal): Promise<unknown> {
  const base = { clock: systemClock, logger: createFakeLogger() };
  const namespaces = createInformer<ApiObject>({
    client: client.resource(kindNamed('Namespace') as Kind),
    name: 'namespaces',
    ...base,
  });
  const controller = createNamespaces({ client, namespaces, contents: new GrowingSet<never>(), ...base });
  return Promise.all([namespaces.run(signal), runController(controller, base, signal)]);
}

function subjectOf(kind: Kind, server: RunningServer): Subject {
  const place: { namespace?: string } = kind.namespaced ? { namespace: 'default' } : {};
  const typed: ResourceClient<ApiObject> = server.client.resource(kind);
  const json = (name: string, metadata: JsonObject = {}): JsonObject => ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name, labels: { suite: 'kinds' }, ...(kind.namespaced && { namespace: 'default' }), ...metadata },
    ...structuredClone(required[kind.kind] ?? {}),
  });
  return {
    kind,
    server,
    client: server.client,
    typed,
    json,
    observation: observations[kind.kind] ?? conditions,
    key: (name) => ({ ...place, name }),
    make: (name, metadata) => typed.create(fromJson<ApiObject>(kind, json(name, metadata))),
    scope: (suite = 'kinds') => ({ ...place, labelSelector: `suite=${suite}` }),
  };
}

/** The code that a call ends with, or OK. */
export const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'OK',
    (error) => error.code,
  );

/** The error that a call ends with. */
export const errorOf = (call: Promise<unknown>): Promise<{ code: string; message: string; violations: { field: string }[] }> =>
  call.then(
    () => {
      throw new Error('the call should have failed');
    },
    (error) => error,
  );

/** The paths of the fields for which a call is refused. */
export const refusedFields = async (call: Promise<unknown>): Promise<string[]> => {
  const { code, violations = [], message } = await errorOf(call);
  if (code !== 'INVALID_ARGUMENT') throw new Error(`expected INVALID_ARGUMENT, got ${code}: ${message}`);
  return violations.map(({ field }) => field);
};

export const labelled = (object: ApiObject, value: string): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata?.labels, 'example.com/step': value } },
});
