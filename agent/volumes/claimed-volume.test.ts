import { describe, expect, it } from 'vitest';
import { claim, node, volume } from '../../test/builders/index.ts';
import { decideClaimedFolder } from './claimed-volume.ts';

const bound = claim('c').on('v').bound().build();
const ours = volume('v').keptFor('default/c', 'uid-c');
const here = node('n1').build();

describe('the folder that a claim stands for', () => {
  it('is the hostPath of its volume, or a local one of this node', () => {
    expect(decideClaimedFolder('c', { claim: bound, volume: ours.build() }, here)).toEqual({
      kind: 'host-path',
      path: '/srv/v',
      type: '',
    });
    const local = ours
      .onHost('n1')
      .with(({ spec }) => Object.assign(spec!, { persistentVolumeSource: { local: { path: '/disk' } } }));
    expect(decideClaimedFolder('c', { claim: bound, volume: local.build() }, here)).toEqual({ kind: 'local', path: '/disk' });
  });

  it('is made by the agent where it does not exist', () => {
    const made = ours.madeOn('n1');
    expect(decideClaimedFolder('c', { claim: bound, volume: made.build() }, here)).toEqual({ kind: 'made', path: '/data/v' });
    expect(decideClaimedFolder('c', { claim: bound, volume: made.build() }, node('n2').build())).toMatchObject({
      reason: 'invalid',
    });
  });

  it('stays while a pod that has it runs on, also when the claim is to go', () => {
    const leaving = claim('c').on('v').bound().leaving().build();
    expect(decideClaimedFolder('c', { claim: leaving, volume: ours.build(), isUsed: true }, here)).toMatchObject({
      path: '/srv/v',
    });
  });

  it.each([
    ['does not exist', undefined, 'persistentvolumeclaim "c" not found'],
    ['waits for a volume', { claim: claim('c').build(), volume: undefined }, 'persistentvolumeclaim "c" is not bound (Pending)'],
    [
      'is half bound',
      { claim: claim('c').on('v').build(), volume: ours.build() },
      'persistentvolumeclaim "c" is not bound (Pending)',
    ],
    ['is on its way out', { claim: claim('c').on('v').bound().leaving().build(), volume: ours.build() }, 'is being deleted'],
    ['has lost its volume', { claim: bound, volume: undefined }, 'persistentvolume "v" of claim "c" not found'],
    [
      'has the volume of another claim',
      { claim: bound, volume: volume('v').keptFor('default/d', 'u').build() },
      'belongs to another claim',
    ],
    [
      'had the volume before it was made anew',
      { claim: bound, volume: volume('v').keptFor('default/c', 'old').build() },
      'belongs to another',
    ],
    [
      'has one that names it, but is not given yet',
      { claim: bound, volume: volume('v').keptFor('default/c').build() },
      'belongs to another',
    ],
    ['is for one pod, which another one is', { claim: bound, volume: ours.build(), holder: 'web' }, 'pod "web" uses it'],
    ['has one of another node', { claim: bound, volume: ours.onHost('n2').build() }, 'is not for this node'],
  ])('is not there while the claim %s', (_title, claimed, message) => {
    expect(decideClaimedFolder('c', claimed, here)).toMatchObject({ message: expect.stringContaining(message) });
  });

  it('is not there when the volume is for some nodes and this one is not known', () => {
    expect(decideClaimedFolder('c', { claim: bound, volume: ours.onHost('n1').build() }, undefined)).toMatchObject({
      reason: 'invalid',
    });
  });
});
