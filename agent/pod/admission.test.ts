import { describe, expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import { decideAdmission } from './admission.ts';

const allocatable = { cpu: 1000, memory: 1 << 30, pods: 2 };
const port = (hostPort: number, hostIP?: string, protocol?: string) =>
  pod('p')
    .container('c', { ports: [{ containerPort: 1, hostPort, ...(hostIP && { hostIP }), ...(protocol && { protocol }) }] })
    .build();

describe('decideAdmission', () => {
  it('admits what fits', () => {
    expect(decideAdmission(pod('a').requests({ cpu: '1' }).build(), [pod('b').build()], allocatable)).toBeUndefined();
  });
  it('refuses more CPU than is left', () => {
    const others = [pod('b').requests({ cpu: '600m' }).build()];
    expect(decideAdmission(pod('a').requests({ cpu: '500m' }).build(), others, allocatable)).toEqual({
      reason: 'OutOfcpu',
      message: "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 600, capacity: 1000",
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
});
