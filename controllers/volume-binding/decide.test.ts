import { describe, expect, it } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { boundVolume } from '../../api/kinds/volume-matching.ts';
import { claim, storageClass, volume } from '../../test/builders/index.ts';
import { boundClaim, decideClaim, decideVolume, unboundVolume } from './decide.ts';

const decideWith = (classes: StorageClass[], wanted: PersistentVolumeClaim, volumes: PersistentVolume[]) =>
  decideClaim(wanted, {
    named: (name) => volumes.find(({ metadata }) => metadata?.name === name),
    candidates: () => volumes,
    classNamed: (name) => classes.find(({ metadata }) => metadata?.name === name),
    defaultClass: () => classes.find(({ metadata }) => metadata?.annotations !== undefined),
  });
const decide = (wanted: PersistentVolumeClaim, ...volumes: PersistentVolume[]) => decideWith([], wanted, volumes);

/** The volume that is bound, or what is told, or only that it waits. */
const outcome = (...args: Parameters<typeof decide>): string => worded(decide(...args));

function worded(decision: ReturnType<typeof decide>): string {
  if (decision.kind === 'bind') return decision.volume.metadata?.name ?? '';
  if (decision.kind === 'class') return `class ${decision.name}`;
  return decision.note ? `${decision.kind}: ${decision.note.reason}: ${decision.note.message}` : decision.kind;
}

const none = 'wait: FailedBinding: no persistent volumes available for this claim and no storage class is set';
const tooLate = volume('v').phase('Released').keptFor('default/old', 'uid-old').build();

describe('a claim without a volume', () => {
  it.each([
    ['gets a volume of its size', claim('c').size('1Gi'), [volume('v').size('1Gi')], 'v'],
    ['gets a larger one', claim('c').size('1Gi'), [volume('v').size('2Gi')], 'v'],
    ['gets the smallest that will do', claim('c').size('1Gi'), [volume('large').size('9Gi'), volume('v').size('2Gi')], 'v'],
    ['compares sizes exactly, whatever their units', claim('c').size('1Gi'), [volume('v').size('1073741823')], none],
    ['compares enormous sizes', claim('c').size('8Ei'), [volume('v').size('9223372036854775808')], 'v'],
    ['takes none that is too small', claim('c').size('2Gi'), [volume('v').size('1Gi')], none],
    ['takes none without its access modes', claim('c').modes('ReadWriteMany'), [volume('v').modes('ReadWriteOnce')], none],
    [
      'prefers a volume that can do no more than is asked for, although it is larger',
      claim('c').size('1Gi').modes('ReadWriteOnce'),
      [volume('a').size('1Gi').modes('ReadWriteOnce', 'ReadWriteMany'), volume('v').size('5Gi').modes('ReadWriteOnce')],
      'v',
    ],
    ['takes equal ones in the order of their names', claim('c'), [volume('v2'), volume('v1')], 'v1'],
    [
      'takes none of another class, and fails when its own does not exist',
      claim('c').storageClass('fast'),
      [volume('v')],
      'wait: ProvisioningFailed: storageclass.storage.k8s.io "fast" not found',
    ],
    ['takes one of its class', claim('c').storageClass('fast'), [volume('slow'), volume('v').storageClass('fast')], 'v'],
    ['takes one without a class when it names the empty class', claim('c').storageClass(''), [volume('v')], 'v'],
    ['takes none with a class when it names none', claim('c'), [volume('v').storageClass('fast')], none],
    [
      'takes one whose labels it selects',
      claim('c').selecting({ tier: 'a' }),
      [volume('x'), volume('v').labelled({ tier: 'a' })],
      'v',
    ],
    [
      'takes none whose labels it does not select',
      claim('c').selecting({ tier: 'a' }),
      [volume('v').labelled({ tier: 'b' })],
      none,
    ],
    ['takes none that is not available yet', claim('c'), [volume('v').phase('Pending')], none],
    ['takes none that is on its way out', claim('c'), [volume('v').leaving()], none],
    ['takes none that nothing protects yet', claim('c'), [volume('v').unprotected()], none],
    ['takes none that is kept for another', claim('c'), [volume('v').keptFor('default/other')], none],
    [
      'takes the one that is kept for it, also if another fits better',
      claim('c'),
      [volume('a'), volume('v').keptFor('default/c').storageClass('x')],
      'v',
    ],
    [
      'takes none that was kept for a claim of its name that is gone',
      claim('c'),
      [volume('v').keptFor('default/c', 'uid-old')],
      none,
    ],
    [
      'goes on with the one that it was being bound to',
      claim('c'),
      [volume('a'), volume('v').keptFor('default/c', 'uid-c').phase('Bound')],
      'v',
    ],
    ['goes on also when that one is to go meanwhile', claim('c'), [volume('v').keptFor('default/c', 'uid-c').leaving()], 'v'],
    ['waits until it is protected', claim('c').unprotected(), [volume('v')], 'wait'],
    ['gets nothing when it is to go', claim('c').leaving(), [volume('v')], 'wait'],
  ] as const)('%s', (_title, wanted, volumes, expected) => {
    expect(outcome(wanted.build(), ...volumes.map((each) => each.build()))).toBe(expected);
  });
});

describe('a claim of a class', () => {
  const fast = claim('c').storageClass('fast');
  const free = volume('v').storageClass('fast');
  const noPod = 'wait: WaitForFirstConsumer: waits for a pod that uses it: its volume will be where that pod goes';
  const sc = storageClass('fast');
  it.each([
    ['gets a free volume at once when its class says so', sc, fast, [free], 'v'],
    ['leaves free volumes to the pod that comes when its class says so', sc.waiting(), fast, [free], noPod],
    [
      'leaves them also while its pod is being placed',
      sc.waiting(),
      fast.selected('n1'),
      [free],
      /^wait: ProvisioningFailed: no volume of/,
    ],
    ['gets the volume that was chosen for it', sc.waiting(), fast, [free.keptFor('default/c', 'uid-c')], 'v'],
    ['waits for a volume where none is made', sc, fast, [], /^wait: ProvisioningFailed: no volume of class "fast" fits/],
    ['asks a provisioner', sc.provisioner('a.b/c'), fast, [], /^provision: ExternalProvisioning: waits for provisioner "a.b\/c"/],
    ['asks no provisioner before its pod has a node', sc.provisioner('a.b/c').waiting(), fast, [], noPod],
    ['asks when it has one', sc.provisioner('a.b/c').waiting(), fast.selected('n1'), [], /^provision: /],
    ["leaves folders to Berth's own", sc.provisioner('berth.io/local-path').waiting(), fast.selected('n1'), [], 'wait'],
    ['gets the default class when it names none', sc.byDefault(), claim('c'), [free], 'class fast'],
    ['gets no class when a volume without one is there', sc.byDefault(), claim('c'), [volume('v')], 'v'],
    ['gets no class when it wants none', sc.byDefault(), claim('c').storageClass(''), [], none],
  ] as const)('%s', (_title, itsClass, wanted, volumes, expected) => {
    const made = volumes.map((each) => each.build());
    expect(worded(decideWith([itsClass.build()], wanted.build(), made))).toMatch(expected);
  });
});

describe('a claim that names its volume', () => {
  const mismatch = (why: string) => `wait: VolumeMismatch: Cannot bind to requested volume "v": ${why}`;
  it.each([
    ['gets it', claim('c').on('v'), [volume('v')], 'v'],
    ['gets it though its labels are not selected', claim('c').on('v').selecting({ a: 'b' }), [volume('v')], 'v'],
    ['waits until it exists', claim('c').on('v'), [volume('other')], 'wait'],
    [
      'is told that it is too small',
      claim('c').on('v').size('2Gi'),
      [volume('v').size('1Gi')],
      mismatch('requested PV is too small'),
    ],
    [
      'is told of another class',
      claim('c').on('v').storageClass('a'),
      [volume('v')],
      mismatch('storageClassName does not match'),
    ],
    [
      'is told of access modes',
      claim('c').on('v').modes('ReadWriteMany'),
      [volume('v').modes('ReadWriteOnce')],
      mismatch('incompatible accessMode'),
    ],
    [
      'is told that another has it',
      claim('c').on('v'),
      [volume('v').keptFor('default/other', 'u')],
      'wait: FailedBinding: volume "v" already bound to a different claim.',
    ],
  ] as const)('%s', (_title, wanted, volumes, expected) => {
    expect(outcome(wanted.build(), ...volumes.map((each) => each.build()))).toBe(expected);
  });
});

describe('a bound claim', () => {
  const bound = claim('c').on('v').bound();
  it.each([
    ['stays as it is', bound, [volume('v').keptFor('default/c', 'uid-c')], 'v'],
    ['gives its volume back a claimRef that was taken away', bound, [volume('v')], 'v'],
    [
      'is lost without its volume',
      bound,
      [],
      'lost: ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!',
    ],
    [
      'is lost when its volume is bound to another claim',
      bound,
      [volume('v').keptFor('default/other', 'u')],
      'lost: ClaimMisbound: Two claims are bound to the same volume, this one is bound incorrectly',
    ],
  ] as const)('%s', (_title, wanted, volumes, expected) => {
    expect(outcome(wanted.build(), ...volumes.map((each) => each.build()))).toBe(expected);
  });
});

describe('a volume', () => {
  const of = (made: ReturnType<typeof volume>, owner?: ReturnType<typeof claim>) => decideVolume(made.build(), owner?.build());
  it('is available without a claim, and while the claim that it is kept for does not exist', () => {
    expect(of(volume('v'))).toMatchObject({ status: { phase: 'Available' } });
    expect(of(volume('v').keptFor('default/c'), claim('c'))).toMatchObject({ status: { phase: 'Available' } });
  });

  it('is bound once its claim names it', () => {
    const given = volume('v').keptFor('default/c', 'uid-c');
    expect(of(given, claim('c'))).toEqual({ kind: 'none' });
    expect(of(given, claim('c').on('v'))).toMatchObject({ status: { phase: 'Bound' } });
  });

  it('is let go when its claim took another', () => {
    const given = volume('v').keptFor('default/c', 'uid-c');
    expect(of(given, claim('c').on('other'))).toEqual({ kind: 'unbind' });
    expect(unboundVolume(given.build())).toEqual({ spec: { claimRef: { uid: null, resourceVersion: null } } });
    expect(unboundVolume(given.chosenByController().build())).toMatchObject({ spec: { claimRef: null } });
  });

  it('is released when its claim is gone, or another of its name has come', () => {
    const given = volume('v').keptFor('default/c', 'uid-old');
    expect(of(given)).toEqual({ kind: 'phase', status: { phase: 'Released' } });
    expect(of(given, claim('c'))).toEqual({ kind: 'phase', status: { phase: 'Released' } });
  });

  it('is deleted after its claim when it was made for it, unless it is to stay', () => {
    const made = volume('v').madeOn('n1').keptFor('default/c', 'uid-old').reclaim('Delete');
    expect(of(made)).toEqual({ kind: 'reclaim' });
    expect(of(made.reclaim('Retain'))).toEqual({ kind: 'phase', status: { phase: 'Released' } });
    const elsewhere = { 'pv.kubernetes.io/provisioned-by': 'example.com/disks' };
    const theirs = made.with(({ metadata }) => void Object.assign(metadata!, { annotations: elsewhere }));
    expect(of(theirs)).toEqual({ kind: 'phase', status: { phase: 'Released' } });
  });

  it('is deleted when it was made for a claim that took another', () => {
    const made = volume('v').madeOn('n1').keptFor('default/c', 'uid-c').reclaim('Delete');
    expect(of(made, claim('c').on('other'))).toEqual({ kind: 'reclaim' });
  });

  it.each([
    ['Delete', 'VolumeFailedDelete'],
    ['Recycle', 'VolumeFailedRecycle'],
  ])('with the policy %s fails in the end where a person made it, because nothing here deletes their data', (policy, reason) => {
    const decision = of(volume('v').keptFor('default/c', 'uid-old').reclaim(policy));
    expect(decision).toMatchObject({ status: { phase: 'Failed', reason }, note: { type: 'Warning', reason } });
  });
});

describe('what is written of a binding', () => {
  it('is nothing when all of it is there', () => {
    const given = volume('v').keptFor('default/c', 'uid-c').build();
    expect(boundVolume(given, claim('c').build())).toBeUndefined();
    expect(boundClaim(claim('c').on('v').bound().build(), given)).toBeUndefined();
  });

  it('says who chose: the controller, or a person beforehand', () => {
    const chosen = { metadata: { annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } } };
    expect(boundVolume(volume('v').build(), claim('c').build())).toMatchObject({
      ...chosen,
      spec: { claimRef: { uid: 'uid-c' } },
    });
    expect(boundVolume(volume('v').keptFor('default/c').build(), claim('c').build())).not.toHaveProperty('metadata');
    expect(boundClaim(claim('c').build(), volume('v').build())).toMatchObject({ ...chosen, spec: { volumeName: 'v' } });
    expect(boundClaim(claim('c').on('v').build(), volume('v').build())).not.toMatchObject(chosen);
  });

  it('is not undone by a second look: a released volume has no claim until a person takes the claimRef away', () => {
    expect(outcome(claim('c').build(), tooLate)).toBe(none);
  });
});
