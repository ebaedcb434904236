import { describe, expect, it } from 'vitest';
import { pod } from '../../../test/builders/index.ts';
import type { ContainerPort } from '../../generated/types.ts';
import { hostPorts, isSameHostPort } from './host-ports.ts';

describe('the host ports of a pod', () => {
  it('are those of containers and sidecars, and not of init containers that end before', () => {
    const spec = pod('p')
      .container('a', { ports: [{ containerPort: 80, hostPort: 8080, protocol: 'TCP' }, { containerPort: 81 }] })
      .container('b', { ports: [{ containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: '10.0.0.1' }] })
      .initContainer('sidecar', { restartPolicy: 'Always', ports: [{ containerPort: 9, hostPort: 9090, protocol: 'TCP' }] })
      .initContainer('first', { ports: [{ containerPort: 1, hostPort: 1 }] });
    expect(hostPorts(spec.build())).toEqual([
      { port: 8080, protocol: 'TCP', ip: '' },
      { port: 53, protocol: 'UDP', ip: '10.0.0.1' },
      { port: 9090, protocol: 'TCP', ip: '' },
    ]);
  });

  it.each<[string, ContainerPort, ContainerPort, boolean]>([
    ['the same port everywhere', { hostPort: 80 }, { hostPort: 80 }, true],
    ['two ports', { hostPort: 80 }, { hostPort: 81 }, false],
    ['two protocols', { hostPort: 80, protocol: 'UDP' }, { hostPort: 80 }, false],
    ['one address and all', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80 }, true],
    ['one address and 0.0.0.0', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80, hostIP: '0.0.0.0' }, true],
    ['one address and ::', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80, hostIP: '::' }, true],
    ['the same address', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80, hostIP: '10.0.0.1' }, true],
    ['two addresses', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80, hostIP: '10.0.0.2' }, false],
  ])('of two pods that want %s clash, or do not', (_, one, other, expected) => {
    const portOf = (port: ContainerPort) =>
      hostPorts(
        pod('p')
          .container('c', { ports: [port] })
          .build(),
      )[0]!;
    expect(isSameHostPort(portOf(one), portOf(other))).toBe(expected);
    expect(isSameHostPort(portOf(other), portOf(one))).toBe(expected);
  });
});
