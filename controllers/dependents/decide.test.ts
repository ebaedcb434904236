import { describe, expect, it } from 'vitest';
import type { ObjectMeta, OwnerReference } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { decideDependent, decideOwner, type JudgedOwner, type OwnerState } from './decide.ts';

const object = (metadata: ObjectMeta = {}): ApiObject => ({ metadata: { name: 'o', uid: 'o', ...metadata } });
const reference = (uid: string, more: Partial<OwnerReference> = {}): OwnerReference => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid },
  ...more,
});
const owners = (...states: OwnerState[]): JudgedOwner[] =>
  states.map((state, i) => ({ reference: reference(`owner-${i}`), state }));
const deleting = { deletionTimestamp: { seconds: 1 }, deletionGracePeriodSeconds: 0 };
const waits = object({ ...deleting, finalizers: ['foregroundDeletion'] });
const remove = (propagationPolicy: string, unblock = false) => ({ type: 'delete', propagationPolicy, unblock });

describe('an object with owners', () => {
  it.each<[string, ApiObject, JudgedOwner[], ApiObject[], object]>([
    ['stays without owners', object(), [], [], { type: 'keep' }],
    ['stays while all exist', object(), owners('present', 'present'), [], { type: 'keep' }],
    ['goes when none exists', object(), owners('absent', 'absent'), [], remove('Background')],
    ['goes with an owner that waits for it', object(), owners('waiting'), [], remove('Background')],
    ['goes when one waits and the others do not exist', object(), owners('waiting', 'absent'), [], remove('Background')],
    ['waits in turn for its own dependents', object(), owners('waiting'), [object()], remove('Foreground')],
    ['does not wait for them when no owner waits for it', object(), owners('absent'), [object()], remove('Background')],
    ['keeps no dependent waiting that waits for it', object(), owners('waiting'), [waits], remove('Foreground', true)],
    [
      'orphans its dependents when it was told to',
      object({ finalizers: ['orphan'] }),
      owners('absent'),
      [object()],
      remove('Orphan'),
    ],
    ['waits when it was told to', object({ finalizers: ['foregroundDeletion'] }), owners('absent'), [], remove('Foreground')],
  ])('%s', (_, dependent, judged, dependents, expected) => {
    expect(decideDependent(dependent, judged, () => dependents)).toEqual(expected);
  });

  it('loses the references to owners that are gone, or waiting, while another exists', () => {
    expect(decideDependent(object(), owners('absent', 'present', 'waiting'), () => [])).toEqual({
      type: 'release',
      ownerReferences: [reference('owner-1')],
    });
  });
});

describe('an object that is being deleted', () => {
  const dependent = (blockOwnerDeletion?: boolean) =>
    object({ uid: 'd', ownerReferences: [reference('o', blockOwnerDeletion === undefined ? {} : { blockOwnerDeletion })] });
  const ownedBy = (uid: string) =>
    object({ uid: 'd', ownerReferences: [reference(uid, { blockOwnerDeletion: true }), reference('o')] });

  it.each<[string, string[], ApiObject[], object]>([
    ['waits for others when it has another finalizer', ['example.com/a'], [], { type: 'wait' }],
    ['waits for dependents that block it', ['foregroundDeletion'], [dependent(true)], { type: 'wait' }],
    [
      'waits for none that do not',
      ['foregroundDeletion', 'a'],
      [dependent(), dependent(false)],
      { type: 'finish', finalizers: ['a'] },
    ],
    ['waits for none that block another', ['foregroundDeletion'], [ownedBy('x')], { type: 'finish', finalizers: [] }],
    [
      'does not wait for itself',
      ['foregroundDeletion'],
      [object({ ownerReferences: [reference('o', { blockOwnerDeletion: true })] })],
      { type: 'finish', finalizers: [] },
    ],
    ['goes when none is left', ['foregroundDeletion'], [], { type: 'finish', finalizers: [] }],
  ])('%s', (_, finalizers, dependents, expected) => {
    expect(decideOwner(object({ ...deleting, finalizers }), () => dependents)).toEqual(expected);
  });

  it('asks for no dependents where an owner stays', () => {
    const dependents = (): never => expect.fail('thousands of pods would be listed');
    expect(decideDependent(object(), owners('present'), dependents)).toEqual({ type: 'keep' });
    expect(decideDependent(object(), owners('absent', 'present'), dependents)).toMatchObject({ type: 'release' });
    expect(decideDependent(object(), owners('absent'), dependents)).toMatchObject({ type: 'delete', unblock: false });
    expect(decideOwner(object(deleting), dependents)).toEqual({ type: 'wait' });
  });

  it('leaves its dependents when it was told to', () => {
    const dependents = () => [dependent(true)];
    expect(decideOwner(object({ ...deleting, finalizers: ['orphan', 'a'] }), dependents)).toEqual({
      type: 'orphan',
      finalizers: ['a'],
    });
  });
});
