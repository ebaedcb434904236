import { describe, expect, it } from 'vitest';
import { fromJson } from '../codec/json.ts';
import type { JsonObject } from '../meta/merge-patch.ts';
import { type KindMap, type KindName, kindNamed } from './index.ts';
import type { Kind } from './kind.ts';

function objectOf<Name extends KindName>(name: Name, fields: JsonObject): KindMap[Name] {
  const kind = kindNamed(name) as Kind;
  const metadata = { name: 'a.example.com', ...(kind.namespaced && { namespace: 'default' }) };
  const object = fromJson(kind, { apiVersion: kind.apiVersion, kind: name, metadata, ...fields });
  kind.defaults(object);
  return object as KindMap[Name];
}
const fields = (list: readonly { field: string }[]): string[] => list.map(({ field }) => field);
const judge = (name: KindName, object: JsonObject): string[] =>
  fields((kindNamed(name) as Kind).validate(objectOf(name, object)));
const change = (name: KindName, next: JsonObject, previous: JsonObject): string[] =>
  fields((kindNamed(name) as Kind).validateUpdate(objectOf(name, next), objectOf(name, previous)));
const shown = (name: KindName, fields: JsonObject): string[] =>
  (kindNamed(name) as Kind).columns
    .filter(({ type }) => type !== 'date')
    .slice(1)
    .map(({ cell }) => cell(objectOf(name, fields), new Date(0)));

const driver = (spec: JsonObject): JsonObject => ({ spec });

describe('a CSIDriver', () => {
  it.each<[string, JsonObject, string[]]>([
    ['nothing', {}, []],
    ['a policy that does not exist', { fsGroupPolicy: 'Never' }, ['spec.fsGroupPolicy']],
    ['modes', { volumeLifecycleModes: ['Ephemeral', 'Persistent'] }, []],
    ['a mode twice', { volumeLifecycleModes: ['Persistent', 'Persistent'] }, ['spec.volumeLifecycleModes[1]']],
    ['a mode that does not exist', { volumeLifecycleModes: ['Odd'] }, ['spec.volumeLifecycleModes[0]']],
    [
      'tokens',
      { tokenRequests: [{ audience: '' }, { audience: 'a', expirationSeconds: 600 }], serviceAccountTokenInSecrets: true },
      [],
    ],
    [
      'tokens that are too short, or twice',
      { tokenRequests: [{ audience: 'a', expirationSeconds: 599 }, { audience: 'a' }] },
      ['spec.tokenRequests[0].expirationSeconds', 'spec.tokenRequests[1].audience'],
    ],
    ['secrets without tokens', { serviceAccountTokenInSecrets: false }, ['spec.serviceAccountTokenInSecrets']],
    ['too many questions', { nodeAllocatableUpdatePeriodSeconds: 9 }, ['spec.nodeAllocatableUpdatePeriodSeconds']],
  ])('is judged when it has %s', (_title, spec, expected) => expect(judge('CSIDriver', driver(spec))).toEqual(expected));

  it('has a name of at most 63 characters', () => {
    const object = objectOf('CSIDriver', driver({}));
    object.metadata = { name: 'a'.repeat(64) };
    expect(fields(kindNamed('CSIDriver').validate(object))).toEqual(['metadata.name']);
  });

  it("has Kubernetes' defaults, and keeps how it attaches volumes", () => {
    expect(objectOf('CSIDriver', {}).spec).toEqual({
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      requiresRepublish: false,
      seLinuxMount: false,
      volumeLifecycleModes: ['Persistent'],
    });
    const next = driver({ attachRequired: false, volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true });
    expect(change('CSIDriver', next, driver({}))).toEqual(['spec.attachRequired', 'spec.volumeLifecycleModes']);
    expect(change('CSIDriver', driver({ podInfoOnMount: true }), driver({}))).toEqual([]);
  });

  it('is shown as kubectl does', () => {
    expect(shown('CSIDriver', {})).toEqual(['true', 'false', 'false', '<unset>', 'false', 'Persistent']);
    expect(shown('CSIDriver', driver({ tokenRequests: [{ audience: 'a' }, { audience: 'b' }] }))[3]).toBe('a,b');
  });
});

const node = (...drivers: JsonObject[]): JsonObject => ({ spec: { drivers } });
const onNode = { name: 'a.example.com', nodeID: 'n1' };

describe('a CSINode', () => {
  it.each<[string, JsonObject, string[]]>([
    ['no drivers', node(), []],
    ['a driver', node({ ...onNode, topologyKeys: ['example.com/zone'], allocatable: { count: 0 } }), []],
    ['a driver twice', node(onNode, onNode), ['spec.drivers[1].name']],
    ['a driver without name and id', node({}), ['spec.drivers[0].name', 'spec.drivers[0].nodeID']],
    ['an id of 257 bytes', node({ ...onNode, nodeID: 'n'.repeat(257) }), ['spec.drivers[0].nodeID']],
    [
      'keys that are none, or twice',
      node({ ...onNode, topologyKeys: ['a b', 'c', 'c'] }),
      ['spec.drivers[0].topologyKeys[0]', 'spec.drivers[0].topologyKeys[2]'],
    ],
    ['less than no volumes', node({ ...onNode, allocatable: { count: -1 } }), ['spec.drivers[0].allocatable.count']],
  ])('is judged when it has %s', (_title, object, expected) => expect(judge('CSINode', object)).toEqual(expected));

  it('keeps what it says of a driver, but for the number of its volumes', () => {
    expect(change('CSINode', node({ ...onNode, allocatable: { count: 3 } }), node(onNode))).toEqual([]);
    expect(change('CSINode', node({ ...onNode, nodeID: 'n2' }), node(onNode))).toEqual(['spec.drivers[0]']);
    expect(change('CSINode', node({ ...onNode, name: 'b.example.com', nodeID: 'n2' }), node(onNode))).toEqual([]);
    expect(shown('CSINode', node(onNode))).toEqual(['1']);
  });
});

describe('a CSIStorageCapacity', () => {
  it.each<[string, JsonObject, string[]]>([
    ['a class', { storageClassName: 'fast' }, []],
    ['no class', {}, ['storageClassName']],
    ['a class that is none', { storageClassName: 'A' }, ['storageClassName']],
    [
      'nodes that are none',
      { storageClassName: 'a', nodeTopology: { matchLabels: { 'a b': 'c' } } },
      ['nodeTopology.matchLabels[a b]'],
    ],
    ['negative amounts', { storageClassName: 'a', capacity: '-1', maximumVolumeSize: '-1' }, ['capacity', 'maximumVolumeSize']],
  ])('is judged when it has %s', (_title, object, expected) => expect(judge('CSIStorageCapacity', object)).toEqual(expected));

  it('keeps its class and nodes, and is shown with its room', () => {
    const before = { storageClassName: 'a', capacity: '1Gi' };
    expect(change('CSIStorageCapacity', { ...before, capacity: '2Gi' }, before)).toEqual([]);
    const next = { storageClassName: 'b', nodeTopology: {} };
    expect(change('CSIStorageCapacity', next, before)).toEqual(['nodeTopology', 'storageClassName']);
    expect(shown('CSIStorageCapacity', before)).toEqual(['a', '1Gi']);
    expect(shown('CSIStorageCapacity', { storageClassName: 'a' })).toEqual(['a', '<unset>']);
  });
});

const attachment = (spec: JsonObject = {}): JsonObject => ({
  spec: { attacher: 'a.example.com', source: { persistentVolumeName: 'v' }, nodeName: 'n1', ...spec },
});

describe('a VolumeAttachment', () => {
  it.each<[string, JsonObject, string[]]>([
    ['a volume and a node', attachment(), []],
    ['a volume of its own', attachment({ source: { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'] } } }), []],
    ['no volume', attachment({ source: {} }), ['spec.source']],
    ['two volumes', attachment({ source: { persistentVolumeName: 'v', inlineVolumeSpec: {} } }), ['spec.source']],
    ['a volume without a name', attachment({ source: { persistentVolumeName: '' } }), ['spec.source.persistentVolumeName']],
    ['neither a driver nor a node', attachment({ attacher: '', nodeName: '' }), ['spec.attacher', 'spec.nodeName']],
  ])('is judged when it has %s', (_title, object, expected) => expect(judge('VolumeAttachment', object)).toEqual(expected));

  it('keeps its spec, and has a status of bounded size', () => {
    const kind = kindNamed('VolumeAttachment');
    expect(change('VolumeAttachment', attachment({ nodeName: 'n2' }), attachment())).toEqual(['spec']);
    const status = (value: JsonObject) =>
      fields(kind.validateStatusUpdate!(objectOf('VolumeAttachment', { ...attachment(), status: value }), {}));
    expect(status({ attached: true, attachError: { message: 'x', errorCode: 3 } })).toEqual([]);
    expect(status({ attachmentMetadata: { a: 'x'.repeat(256 * 1024) } })).toEqual(['status.attachmentMetadata']);
    expect(status({ detachError: { message: 'x'.repeat(1025), errorCode: -1 } })).toEqual([
      'status.detachError.message',
      'status.detachError.errorCode',
    ]);
    expect(shown('VolumeAttachment', { ...attachment(), status: { attached: true } })).toEqual([
      'a.example.com',
      'v',
      'n1',
      'true',
    ]);
  });
});

it.each<[KindName, JsonObject]>([
  ['CSIDriver', {}],
  ['CSINode', node(onNode)],
  ['CSIStorageCapacity', { storageClassName: 'a' }],
  ['VolumeAttachment', attachment()],
])('an object of kind %s is stored with a warning', (name, object) => {
  expect((kindNamed(name) as Kind).warnings!(objectOf(name, object))).toEqual([expect.stringContaining('is not acted on: ')]);
});
