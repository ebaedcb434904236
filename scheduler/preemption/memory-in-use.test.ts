import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { nodeTable } from '../../test/builders/node-table.ts';
import { preempt } from '../../test/builders/preempt.ts';
import { podInfo } from '../framework/pod-info.ts';
import { createRunner } from '../framework/runner.ts';
import { defaultProfile } from '../profile.ts';

const now = Date.UTC(2026, 0, 1);
const machine = (used: string, at = now) => node('n1').capacity({ memory: '16Gi' }).usage({ memory: used }, at).build();
const on = (name: string, memory: string) => pod(name).requests({ memory }).on('n1');
/** Placed long ago, so that readings show it. */
const settled = (name: string, memory: string) =>
  on(name, memory).condition({
    type: 'PodScheduled',
    status: 'True',
    lastTransitionTime: { seconds: now / 1000 - 3_600 },
  });
const vip = pod('vip').priority(1000).requests({ memory: '8Gi' }).build();
const wakers = ({ decision }: ReturnType<typeof preempt>) =>
  decision.kind === 'unschedulable' ? decision.diagnosis.verdicts.map(({ plugin }) => plugin) : [];

describe('preemption on a machine whose memory is in use', () => {
  it('evicts a pod that uses what it asks for', () => {
    const found = preempt(vip, { nodes: [machine('12Gi')], pods: [settled('low', '14Gi').build()] });
    expect(found.chosen).toBe('n1: low');
    expect(found.after).toEqual(found.before);
  });

  it('evicts a pod that the reading does not show yet', () => {
    const found = preempt(vip, { nodes: [machine('1Gi', now - 10_000)], pods: [on('low', '14Gi').build()] });
    expect(found.chosen).toBe('n1: low');
  });

  it('credits a victim with its part of the use alone, and evicts as few as that allows', () => {
    // Half of the use is each one's: without "big", 12 Gi are available.
    const pods = [settled('big', '6Gi').priority(1).build(), settled('other', '6Gi').priority(2).build()];
    expect(preempt(vip, { nodes: [machine('8Gi')], pods }).chosen).toBe('n1: big');
  });

  it('evicts nothing when others use the memory, and waits for the next reading', () => {
    const pods = [settled('low', '4Gi').build(), settled('high', '7Gi').priority(2000).build()];
    const found = preempt(vip, { nodes: [machine('16Gi')], pods });
    expect(found.chosen).toBeUndefined();
    expect(wakers(found)).toEqual(['NodeResourcesFit', 'NodeUsage']);
  });

  it('evicts nothing for a reading alone: the pod fits by requests', () => {
    const found = preempt(vip, { nodes: [machine('14Gi')], pods: [settled('low', '2Gi').build()] });
    expect(found.chosen).toBeUndefined();
    expect(wakers(found)).toEqual(['NodeUsage']);
  });

  it('keeps for every pod of a shape what the trials of the first have met', () => {
    const runner = createRunner({ profile: defaultProfile({ name: 'Bind' }), random: () => 0 });
    // By requests it fits without "low"; nothing that the filters say of the node as it is names its memory in use.
    const high = settled('high', '7Gi').requests({ memory: '7Gi', cpu: '1' }).priority(2000).build();
    const full = node('n1').capacity({ memory: '32Gi' }).usage({ memory: '29Gi' }, now).build();
    const nodes = nodeTable([full], [high, settled('low', '2Gi').requests({ cpu: '3', memory: '2Gi' }).build()]);
    const ask = (name: string) => {
      const asking = podInfo(pod(name).priority(1000).requests({ cpu: '2', memory: '9Gi' }).build());
      const decision = runner.decide({ pod: asking, nodes, now });
      return decision.kind === 'unschedulable' ? decision.diagnosis.verdicts.map(({ plugin }) => plugin) : [];
    };
    expect(ask('first')).toEqual(['NodeResourcesFit', 'NodeUsage']);
    expect(ask('second')).toEqual(['NodeResourcesFit', 'NodeUsage']);
  });

  it('wakes a pod by the events of a filter that rejects the node only without the victims', () => {
    const term = { labelSelector: { matchLabels: { app: 'cache' } }, topologyKey: 'kubernetes.io/hostname' };
    const beside = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const asking = { ...vip, spec: { ...vip.spec, affinity: beside } };
    const cache = on('cache', '14Gi').labels({ app: 'cache' }).build();
    const roomy = node('n1').labels({ 'kubernetes.io/hostname': 'n1' }).capacity({ memory: '16Gi' }).build();
    const found = preempt(asking, { nodes: [roomy], pods: [cache] });
    expect(found.chosen).toBeUndefined();
    expect(wakers(found)).toEqual(['NodeResourcesFit', 'InterPodAffinity']);
  });

  it('wakes a pod by the events of every filter that rejects a node', () => {
    const tainted = node('n1').capacity({ memory: '4Gi' }).taint('dedicated', 'NoSchedule', 'db').build();
    expect(wakers(preempt(vip, { nodes: [tainted], pods: [] }))).toEqual(['TaintToleration', 'NodeResourcesFit']);
  });
});
