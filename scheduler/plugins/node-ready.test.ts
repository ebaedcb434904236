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
    ['Unknown', 'node(s) were not ready'],
    [undefined, 'node(s) were not ready'],
  ])('judges a node whose Ready condition is %s', (status, expected) => {
    expect(judge(nodeReady, { pod: pod('p').build(), nodes: [withReady(status).build()] }).filter.n).toBe(expected);
  });

  it('lets a pod on a node that is not ready when it tolerates the taint for that', () => {
    const tolerant = pod('p').toleration({ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoSchedule' });
    expect(judge(nodeReady, { pod: tolerant.build(), nodes: [withReady('False').build()] }).filter.n).toBe('passes');
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
