import { describe, expect, it } from 'vitest';
import { fromJson, readObject, toJson } from '../../codec/json.ts';
import type { StatefulSet } from '../../generated/types.ts';
import { validateMetadata } from '../metadata.ts';
import { statefulSet as kind } from './kind.ts';

type Json = Record<string, unknown>;

const claim = (name: string, spec: Json = {}): Json => ({
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
});

function jsonOf(spec: Json, container: Json = {}): Json {
  const template = {
    metadata: { labels: { app: 'db' } },
    spec: { containers: [{ name: 'main', image: 'x', ...container }] },
  };
  return { metadata: { name: 'db' }, spec: { selector: { matchLabels: { app: 'db' } }, template, ...spec } };
}

function setOf(spec: Json, container: Json = {}): StatefulSet {
  const object = fromJson<StatefulSet>(kind, jsonOf(spec, container));
  kind.defaults(object);
  return object;
}

const broken = (spec: Json, container?: Json): string[] =>
  kind.validate(setOf(spec, container)).map(({ field, description }) => `${field}: ${description}`);

it('has the defaults of Kubernetes', () => {
  const { template: _, selector: __, ...spec } = setOf({ volumeClaimTemplates: [claim('data')] }).spec ?? {};
  expect(spec).toEqual({
    replicas: 1,
    podManagementPolicy: 'OrderedReady',
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    revisionHistoryLimit: 10,
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: { string: '1Gi' } } },
          volumeMode: 'Filesystem',
        },
        status: { phase: 'Pending' },
      },
    ],
  });
  // As in Kubernetes: who names the strategy gets no numbers for it.
  expect(setOf({ updateStrategy: { type: 'RollingUpdate' } }).spec?.updateStrategy).toEqual({ type: 'RollingUpdate' });
});

const mounting = (name: string): Json => ({ volumeMounts: [{ name, mountPath: '/data' }] });
const rolling = (rollingUpdate: Json): Json => ({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
const at = 'spec.updateStrategy';

describe('a StatefulSet is refused with', () => {
  it.each<[string, Json, string]>([
    [
      'a policy that does not exist',
      { podManagementPolicy: 'Random' },
      'spec.podManagementPolicy: unsupported value "Random": must be one of "OrderedReady", "Parallel"',
    ],
    [
      'a strategy that does not exist',
      { updateStrategy: { type: 'Slow' } },
      `${at}.type: unsupported value "Slow": must be one of "RollingUpdate", "OnDelete"`,
    ],
    [
      'numbers for a strategy without them',
      { updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: 1 } } },
      `${at}.rollingUpdate: invalid value "OnDelete": only allowed for updateStrategy 'RollingUpdate'`,
    ],
    ['a negative partition', rolling({ partition: -1 }), `${at}.rollingUpdate.partition: invalid value -1: must not be negative`],
    [
      'no pod that may be unavailable',
      rolling({ maxUnavailable: 0 }),
      `${at}.rollingUpdate.maxUnavailable: invalid value 0: cannot be 0`,
    ],
    [
      'more than all pods unavailable',
      rolling({ maxUnavailable: '200%' }),
      `${at}.rollingUpdate.maxUnavailable: invalid value "200%": must not be greater than 100%`,
    ],
    ['a negative first number', { ordinals: { start: -1 } }, 'spec.ordinals.start: invalid value -1: must not be negative'],
    ['a negative history', { revisionHistoryLimit: -1 }, 'spec.revisionHistoryLimit: invalid value -1: must not be negative'],
    [
      'a claim policy that does not exist',
      { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Keep' } },
      'spec.persistentVolumeClaimRetentionPolicy.whenScaled: unsupported value "Keep": must be one of "Retain", "Delete"',
    ],
    [
      'two claims of one name',
      { volumeClaimTemplates: [claim('data'), claim('data')] },
      'spec.volumeClaimTemplates[1].metadata.name: duplicate value "data"',
    ],
    ['a claim without a name', { volumeClaimTemplates: [claim('')] }, 'spec.volumeClaimTemplates[0].metadata.name: is required'],
    [
      'a claim that asks for nothing',
      { volumeClaimTemplates: [claim('data', { resources: {} })] },
      'spec.volumeClaimTemplates[0].spec.resources[storage]: is required: say in requests how much storage is needed',
    ],
    [
      'a claim of a kind that Berth has no volumes for',
      { volumeClaimTemplates: [claim('data', { volumeMode: 'Block' })] },
      'spec.volumeClaimTemplates[0].spec.volumeMode: forbidden: volumes are mounted as folders only',
    ],
  ])('%s', (_title, spec, sentence) => expect(broken(spec)).toEqual([sentence]));

  it('a service whose name no host name can have', () => {
    expect(broken({ serviceName: 'a.b' })[0]).toMatch(/^spec.serviceName: invalid value "a.b": must consist of/);
  });

  it('a name that no label can have', () => {
    const fields = (name: string) => validateMetadata(kind, { name, namespace: 'default' }).map(({ field }) => field);
    expect([fields('db'), fields('d.b'), fields('d'.repeat(64))]).toEqual([[], ['metadata.name'], ['metadata.name']]);
  });
});

it('lets containers mount the claims that it makes, and nothing else that is not listed', () => {
  const spec = { volumeClaimTemplates: [claim('data')] };
  expect(broken(spec, mounting('data'))).toEqual([]);
  expect(broken(spec, mounting('other'))).toEqual([
    'spec.template.spec.containers[0].volumeMounts[0].name: invalid value "other": must be the name of one of spec.volumes',
  ]);
});

describe('an update', () => {
  const before = { volumeClaimTemplates: [claim('data')], serviceName: 'db' };
  const refused = (spec: Json): string[] =>
    kind.validateUpdate(setOf({ ...before, ...spec }), setOf(before)).map(({ field, description }) => `${field}: ${description}`);

  it.each<[string, Json]>([
    ['replicas', { replicas: 3 }],
    ['ordinals', { ordinals: { start: 1 } }],
    ['template', { template: { metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'other', image: 'y' }] } } }],
    ['updateStrategy', { updateStrategy: { type: 'OnDelete' } }],
    ['revisionHistoryLimit', { revisionHistoryLimit: 1 }],
    ['persistentVolumeClaimRetentionPolicy', { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } }],
    ['minReadySeconds', { minReadySeconds: 3 }],
    ['how a quantity is written', { volumeClaimTemplates: [claim('data', { resources: { requests: { storage: '1024Mi' } } })] }],
  ])('may change %s', (_title, spec) => expect(refused(spec)).toEqual([]));

  const sentence =
    "forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
  it.each<[string, Json, string]>([
    ['serviceName', { serviceName: 'other' }, 'spec.serviceName'],
    ['podManagementPolicy', { podManagementPolicy: 'Parallel' }, 'spec.podManagementPolicy'],
    ['the selector', { selector: { matchLabels: { app: 'db', tier: 'a' } } }, 'spec.selector.matchLabels.tier'],
    [
      'the size of claims',
      { volumeClaimTemplates: [claim('data', { resources: { requests: { storage: '2Gi' } } })] },
      'spec.volumeClaimTemplates[0].spec.resources.requests.storage',
    ],
    ['how many claims there are', { volumeClaimTemplates: [claim('data'), claim('logs')] }, 'spec.volumeClaimTemplates'],
  ])('may not change %s', (_title, spec, field) => expect(refused(spec)).toEqual([`${field}: ${sentence}`]));

  it('tells everything at once that may not change', () => {
    const spec = { serviceName: 'other', podManagementPolicy: 'Parallel', volumeClaimTemplates: [] };
    const fields = refused(spec).map((each) => each.split(':')[0]);
    expect(fields.sort()).toEqual(['spec.podManagementPolicy', 'spec.serviceName', 'spec.volumeClaimTemplates']);
  });
});

describe('the claims in JSON form', () => {
  it('are objects with a kind, which may be left out', () => {
    const typed = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claim('data') };
    const read = fromJson<StatefulSet>(kind, jsonOf({ volumeClaimTemplates: [typed] }));
    expect(read).toEqual(fromJson<StatefulSet>(kind, jsonOf({ volumeClaimTemplates: [claim('data')] })));
    expect((toJson(kind, read).spec as Json).volumeClaimTemplates).toEqual([typed]);
  });

  it('are refused as objects of another kind', () => {
    const typed = { apiVersion: 'v2', kind: 'Pod', ...claim('data') };
    expect(readObject(kind, jsonOf({ volumeClaimTemplates: [typed] })).violations).toMatchObject([
      { field: 'spec.volumeClaimTemplates[0].apiVersion', description: 'must be "v1"' },
      { field: 'spec.volumeClaimTemplates[0].kind', description: 'must be "PersistentVolumeClaim"' },
    ]);
  });
});
