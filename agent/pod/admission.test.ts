import { describe, expect, it } from 'vitest';
import type { Node, Pod } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { decideAdmission as decide } from './admission.ts';

const allocatable = { cpu: 1000, memory: 1 << 30, pods: 2 };
const port = (hostPort: number, hostIP?: string, protocol?: string) =>
  pod('p')
    .container('c', { ports: [{ containerPort: 1, hostPort, ...(hostIP && { hostIP }), ...(protocol && { protocol }) }] })
    .build();

const decideAdmission = (object: Pod, admitted: Pod[], amounts: Record<string, number>, node?: Node) =>
  decide(object, { admitted, allocatable: amounts, node });

describe('decideAdmission', () => {
  it('admits what fits', () => {
    expect(decideAdmission(pod('a').requests({ cpu: '1' }).build(), [pod('b').build()], allocatable)).toBeUndefined();
  });
  it('refuses more CPU than is left', () => {
    const others = [pod('b').requests({ cpu: '600m' }).build()];
    expect(decideAdmission(pod('a').requests({ cpu: '500m' }).build(), others, allocatable)).toEqual({
      reason: 'OutOfcpu',
      message: "Node didn't have enough resource: cpu, requested: 500, used: 600, capacity: 1000",
    });
  });
  it('refuses more memory than the node has', () => {
    expect(decideAdmission(pod('a').requests({ memory: '2Gi' }).build(), [], allocatable)?.reason).toBe('OutOfmemory');
  });
  it('refuses one pod more than the node takes', () => {
    expect(decideAdmission(pod('a').build(), [pod('b').build(), pod('c').build()], allocatable)?.reason).toBe('OutOfpods');
  });
  it('refuses a host port that is taken on any address', () => {
    expect(decideAdmission(port(80), [port(80, '10.0.0.1')], allocatable)?.reason).toBe('NodePorts');
  });
  it('admits the same port on another address or protocol', () => {
    expect(decideAdmission(port(80, '10.0.0.2'), [port(80, '10.0.0.1')], allocatable)).toBeUndefined();
    expect(decideAdmission(port(80, '', 'UDP'), [port(80)], allocatable)).toBeUndefined();
  });
  it('looks at resources first, as Kubernetes does', () => {
    const both = pod('a').requests({ cpu: '2' }).nodeSelector({ disk: 'ssd' }).build();
    expect(decideAdmission(both, [], allocatable, { metadata: { labels: {} } })?.reason).toBe('OutOfcpu');
  });
  it('refuses a pod whose node selector or affinity the node does not match', () => {
    const wants = pod('a').nodeSelector({ disk: 'ssd' }).build();
    expect(decideAdmission(wants, [], allocatable, { metadata: { labels: { disk: 'ssd' } } })).toBeUndefined();
    expect(decideAdmission(wants, [], allocatable, { metadata: { labels: { disk: 'hdd' } } })).toEqual({
      reason: 'NodeAffinity',
      message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    });
  });
  it('refuses what does not tolerate a taint that would evict it, unless it comes from a file on the machine, whatever annotations say', () => {
    const node = {
      spec: {
        taints: [
          { key: 'down', effect: 'NoExecute' },
          { key: 'other', effect: 'NoSchedule' },
        ],
      },
    };
    expect(decideAdmission(pod('a').build(), [], allocatable, node)?.reason).toBe('TaintToleration');
    const tolerant = pod('a').toleration({ key: 'down', operator: 'Exists' }).build();
    expect(decideAdmission(tolerant, [], allocatable, node)).toBeUndefined();
    const plain = pod('a').annotations({ 'kubernetes.io/config.source': 'file' }).build();
    expect(decideAdmission(plain, [], allocatable, node)?.reason).toBe('TaintToleration');
    const fromFile = { ...plain, metadata: { ...plain.metadata, uid: '0123456789abcdef0123456789abcdef' } };
    expect(decideAdmission(fromFile, [], allocatable, node)).toBeUndefined();
  });
  it('counts init containers at their hungriest', () => {
    const big = pod('a')
      .requests({ cpu: '100m' })
      .initContainer('i', { resources: { requests: { cpu: { string: '2' } } } });
    expect(decideAdmission(big.build(), [], allocatable)?.reason).toBe('OutOfcpu');
  });
});
