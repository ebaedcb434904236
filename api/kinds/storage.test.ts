import { describe, expect, it } from 'vitest';
import { claim, volume } from '../../test/builders/index.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../generated/types.ts';
import { persistentVolume } from './persistent-volume/kind.ts';
import { persistentVolumeClaim } from './persistent-volume-claim/kind.ts';

const fields = (list: readonly { field: string }[]) => list.map(({ field }) => field);
const now = new Date(0);

describe('a PersistentVolume', () => {
  const broken = (spec: PersistentVolume['spec']) =>
    fields(
      persistentVolume.validate(
        volume('v')
          .with((made) => Object.assign(made.spec!, spec))
          .build(),
      ),
    );
  const source = (persistentVolumeSource: NonNullable<PersistentVolume['spec']>['persistentVolumeSource']) =>
    persistentVolumeSource ? { persistentVolumeSource } : {};

  it.each([
    ['is good as the builder makes it', {}, []],
    ['says how it may be used', { accessModes: [] }, ['spec.accessModes']],
    ['may be used in known ways', { accessModes: ['ReadWriteTwice'] }, ['spec.accessModes[0]']],
    ['is for one pod, or not', { accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] }, ['spec.accessModes']],
    ['has a size', { capacity: {} }, ['spec.capacity']],
    ['has a size that is more than nothing', { capacity: { storage: { string: '0' } } }, ['spec.capacity[storage]']],
    ['has a size that is an amount', { capacity: { storage: { string: '-1Gi' } } }, ['spec.capacity[storage]']],
    ['has no other amounts', { capacity: { storage: { string: '1' }, cpu: { string: '1' } } }, ['spec.capacity']],
    ['has one source', source({ hostPath: { path: '/a' }, local: { path: '/b' } }), ['spec', 'spec.nodeAffinity']],
    ['has an absolute path', source({ hostPath: { path: 'a' } }), ['spec.hostPath.path']],
    ['has a path without steps back', source({ hostPath: { path: '/a/../b' } }), ['spec.hostPath.path']],
    ['of a node says of which', source({ local: { path: '/b' } }), ['spec.nodeAffinity']],
    ['is not of a CSI driver', source({ csi: { driver: 'd' } }), ['spec.csi']],
    ['is a folder', { volumeMode: 'Block' }, ['spec.volumeMode']],
    ['has a known policy', { persistentVolumeReclaimPolicy: 'Shred' }, ['spec.persistentVolumeReclaimPolicy']],
    ['is for nodes that are named', { nodeAffinity: {} }, ['spec.nodeAffinity.required']],
  ])('%s', (_title, spec, expected) => {
    expect(broken(spec)).toEqual(expected);
  });

  it('warns of a policy that is not acted on', () => {
    expect(persistentVolume.warnings?.(volume('v').reclaim('Delete').build())).toEqual([]);
    expect(persistentVolume.warnings?.(volume('v').reclaim('Recycle').build())).toEqual([
      expect.stringContaining('spec.persistentVolumeReclaimPolicy'),
    ]);
  });

  it('gets nodes once, and keeps its source for ever', () => {
    const [free, here] = [volume('v').build(), volume('v').onHost('n1').build()];
    expect(persistentVolume.validateUpdate(here, free)).toEqual([]);
    expect(fields(persistentVolume.validateUpdate(free, here))).toEqual(['spec.nodeAffinity']);
  });

  it('is shown as kubectl shows it', () => {
    const made = volume('v').modes('ReadWriteMany', 'ReadWriteOnce').keptFor('default/c', 'u').phase('Bound').build();
    const cells = Object.fromEntries(persistentVolume.columns.map(({ name, cell }) => [name, cell(made, now)]));
    expect(cells).toMatchObject({
      CAPACITY: '1Gi',
      'ACCESS MODES': 'RWO,RWX',
      'RECLAIM POLICY': 'Retain',
      STATUS: 'Bound',
      CLAIM: 'default/c',
      VOLUMEATTRIBUTESCLASS: '<unset>',
    });
  });
});

describe('a PersistentVolumeClaim', () => {
  const changed = (next: PersistentVolumeClaim, old = claim('c').build()) =>
    fields(persistentVolumeClaim.validateUpdate(next, old));

  it('asks for a size, and for ways of use', () => {
    expect(fields(persistentVolumeClaim.validate({ spec: {} }))).toHaveLength(2);
    expect(persistentVolumeClaim.validate(claim('c').size('8Ei').build())).toEqual([]);
    expect(fields(persistentVolumeClaim.validate(claim('c').storageClass('Not a name').build()))).toEqual([
      'spec.storageClassName',
    ]);
  });

  it('gets its volume once, and a class while it has none and no volume', () => {
    expect(changed(claim('c').on('v').build())).toEqual([]);
    expect(changed(claim('c').on('w').build(), claim('c').on('v').build())).toEqual(['spec.volumeName']);
    expect(changed(claim('c').storageClass('fast').build())).toEqual([]);
    expect(changed(claim('c').on('v').storageClass('fast').build(), claim('c').on('v').build())).toEqual([
      'spec.storageClassName',
    ]);
  });

  it('tells everything at once that may not change', () => {
    const wider = claim('c').size('2Gi').modes('ReadWriteMany').build();
    expect(changed(wider).sort()).toEqual(['spec.accessModes[0]', 'spec.resources.requests.storage']);
  });

  it('shows what its volume gives it only when it has one', () => {
    const shown = (made: PersistentVolumeClaim) => persistentVolumeClaim.columns.slice(1, 5).map(({ cell }) => cell(made, now));
    expect(shown(claim('c').build())).toEqual(['Pending', '', '', '']);
    const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: { string: '2Gi' } } };
    expect(shown({ ...claim('c').on('v').build(), status })).toEqual(['Bound', 'v', '2Gi', 'RWO']);
    expect(shown(claim('c').leaving().build())[0]).toBe('Terminating');
  });
});
