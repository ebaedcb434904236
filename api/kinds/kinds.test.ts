import { describe, expect, it } from 'vitest';
import { messageType } from '../codec/descriptors.ts';
import type { ConfigMap, Event, Namespace, Node, NodeMetrics, Secret } from '../generated/types.ts';
import { formatAge } from './cells.ts';
import { type KindMap, kindNamed, kindOf, kinds } from './index.ts';
import { type ApiObject, defineKind, type Kind } from './kind.ts';
import { validateMetadata } from './metadata.ts';
import { pod } from './pod/kind.ts';

const now = new Date('2026-01-31T12:00:00Z');
const cells = (kind: Kind, object: ApiObject): Record<string, string> =>
  Object.fromEntries(kind.columns.map((column) => [column.name, column.cell(object, now)]));
const fields = (list: readonly { field: string }[]): string[] => list.map(({ field }) => field);

describe('the index', () => {
  it('finds a kind by each of its names, in any case', () => {
    expect(['Pod', 'pods', 'pod', 'po', 'PODS'].map((name) => kindOf(name)?.kind)).toEqual(Array(5).fill('Pod'));
    expect(['cm', 'ns', 'no', 'ev', 'nodemetrics', 'leases', 'secret'].map((name) => kindOf(name)?.kind)).toEqual([
      'ConfigMap',
      'Namespace',
      'Node',
      'Event',
      'NodeMetrics',
      'Lease',
      'Secret',
    ]);
    expect(['deploy', 'rs', 'sts', 'ds', 'rc'].map((name) => kindOf(name)?.kind)).toEqual([
      'Deployment',
      'ReplicaSet',
      'StatefulSet',
      'DaemonSet',
      'ReplicationController',
    ]);
    expect([kindOf('picture'), kindOf('')]).toEqual([undefined, undefined]);
  });

  it('has no name twice', () => {
    const names = kinds.flatMap((kind) => [
      ...new Set([kind.kind, kind.plural, kind.singular, ...kind.shortNames].map((name) => name.toLowerCase())),
    ]);
    expect(names.length).toBe(new Set(names).size);
  });

  it.each(kinds.map((kind) => [kind.kind, kind] as const))('says of %s what the descriptors say', (_name, kind) => {
    const type = messageType(kind.message);
    expect(type.root.lookupService(kind.service).methods.Create?.responseType).toContain(kind.kind);
    expect(kind.hasStatus).toBe(type.fields.status !== undefined);
    expect(cells(kind, {})).toBeDefined();
    for (const read of Object.values(kind.selectableFields)) expect(typeof read({})).toBe('string');
  });

  it('does not compile with a kind that is described in part, or not at all', () => {
    // @ts-expect-error a kind without columns
    defineKind<Secret>()({ kind: 'Secret', apiVersion: 'v1' });
    // @ts-expect-error every name of the map must be decided on
    const byKind: Record<keyof KindMap, string> = { Pod: 'x' };
    expect(byKind.Pod).toBe('x');
  });
});

describe('metadata', () => {
  it('must have a name by the rule of the kind, and a namespace where there are any', () => {
    expect(fields(validateMetadata(pod, {}))).toEqual(['metadata.name', 'metadata.namespace']);
    expect(fields(validateMetadata(kindNamed('Namespace'), { name: 'a.b', namespace: 'x' }))).toEqual([
      'metadata.name',
      'metadata.namespace',
    ]);
    expect(validateMetadata(pod, { name: 'a.b', namespace: 'x', labels: { 'a.b/c': 'D' }, annotations: { 'A/b': '' } })).toEqual(
      [],
    );
  });

  it('has good labels, annotations that fit, and one controller', () => {
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u', controller: true };
    const meta = {
      name: 'a',
      namespace: 'x',
      labels: { 'a b': 'c d' },
      annotations: { a: 'x'.repeat(262_144) },
      ownerReferences: [owner, owner],
    };
    expect(fields(validateMetadata(pod, meta))).toEqual([
      'metadata.labels[a b]',
      'metadata.labels[a b]',
      'metadata.annotations',
      'metadata.ownerReferences[1].controller',
    ]);
  });
});

describe('a namespace', () => {
  const kind = kindNamed('Namespace');

  it('starts active, with the finalizer and its own name as a label', () => {
    const namespace: Namespace = { metadata: { name: 'a', labels: { x: 'y' } } };
    kind.defaults(namespace);
    kind.lifecycle?.prepareForCreate?.(namespace);
    expect(namespace).toEqual({
      metadata: { name: 'a', labels: { x: 'y', 'kubernetes.io/metadata.name': 'a' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
    expect(cells(kind, namespace)).toEqual({ NAME: 'a', STATUS: 'Active', AGE: '<unknown>' });
  });

  it('keeps its finalizers in an update', () => {
    const next: Namespace = { spec: { finalizers: [] } };
    kind.lifecycle?.prepareForUpdate?.(next, { spec: { finalizers: ['kubernetes'] } });
    expect(next.spec?.finalizers).toEqual(['kubernetes']);
  });
});

describe('a config map', () => {
  const kind = kindNamed('ConfigMap');

  it('has keys that are file names, each once, and fits in 1 MiB', () => {
    expect(kind.validate({ data: { a: 'b' }, binaryData: { c: Buffer.from('d') } })).toEqual([]);
    expect(fields(kind.validate({ data: { 'a/b': '', c: '' }, binaryData: { c: Buffer.from('') } }))).toEqual([
      'data[a/b]',
      'binaryData[c]',
    ]);
    expect(fields(kind.validate({ data: { a: 'é'.repeat(524_289) } }))).toEqual(['data']);
    expect(kind.validate({ data: { a: 'é'.repeat(524_288) } })).toEqual([]);
  });

  it('does not change once immutable', () => {
    const before: ConfigMap = { immutable: true, data: { a: 'b' } };
    expect(kind.validateUpdate({ ...before, metadata: { labels: { x: 'y' } } }, before)).toEqual([]);
    expect(fields(kind.validateUpdate({ data: { a: 'c' }, binaryData: { d: Buffer.from('') } }, before))).toEqual([
      'immutable',
      'data',
      'binaryData',
    ]);
    expect(kind.validateUpdate({ data: { a: 'c' } }, { data: { a: 'b' } })).toEqual([]);
  });

  it('shows how many keys it has', () => {
    expect(cells(kind, { metadata: { name: 'm' }, data: { a: '' }, binaryData: { b: Buffer.from('') } } as ConfigMap).DATA).toBe(
      '2',
    );
  });
});

describe('a secret', () => {
  const kind = kindNamed('Secret');

  it('is opaque by default and takes stringData into data', () => {
    const secret: Secret = { data: { a: Buffer.from('1'), b: Buffer.from('2') }, stringData: { b: 'x', c: 'y' } };
    kind.defaults(secret);
    expect(secret).toEqual({ type: 'Opaque', data: { a: Buffer.from('1'), b: Buffer.from('x'), c: Buffer.from('y') } });
  });

  it.each<[string, Secret['data'], string[]]>([
    ['kubernetes.io/tls', { 'tls.crt': Buffer.from('') }, ['data[tls.key]']],
    ['kubernetes.io/dockerconfigjson', { '.dockerconfigjson': Buffer.from('{') }, ['data[.dockerconfigjson]']],
    ['kubernetes.io/dockerconfigjson', { '.dockerconfigjson': Buffer.from('{}') }, []],
    ['kubernetes.io/dockerconfigjson', { '.dockerconfigjson': Buffer.from('null') }, []],
    ['kubernetes.io/dockerconfigjson', { '.dockerconfigjson': Buffer.from('["a"]') }, ['data[.dockerconfigjson]']],
    ['kubernetes.io/dockerconfigjson', {}, ['data[.dockerconfigjson]']],
    ['kubernetes.io/dockercfg', { '.dockercfg': Buffer.from('3') }, ['data[.dockercfg]']],
    ['kubernetes.io/dockercfg', { '.dockercfg': Buffer.from('{"quay.io":{}}') }, []],
    ['kubernetes.io/basic-auth', {}, ['data[username]', 'data[password]']],
    ['kubernetes.io/basic-auth', { password: Buffer.from('') }, []],
    ['kubernetes.io/ssh-auth', {}, ['data[ssh-privatekey]']],
    ['kubernetes.io/service-account-token', {}, ['metadata.annotations[kubernetes.io/service-account.name]']],
    ['example.com/own', {}, []],
  ])('of type %s has what the type promises', (type, data, expected) => {
    expect(fields(kind.validate({ type, data: data ?? {} }))).toEqual(expected);
  });

  it('keeps its type, and never shows a value in a violation', () => {
    expect(fields(kind.validateUpdate({ type: 'a' }, { type: 'b' }))).toEqual(['type']);
    expect(
      JSON.stringify(kind.validate({ type: 'kubernetes.io/dockercfg', data: { '.dockercfg': Buffer.from('hidden') } })),
    ).not.toContain('hidden');
  });
});

describe('a node', () => {
  const kind = kindNamed('Node');

  it('has good taints and ranges', () => {
    const taint = { key: 'a', effect: 'NoSchedule' };
    expect(
      fields(kind.validate({ spec: { taints: [taint, taint, { key: '', effect: 'Never' }], podCIDR: '10.0.0.0/33' } })),
    ).toEqual(['spec.taints[1]', 'spec.taints[2].key', 'spec.taints[2].effect', 'spec.podCIDR']);
    expect(
      kind.validate({
        spec: { taints: [taint, { ...taint, effect: 'NoExecute' }], podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] },
      }),
    ).toEqual([]);
  });

  it('is given its range and provider once', () => {
    expect(kind.validateUpdate({ spec: { podCIDR: '10.0.0.0/24' } }, {})).toEqual([]);
    expect(fields(kind.validateUpdate({ spec: {} }, { spec: { podCIDR: '10.0.0.0/24', providerID: 'x' } }))).toEqual([
      'spec.podCIDR',
      'spec.providerID',
    ]);
  });

  it.each<[Node, string]>([
    [{}, 'Unknown'],
    [{ status: { conditions: [{ type: 'Ready', status: 'True' }] } }, 'Ready'],
    [
      { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] }, spec: { unschedulable: true } },
      'NotReady,SchedulingDisabled',
    ],
  ])('%j shows the status %s', (node, status) => {
    expect(cells(kind, node).STATUS).toBe(status);
  });

  it('shows roles, addresses and usage', () => {
    const node: Node = {
      metadata: {
        labels: { 'node-role.kubernetes.io/worker': '', 'node-role.kubernetes.io/control-plane': '', 'kubernetes.io/role': 'x' },
      },
      status: {
        addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        usage: { cpu: { string: '1.5' }, memory: { string: '1536Mi' } },
      },
    };
    expect(cells(kind, node)).toMatchObject({
      ROLES: 'control-plane,worker,x',
      'INTERNAL-IP': '10.0.0.1',
      'EXTERNAL-IP': '<none>',
      CPU: '1500m',
      MEMORY: '1536Mi',
    });
    expect([
      kind.selectableFields['spec.unschedulable']!(node),
      kind.selectableFields['spec.unschedulable']!({ spec: { unschedulable: true } }),
    ]).toEqual(['false', 'true']);
  });
});

describe('an event', () => {
  const kind = kindNamed('Event');

  it('shows when it was last seen and what it is about', () => {
    const event: Event = {
      lastTimestamp: { seconds: 60 },
      involvedObject: { kind: 'Pod', name: 'web' },
      reason: 'Pulled',
      message: 'ok\n',
      type: 'Normal',
    };
    expect(cells(kind, event)).toMatchObject({
      'LAST SEEN': '1970-01-01T00:01:00Z',
      TYPE: 'Normal',
      REASON: 'Pulled',
      OBJECT: 'pod/web',
      MESSAGE: 'ok',
    });
    expect(kind.columns.filter(({ priority }) => priority === 0).map(({ name }) => name)).toEqual([
      'LAST SEEN',
      'TYPE',
      'REASON',
      'OBJECT',
      'MESSAGE',
    ]);
  });

  it('lives beside its object, and those of nodes in default', () => {
    const at = (own: string, about: string): string[] =>
      fields(kind.validate({ metadata: { namespace: own }, involvedObject: { namespace: about } }));
    expect([at('a', 'a'), at('default', ''), at('a', 'b'), at('a', '')]).toEqual([
      [],
      [],
      ['involvedObject.namespace'],
      ['involvedObject.namespace'],
    ]);
  });
});

it('refuses leases that make no sense', () => {
  expect(
    fields(kindNamed('Lease').validate({ spec: { leaseDurationSeconds: 0, leaseTransitions: -1, holderIdentity: '' } })),
  ).toEqual(['spec.leaseDurationSeconds', 'spec.leaseTransitions']);
  expect(kindNamed('Lease').validate({ spec: { leaseDurationSeconds: 1, holderIdentity: 'a' } })).toEqual([]);
});

it('shows what a node uses, and refuses amounts that are none', () => {
  const metrics: NodeMetrics = {
    metadata: { name: 'n' },
    usage: { cpu: { string: '250m' }, memory: { string: '2Gi' } },
    pods: [{}],
  };
  expect(cells(kindNamed('NodeMetrics'), metrics)).toMatchObject({ CPU: '250m', MEMORY: '2048Mi', PODS: '1' });
  expect(
    fields(
      kindNamed('NodeMetrics').validate({
        usage: { cpu: { string: 'x' } },
        pods: [{ containers: [{ usage: { cpu: { string: '-1' } } }] }],
      }),
    ),
  ).toEqual(['usage[cpu]', 'pods[0].containers[0].usage[cpu]']);
});

it('writes ages as kubectl does', () => {
  const age = (seconds: number): string => formatAge(seconds * 1000);
  expect([
    age(-5),
    age(119),
    age(120),
    age(190),
    age(600),
    age(3 * 3600),
    age(5 * 3600 + 600),
    age(50 * 3600),
    age(30 * 86400),
    age(3 * 365 * 86400),
  ]).toEqual(['0s', '119s', '2m', '3m10s', '10m', '3h', '5h10m', '2d2h', '30d', '3y']);
});

it('need a version to replace what Kubernetes does not replace without one', () => {
  const needing = kinds.filter(({ updateNeedsVersion }) => updateNeedsVersion).map(({ kind }) => kind);
  const storage = ['CSIDriver', 'CSINode', 'CSIStorageCapacity', 'VolumeAttachment'];
  const webhooks = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'];
  const policies = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'];
  const others = ['APIService', 'CustomResourceDefinition', 'Lease', 'PodDisruptionBudget', 'RuntimeClass', 'ServiceAccount'];
  expect(needing.toSorted()).toEqual([...storage, ...webhooks, ...policies, ...others].toSorted());
});
