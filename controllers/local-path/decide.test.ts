import { describe, expect, it } from 'vitest';
import type { StorageClass } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { localPathClass } from '../../api/kinds/storage-class/local-path.ts';
import { type ClaimBuilder, claim, node, volume } from '../../test/builders/index.ts';
import { awaitedNode, type ClaimScene, decideClaim } from './decide.ts';

const n1 = node('n1').with(
  ({ metadata }) => void Object.assign(metadata!, { annotations: { 'berth.io/local-path-folder': '/data' } }),
);
const base: ClaimScene = { storageClass: localPathClass, node: n1.build(), hasVolume: false };
const wanted = claim('c').storageClass('local-path').selected('n1');
const classWith = (more: StorageClass): Partial<ClaimScene> => ({ storageClass: { ...localPathClass, ...more } });

function outcome(of: ClaimBuilder, scene: Partial<ClaimScene> = {}): string {
  const decision = decideClaim(of.build(), { ...base, ...scene });
  return 'message' in decision ? `${decision.kind}: ${decision.message}` : decision.kind;
}

describe('a claim of a local-path class', () => {
  it.each<[string, ClaimBuilder, Partial<ClaimScene>, string | RegExp]>([
    ['gets a volume once its pod has a node', wanted, {}, 'make'],
    ["does so under the provisioner's name of K3s", wanted, classWith({ provisioner: 'rancher.io/local-path' }), 'make'],
    ['gets one for a single pod', wanted.modes('ReadWriteOncePod'), {}, 'make'],
    ['waits until its pod has a node', claim('c').storageClass('local-path'), {}, 'none'],
    ['waits until it is protected', wanted.unprotected(), {}, 'none'],
    ['gets nothing when it is to go', wanted.leaving(), {}, 'none'],
    ['gets no second one', wanted, { hasVolume: true }, 'none'],
    ['gets none when it names another', wanted.on('v'), {}, 'none'],
    ['is not ours with another provisioner', wanted, classWith({ provisioner: 'example.com/disks' }), 'none'],
    ['is not ours without its class', wanted, { storageClass: undefined }, 'none'],
    [
      'is sent elsewhere when the node is gone',
      wanted,
      { node: undefined },
      /^elsewhere: node "n1", where its pod was to go, is gone/,
    ],
    ['is sent elsewhere when the agent is too old', wanted, { node: node('n1').build() }, /^elsewhere: the agent of node "n1"/],
    [
      'is told of a class that binds at once',
      wanted,
      classWith({ volumeBindingMode: 'Immediate' }),
      /^failed: class "local-path" .*needs volumeBindingMode/,
    ],
    ['is told of parameters', wanted, classWith({ parameters: { nodePath: '/x' } }), /^failed: .* has the parameter "nodePath"/],
    ['is told of access modes', wanted.modes('ReadWriteOnce', 'ReadWriteMany'), {}, /^failed: access mode "ReadWriteMany"/],
    ['is told of its selector', wanted.selecting({ a: 'b' }), {}, /^failed: .*selector/],
  ])('%s', (_title, of, scene, expected) => {
    expect(outcome(of, scene)).toMatch(expected);
  });
});

describe('a volume that is made', () => {
  const made = (of: ClaimBuilder) => {
    const decision = decideClaim(of.build(), base);
    if (decision.kind !== 'make') throw new Error(decision.kind);
    return decision.volume;
  };

  it('is a folder of the node, kept for the claim, of its size, its modes and its class', () => {
    const { metadata, spec } = made(wanted.size('2Gi'));
    expect(metadata?.name).toBe('pvc-uid-c');
    expect(metadata?.finalizers).toEqual(['kubernetes.io/pv-protection', 'berth.io/local-path']);
    expect(spec).toMatchObject({
      capacity: { storage: { string: '2Gi' } },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: 'local-path',
      claimRef: { namespace: 'default', name: 'c', uid: 'uid-c' },
      persistentVolumeSource: { local: { path: '/data/pvc-uid-c_default_c' } },
    });
  });

  it('is one that the server accepts', () => {
    const kind = kindNamed('PersistentVolume');
    const volume = made(wanted);
    kind.defaults(volume);
    expect(kind.validate(volume)).toEqual([]);
    expect(kind.selectableFields['spec.local.nodeName']?.(volume)).toBe('n1');
  });

  it('has a folder with a name that file systems take, however long the names of claim and namespace', () => {
    const long = claim('c'.repeat(253), 'n'.repeat(63)).storageClass('local-path').selected('n1');
    const name = made(long).spec?.persistentVolumeSource?.local?.path?.slice('/data/'.length) ?? '';
    expect(name).toHaveLength(255);
  });
});

it('waits for the agent of its node once it is deleted, and only then', () => {
  const made = volume('v').madeOn('n1');
  expect(awaitedNode(made.leaving().build())).toBe('n1');
  expect(awaitedNode(made.build())).toBeUndefined();
  expect(awaitedNode(volume('v').leaving().build())).toBeUndefined();
});
