import { describe, expect, it } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import { objectKey } from '../../api/meta/key.ts';
import { claim, node, pod, volume } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { podInfo } from '../framework/pod-info.ts';
import { volumeBinding } from './volume-binding.ts';

const using = (name: string, ...claims: string[]) =>
  pod(name).spec({
    volumes: claims.map((claimName, i) => ({ name: `v${i}`, volumeSource: { persistentVolumeClaim: { claimName } } })),
  });
const bound = (name: string) => claim(name).on(`of-${name}`).bound();
const its = (name: string) => volume(`of-${name}`).keptFor(`default/${name}`, `uid-${name}`).phase('Bound');

function pluginWith(claims: PersistentVolumeClaim[], volumes: PersistentVolume[]) {
  const byKey = new Map<string, PersistentVolumeClaim>(claims.map((each) => [objectKey(each), each]));
  const byName = new Map<string, PersistentVolume>(volumes.map((each) => [each.metadata?.name ?? '', each]));
  return volumeBinding({ claims: { get: (key) => byKey.get(key) }, volumes: { get: (name) => byName.get(name) } });
}

const nodes = ['n1', 'n2', 'n3'].map((name) => node(name).build());

describe('a pod with claims', () => {
  it('goes anywhere when its volumes are for every node', () => {
    const plugin = pluginWith([bound('c').build()], [its('c').build()]);
    expect(judge(plugin, { pod: using('p', 'c').build(), nodes }).filter).toEqual({ n1: 'passes', n2: 'passes', n3: 'passes' });
  });

  it('is none of this concern without any', () => {
    expect(pluginWith([], []).prepare({ pod: podInfo(pod('p').build()), nodes: undefined as never, now: 0 }).kind).toBe('skip');
  });

  it('goes only to nodes that reach its volume, all of them', () => {
    const plugin = pluginWith([bound('a').build(), bound('b').build()], [its('a').onHost('n2').build(), its('b').build()]);
    const judged = judge(plugin, { pod: using('p', 'a', 'b').build(), nodes });
    const conflict = 'node(s) had volume node affinity conflict';
    expect(judged.filter).toEqual({ n1: conflict, n2: 'passes', n3: conflict });
    expect(judged.codes).toMatchObject({ n1: 'unresolvable' });
    expect(judged.why.n1).toContain("do not match the volume's nodeAffinity");
    const apart = pluginWith(
      [bound('a').build(), bound('b').build()],
      [its('a').onHost('n1').build(), its('b').onHost('n2').build()],
    );
    expect(Object.values(judge(apart, { pod: using('p', 'a', 'b').build(), nodes }).filter)).not.toContain('passes');
  });

  it.each([
    ['does not exist', [], [], 'persistentvolumeclaim "c" not found'],
    ['has no volume', [claim('c').build()], [], 'pod has unbound immediate PersistentVolumeClaims'],
    [
      'names a volume that it has not got',
      [claim('c').on('of-c').build()],
      [its('c').build()],
      'pod has unbound immediate PersistentVolumeClaims',
    ],
    ['is on its way out', [bound('c').leaving().build()], [its('c').build()], 'persistentvolumeclaim "c" is being deleted'],
    ['lost its volume', [bound('c').build()], [], 'persistentvolumeclaim "c" bound to non-existent persistentvolume "of-c"'],
  ])('waits while a claim %s', (_title, claims, volumes, reason) => {
    expect(() => judge(pluginWith(claims, volumes), { pod: using('p', 'c').build(), nodes })).toThrow(reason);
  });

  it('joins the pods that use its volume, where that is for one node at a time', () => {
    const plugin = pluginWith([bound('c').build()], [its('c').build()]);
    const other = using('other', 'c').on('n2').build();
    const stranger = using('stranger', 'c').namespace('elsewhere').on('n1').build();
    const judged = judge(plugin, { pod: using('p', 'c').build(), nodes, pods: [other, stranger] });
    const inUse = 'node(s) had a ReadWriteOnce volume in use on another node';
    expect(judged.filter).toEqual({ n1: inUse, n2: 'passes', n3: inUse });
  });

  it.each(['ReadWriteMany', 'ReadOnlyMany'])('does not have to with %s', (mode) => {
    const plugin = pluginWith([bound('c').modes('ReadWriteOnce', mode).build()], [its('c').build()]);
    const judged = judge(plugin, { pod: using('p', 'c').build(), nodes, pods: [using('other', 'c').on('n2').build()] });
    expect(judged.filter).toEqual({ n1: 'passes', n2: 'passes', n3: 'passes' });
  });

  it('waits for the one pod that has a volume for a single pod', () => {
    const plugin = pluginWith([bound('c').modes('ReadWriteOncePod').build()], [its('c').build()]);
    const scene = { pod: using('p', 'c').build(), nodes };
    expect(judge(plugin, scene).filter.n1).toBe('passes');
    expect(() => judge(plugin, { ...scene, pods: [using('other', 'c').on('n2').build()] })).toThrow(
      'ReadWriteOncePod access mode',
    );
  });

  it('is tried again when one of its claims changes or a pod that shares one goes, not for others', () => {
    const { helps } = pluginWith([], []);
    const waiting = podInfo(using('p', 'c').build());
    expect(helps?.(waiting, { kind: 'storage/changed', claim: 'default/c' })).toBe(true);
    expect(helps?.(waiting, { kind: 'storage/changed', claim: 'default/d' })).toBe(false);
    expect(helps?.(waiting, { kind: 'pod/removed', pod: podInfo(using('o', 'c').build()) })).toBe(true);
    expect(helps?.(waiting, { kind: 'pod/removed', pod: podInfo(pod('o').build()) })).toBe(false);
    expect(helps?.(waiting, { kind: 'node/added', node: node('n').build() })).toBe(true);
  });
});
