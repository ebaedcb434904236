import { describe, expect, it } from 'vitest';
import type { ContainerPort } from '../../api/generated/types.ts';
import { node, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { podInfo } from '../framework/pod-info.ts';
import { nodePorts } from './node-ports.ts';

type Port = Pick<ContainerPort, 'hostPort' | 'hostIP' | 'protocol'>;
const withPorts = (name: string, ...ports: Port[]) =>
  pod(name).container('c', { ports: ports.map((port) => ({ containerPort: 80, protocol: 'TCP', ...port })) });
const n = node('n').build();

describe('NodePorts', () => {
  it.each<[string, Port, Port, boolean]>([
    ['the same port', { hostPort: 8080 }, { hostPort: 8080 }, false],
    ['another port', { hostPort: 8081 }, { hostPort: 8080 }, true],
    ['another protocol', { hostPort: 53, protocol: 'UDP' }, { hostPort: 53 }, true],
    ['all addresses where one is taken', { hostPort: 80 }, { hostPort: 80, hostIP: '10.0.0.1' }, false],
    ['0.0.0.0 where one is taken', { hostPort: 80, hostIP: '0.0.0.0' }, { hostPort: 80, hostIP: '10.0.0.1' }, false],
    ['one address where all are taken', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80 }, false],
    ['the same address', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80, hostIP: '10.0.0.1' }, false],
    ['another address', { hostPort: 80, hostIP: '10.0.0.2' }, { hostPort: 80, hostIP: '10.0.0.1' }, true],
  ])('judges a pod that wants %s', (_, wanted, taken, passes) => {
    const { filter } = judge(nodePorts, {
      pod: withPorts('p', wanted).build(),
      nodes: [n],
      pods: [withPorts('old', taken).on('n').build()],
    });
    expect(filter.n).toBe(
      passes ? 'passes' : `node(s) had host port ${wanted.hostPort}/${wanted.protocol ?? 'TCP'} taken by another pod`,
    );
  });

  it('rejects only the node where the port is taken, and says by whom; preemption could help', () => {
    const { filter, why, codes } = judge(nodePorts, {
      pod: withPorts('p', { hostPort: 80 }, { hostPort: 443 }).build(),
      nodes: [n, node('free').build(), node('other').build()],
      pods: [
        withPorts('old', { hostPort: 443 }, { hostPort: 9 }).on('n').build(),
        withPorts('more', { hostPort: 9 }).on('other').build(),
      ],
    });
    expect(filter).toEqual({ n: 'node(s) had host port 443/TCP taken by another pod', free: 'passes', other: 'passes' });
    expect(why.n).toBe('host port 443/TCP is taken by default/old');
    expect(codes.n).toBe('unschedulable');
  });

  it('lets a pod without host ports pass everywhere', () => {
    const pods = [withPorts('old', { hostPort: 80 }).on('n').build()];
    expect(judge(nodePorts, { pod: withPorts('p', {}).build(), nodes: [n], pods }).filter.n).toBe('passes');
  });

  it('does not count what ended, and counts a port until the last of those that share it leaves', () => {
    const ended = withPorts('old', { hostPort: 80 }).on('n').phase('Succeeded').build();
    const one = withPorts('one', { hostPort: 80, hostIP: '10.0.0.1' }).on('n').build();
    const asks = withPorts('p', { hostPort: 80 }).build();
    expect(judge(nodePorts, { pod: asks, nodes: [n], pods: [ended] }).filter.n).toBe('passes');
    expect(judge(nodePorts, { pod: asks, nodes: [n], pods: [ended, one] }).filter.n).not.toBe('passes');
  });

  it.each([
    ['a pod with the same port leaves', { kind: 'pod/removed', pod: podInfo(withPorts('old', { hostPort: 80 }).build()) }, true],
    ['a pod with another port leaves', { kind: 'pod/removed', pod: podInfo(withPorts('old', { hostPort: 81 }).build()) }, false],
    ['a node comes', { kind: 'node/added', node: n }, true],
  ] as const)('wakes when %s: %#', (_, event, expected) => {
    expect(nodePorts.helps?.(podInfo(withPorts('p', { hostPort: 80 }).build()), event)).toBe(expected);
  });
});
