import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { podInfo } from '../framework/pod-info.ts';
import { nodeReady } from './node-ready.ts';

const withReady = (status?: string) =>
  node('n').with((object) => {
    object.status!.conditions =
      status === undefined ? [] : [{ type: 'Ready', status, reason: 'AgentStopped', message: 'no heartbeat' }];
  });

describe('NodeReady', () => {
  it.each([
    ['True', 'passes'],
    ['False', 'node(s) were not ready'],
    ['Unknown', 'node(s) were unreachable'],
    [undefined, 'node(s) were not ready'],
  ])('judges a node whose Ready condition is %s', (status, expected) => {
    expect(judge(nodeReady, { pod: pod('p').build(), nodes: [withReady(status).build()] }).filter.n).toBe(expected);
  });

  it.each([
    ['not-ready', 'False', 'passes'],
    ['not-ready', 'Unknown', 'node(s) were unreachable'],
    ['unreachable', 'Unknown', 'passes'],
    ['unreachable', 'False', 'node(s) were not ready'],
  ])('judges a pod that tolerates the taint %s on a node whose Ready condition is %s', (taint, status, expected) => {
    const tolerant = pod('p').toleration({ key: `node.kubernetes.io/${taint}`, operator: 'Exists', effect: 'NoSchedule' });
    expect(judge(nodeReady, { pod: tolerant.build(), nodes: [withReady(status).build()] }).filter.n).toBe(expected);
  });

  it('lets a pod that tolerates everything on any node', () => {
    const tolerant = pod('p').toleration({ operator: 'Exists' }).build();
    const nodes = [withReady('False').build()];
    expect(judge(nodeReady, { pod: tolerant, nodes }).filter).toEqual({ n: 'passes' });
  });

  it('explains with what the condition says', () => {
    const { why } = judge(nodeReady, { pod: pod('p').build(), nodes: [withReady('Unknown').build()] });
    expect(why.n).toBe('condition Ready is Unknown: no heartbeat');
  });

  it('wakes for a node that has become ready only', () => {
    const helps = (status: string) =>
      nodeReady.helps?.(podInfo(pod('p').build()), { kind: 'node/ready', node: withReady(status).build() });
    expect([helps('True'), helps('False')]).toEqual([true, false]);
  });
});
