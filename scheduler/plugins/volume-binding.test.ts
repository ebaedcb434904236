import { describe, expect, it } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import { type ClaimBuilder, claim, node, pod, storageClass, type VolumeBuilder, volume } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { nodeTable } from '../../test/builders/node-table.ts';
import { storageOf } from '../../test/builders/storage-view.ts';
import { unresolvable } from '../framework/plugin.ts';
import { podInfo } from '../framework/pod-info.ts';
import { volumeBinding } from './volume-binding.ts';

const using = (name: string, ...claims: string[]) =>
  pod(name).spec({
    volumes: claims.map((claimName, i) => ({ name: `v${i}`, volumeSource: { persistentVolumeClaim: { claimName } } })),
  });
const bound = (name: string) => claim(name).on(`of-${name}`).bound();
const its = (name: string) => volume(`of-${name}`).keptFor(`default/${name}`, `uid-${name}`).phase('Bound');

const pluginWith = (claims: PersistentVolumeClaim[], volumes: PersistentVolume[]) =>
  volumeBinding(storageOf({ claims, volumes }));

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
    const key = 'kubernetes.io/hostname';
    expect(judged.why.n1).toBe(`claim "a" has volume "of-a", which needs ${key}=n2; the node has ${key}=n1`);
    const apart = pluginWith(
      [bound('a').build(), bound('b').build()],
      [its('a').onHost('n1').build(), its('b').onHost('n2').build()],
    );
    expect(Object.values(judge(apart, { pod: using('p', 'a', 'b').build(), nodes }).filter)).not.toContain('passes');
  });

  it.each([
    ['does not exist', [], [], 'persistentvolumeclaim "c" not found'],
    ['has no volume', [claim('c').build()], [], 'pod has unbound immediate PersistentVolumeClaims: "c"'],
    [
      'has no volume, nor its class',
      [claim('c').storageClass('nope').build()],
      [],
      'pod has unbound immediate PersistentVolumeClaims: "c", whose storageclass "nope" does not exist',
    ],
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
    expect(judged.why.n1).toBe('another pod uses claim "c" on node n2');
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

  it('is tried again when one of its claims changes or a pod that shares one is removed, and not for other claims', () => {
    const { helps } = pluginWith([], []);
    const waiting = podInfo(using('p', 'c').build());
    expect(helps?.(waiting, { kind: 'storage/changed', claim: 'default/c' })).toBe(true);
    expect(helps?.(waiting, { kind: 'storage/changed', claim: 'default/d' })).toBe(false);
    expect(helps?.(waiting, { kind: 'pod/removed', pod: podInfo(using('o', 'c').build()) })).toBe(true);
    expect(helps?.(waiting, { kind: 'pod/removed', pod: podInfo(pod('o').build()) })).toBe(false);
    expect(helps?.(waiting, { kind: 'node/added', node: node('n').build() })).toBe(true);
  });
});

const nothing = "node(s) didn't find available persistent volumes to bind";
const disks = storageClass('disks').waiting();
const folders = storageClass('folders').provisioner('berth.io/local-path').waiting();
const disk = (name: string) => volume(name).storageClass('disks');
const zoned = node('n2').labels({ 'topology.kubernetes.io/zone': 'b' }).build();
const inZoneB = [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['b'] }] }];

function openScene(claims: readonly ClaimBuilder[], volumes: readonly VolumeBuilder[], classes = [disks, folders]) {
  const storage = storageOf({
    claims: claims.map((each) => each.build()),
    volumes: volumes.map((each) => each.build()),
    classes: classes.map((each) => each.build()),
  });
  const wanting = using('p', ...claims.map((each) => each.build().metadata!.name!)).build();
  return { storage, plugin: volumeBinding(storage), wanting };
}

describe('a pod with claims that wait for it', () => {
  const wants = claim('c').storageClass('disks').size('2Gi');
  const all = { n1: 'passes', n2: 'passes', n3: 'passes' };
  const only = (name: string) => ({ n1: nothing, n2: nothing, n3: nothing, [name]: 'passes' });
  it.each<[string, ClaimBuilder[], VolumeBuilder[], object]>([
    ['goes where a free volume is', [wants], [disk('v').size('2Gi').onHost('n2')], only('n2')],
    ['goes anywhere when the volume does', [wants], [disk('v').size('2Gi')], all],
    ['goes nowhere without one', [wants], [], { n1: nothing, n2: nothing, n3: nothing }],
    ['goes not to one that is too small', [wants], [disk('v').size('1Gi')], only('')],
    ['goes not to one of another class', [wants], [volume('v').size('2Gi').storageClass('x')], only('')],
    ['goes not to one without its access mode', [wants.modes('ReadOnlyMany')], [disk('v').size('2Gi')], only('')],
    ['goes not to one that its selector does not choose', [wants.selecting({ a: 'b' })], [disk('v').size('2Gi')], only('')],
    ['does not go to one that is kept for another claim', [wants], [disk('v').size('2Gi').keptFor('default/x', 'u')], only('')],
    ['goes not to one that is released', [wants], [disk('v').size('2Gi').phase('Released')], only('')],
    [
      'goes to the one that is kept for it',
      [wants],
      [disk('v').size('2Gi'), disk('w').size('2Gi').onHost('n3').keptFor('default/c')],
      only('n3'),
    ],
    [
      'goes where there is one for each of its claims',
      [wants, claim('d').storageClass('disks').size('3Gi')],
      [disk('a').size('3Gi').onHost('n1'), disk('b').size('2Gi').onHost('n2'), disk('c').size('3Gi').onHost('n2')],
      only('n2'),
    ],
    ['goes anywhere when its volume is made there', [claim('c').storageClass('folders')], [], all],
    [
      'goes where bound ones are, too',
      [bound('b'), claim('c').storageClass('folders')],
      [its('b').onHost('n1')],
      {
        n1: 'passes',
        n2: 'node(s) had volume node affinity conflict',
        n3: 'node(s) had volume node affinity conflict',
      },
    ],
  ])('%s', (_title, claims, volumes, expected) => {
    const { plugin, wanting } = openScene(claims, volumes);
    const { '': _, ...wanted } = expected as Record<string, string>;
    expect(judge(plugin, { pod: wanting, nodes }).filter).toEqual(wanted);
  });

  it('goes only where the class allows volumes to be made', () => {
    const some = folders.with((made) => void Object.assign(made, { allowedTopologies: inZoneB }));
    const { plugin, wanting } = openScene([claim('c').storageClass('folders')], [], [some]);
    const judged = judge(plugin, { pod: wanting, nodes: [nodes[0]!, zoned] });
    expect(judged.filter).toEqual({ n1: nothing, n2: 'passes' });
    expect(judged.why.n1).toContain('claim "c" asks for 1Gi RWO of class "folders"');
    expect(judged.why.n1).toContain('none made on nodes with the labels');
  });

  it('is told how many volumes there are and how many would do', () => {
    const { plugin, wanting } = openScene([wants], [disk('a').size('2Gi').onHost('n2'), disk('b').size('1Gi')]);
    const judged = judge(plugin, { pod: wanting, nodes });
    expect(judged.why.n1).toContain('of 2 free volumes of the class 1 would do, none of them left and reached from here');
    expect(judged.codes.n1).toBe('unresolvable');
  });

  it('waits while its volume is being made, and for claims that are bound at once', () => {
    const making = openScene([claim('c').storageClass('folders').selected('n1')], []);
    expect(() => judge(making.plugin, { pod: making.wanting, nodes })).toThrow(
      'persistentvolumeclaim "c" waits for its volume, which "berth.io/local-path" is to make on node "n1"',
    );
    const atOnce = openScene([claim('c').storageClass('now')], [], [storageClass('now')]);
    expect(() => judge(atOnce.plugin, { pod: atOnce.wanting, nodes })).toThrow('unbound immediate');
  });
});

describe('a placement', () => {
  const table = nodeTable(nodes, []);
  const attemptOf = (name: string, ...claims: string[]) => ({
    pod: podInfo(using(name, ...claims).build()),
    nodes: table,
    now: 0,
  });
  function reserve(plugin: ReturnType<typeof volumeBinding>, attempt: ReturnType<typeof attemptOf>, nodeName: string) {
    const prepared = plugin.prepare(attempt);
    if (prepared.kind !== 'proceed') throw new Error(prepared.kind);
    const undo = plugin.reserve?.(prepared.state, attempt, nodeName);
    if (typeof undo !== 'function') throw new Error('refused');
    return undo;
  }
  const two = [claim('c').storageClass('disks'), claim('d').storageClass('disks')];

  it('promises the smallest volume that will do, and no volume twice, until it is taken back', () => {
    const { plugin, storage } = openScene(two, [disk('large').size('5Gi'), disk('small')]);
    const undo = reserve(plugin, attemptOf('p', 'c'), 'n1');
    expect(storage.promises.toPod('uid-p')).toEqual([{ claim: 'default/c', claimUid: 'uid-c', nodeName: 'n1', volume: 'small' }]);
    reserve(plugin, attemptOf('q', 'd'), 'n1');
    expect(storage.promises.toPod('uid-q')[0]?.volume).toBe('large');
    expect(() => reserve(plugin, attemptOf('r', 'c', 'd'), 'n1')).not.toThrow();
    const third = claim('e').storageClass('disks').build();
    storage.claims.set(third);
    expect(() => reserve(plugin, attemptOf('s', 'e'), 'n1')).toThrow('refused');
    storage.promises.end('uid-r');
    undo();
    expect(storage.promises.holderOf('small')).toBeUndefined();
    reserve(plugin, attemptOf('s', 'e'), 'n1');
    expect(storage.promises.toPod('uid-s')[0]?.volume).toBe('small');
  });

  it('draws others with the same claim to where its volume is or will be', () => {
    const { plugin } = openScene([claim('c').storageClass('folders').modes('ReadWriteMany')], []);
    reserve(plugin, attemptOf('p', 'c'), 'n2');
    const judged = judge(plugin, { pod: using('q', 'c').build(), nodes });
    expect(judged.filter).toEqual({ n1: nothing, n2: 'passes', n3: nothing });
    expect(judged.why.n1).toBe('the volume of claim "c" is being made on node "n2"');
  });

  it('is kept before the pod is bound, and ends with that; what was refused stays until it is taken back', async () => {
    const scene = openScene(two, [disk('v'), disk('w')]);
    const late = unresolvable('late', []);
    const answers = [late, undefined];
    const plugin = volumeBinding({ ...scene.storage, writer: { keep: async () => answers.shift() } });
    const attempt = attemptOf('p', 'c');
    reserve(plugin, attempt, 'n1');
    const placement = { pod: attempt.pod, nodeName: 'n1' };
    const { signal } = new AbortController();
    expect(await plugin.preBind?.(placement, signal)).toBe(late);
    expect(scene.storage.promises.toPod('uid-p')).toHaveLength(1);
    expect(await plugin.preBind?.(placement, signal)).toBeUndefined();
    expect(scene.storage.promises.toPod('uid-p')).toEqual([]);
  });

  it('wakes pods that want of the same class when it is taken back, and when a volume of the class is free', () => {
    const { helps } = openScene([...two, claim('f').storageClass('folders')], []).plugin;
    const waiting = podInfo(using('p', 'c').build());
    expect(helps?.(waiting, { kind: 'pod/removed', pod: podInfo(using('o', 'd').build()) })).toBe(true);
    expect(helps?.(waiting, { kind: 'pod/removed', pod: podInfo(using('o', 'f').build()) })).toBe(false);
    expect(helps?.(waiting, { kind: 'storage/class', storageClass: 'disks' })).toBe(true);
    expect(helps?.(waiting, { kind: 'storage/class', storageClass: 'folders' })).toBe(false);
  });
});
