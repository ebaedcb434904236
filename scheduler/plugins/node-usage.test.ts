import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { nodeUsage } from './node-usage.ts';

const now = Date.UTC(2026, 0, 1);
const plugin = nodeUsage();
const asking = pod('p').requests({ cpu: '1', memory: '2Gi' });
// Placed long ago, so that readings show it.
const settled = (name: string) =>
  pod(name).condition({ type: 'PodScheduled', status: 'True', lastTransitionTime: { seconds: now / 1000 - 3_600 } });

describe('NodeUsage', () => {
  it('prefers the node that uses less when requests are equal', () => {
    const busy = node('busy').usage({ cpu: '3', memory: '1Gi' }, now).build();
    const idle = node('idle').usage({ cpu: '100m', memory: '1Gi' }, now).build();
    const { scores } = judge(plugin, { pod: asking.build(), nodes: [busy, idle], now });
    expect(scores.idle).toBeGreaterThan(scores.busy! + 20);
  });

  it('counts what a fresh reading says, whatever the pods there asked for', () => {
    const using = node('n').usage({ cpu: '1', memory: '4Gi' }, now).build();
    const pods = [settled('old').requests({ cpu: '3', memory: '1Gi' }).on('n').build()];
    // CPU: (4 - 1 used - 1) / 4 = 50 %; memory: (8 - 4 used - 2) / 8 = 25 %.
    expect(judge(plugin, { pod: asking.build(), nodes: [using], pods, now }).scores.n).toBe(37.5);
  });

  it('counts a node as unused, and no better, whose system takes less than its share', () => {
    const reserving = node('n').capacity({ cpu: '6', memory: '12Gi' }).allocatable({ cpu: '4', memory: '8Gi' });
    const using = reserving.usage({ cpu: '100m', memory: '1Gi' }, now).build();
    expect(judge(plugin, { pod: asking.build(), nodes: [using], now }).scores.n).toBe(75);
  });

  it.each([
    ['fresh', now - 150_000, 0],
    ['stale', now - 151_000, 75],
  ])('scores a node with a %s reading of full use', (_, readAt, expected) => {
    const using = node('n').usage({ cpu: '4', memory: '8Gi' }, readAt).build();
    expect(judge(plugin, { pod: asking.build(), nodes: [using], now }).scores.n).toBe(expected);
  });

  it('falls back to requests where there is no reading', () => {
    const pods = [settled('old').requests({ cpu: '1', memory: '2Gi' }).on('n').build()];
    expect(judge(plugin, { pod: asking.build(), nodes: [node('n').build()], pods, now }).scores.n).toBe(50);
  });

  it('adds placements that the reading does not show, so that a burst spreads', () => {
    const quiet = (name: string) =>
      node(name)
        .usage({ cpu: '1', memory: '2Gi' }, now - 10_000)
        .build();
    const pods = [pod('new').requests({ cpu: '1', memory: '2Gi' }).on('a').build()];
    // a: CPU 4 - (1 used + 1 placed) - 1; b: 4 - 1 - 1.
    expect(judge(plugin, { pod: asking.build(), nodes: [quiet('a'), quiet('b')], pods, now }).scores).toEqual({ a: 25, b: 50 });
  });

  it('does not hold what the system uses of its own share against pods', () => {
    const reserving = node('n').capacity({ cpu: '6', memory: '12Gi' }).allocatable({ cpu: '4', memory: '8Gi' });
    const using = reserving.usage({ cpu: '2', memory: '4Gi' }, now).build();
    expect(judge(plugin, { pod: asking.build(), nodes: [using], now }).scores.n).toBe(75);
  });

  it.each<[string, string, string, number, string]>([
    ['has less memory available than requested', '7Gi', '2Gi', now, 'node(s) had too little memory available'],
    ['has enough memory available', '5Gi', '2Gi', now, 'passes'],
    ['had too little, but the reading is stale', '7Gi', '2Gi', now - 200_000, 'passes'],
    ['is full, but the pod requests no memory', '8Gi', '0', now, 'passes'],
  ])('judges a node that %s', (_, used, memory, readAt, expected) => {
    const using = node('n').usage({ cpu: '0', memory: used }, readAt).build();
    expect(judge(plugin, { pod: pod('p').requests({ memory }).build(), nodes: [using], now }).filter.n).toBe(expected);
  });

  it.each([
    ['by less than a tenth of the machine', '6900Mi', 'passes'],
    ['by more', '7200Mi', 'node(s) had too little memory available'],
  ])('tolerates that memory is short %s, as some of it may be reclaimable', (_, used, expected) => {
    const using = node('n').usage({ memory: used }, now).build();
    expect(judge(plugin, { pod: asking.build(), nodes: [using], now }).filter.n).toBe(expected);
  });

  it.each([
    [119_999, 'node(s) had too little memory available'],
    [120_000, 'passes'],
  ])('holds a reading against a pod for two minutes: after %d ms', (waited, expected) => {
    const using = node('n').usage({ memory: '8Gi' }, now).build();
    const scene = { pod: asking.build(), nodes: [using], now, waitingSince: now - waited };
    expect(judge(plugin, scene).filter.n).toBe(expected);
  });

  it('takes the requests of pods placed after the reading off the memory available, and only of those', () => {
    const using = node('n')
      .usage({ cpu: '0', memory: '4Gi' }, now - 10_000)
      .build();
    const filter = (old: ReturnType<typeof pod>) =>
      judge(plugin, { pod: asking.build(), nodes: [using], pods: [old.requests({ memory: '3Gi' }).on('n').build()], now });
    expect(filter(settled('before')).filter.n).toBe('passes');
    const after = filter(pod('after'));
    expect(after.filter.n).toBe('node(s) had too little memory available');
    expect(after.why.n).toBe('needs 2Gi memory, 1Gi available on the machine');
  });
});
