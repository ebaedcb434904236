import { describe, expect, it } from 'vitest';
import type { PodSpec, SecurityContext } from '../../generated/types.ts';
import { podSecurityViolations } from './pod-security.ts';

/** Nothing to say about it at any level. */
const safe: SecurityContext = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};
const withSecurity = (securityContext: SecurityContext): PodSpec => ({ containers: [{ name: 'web', securityContext }] });
const withVolume = (name: string, source: object): PodSpec => ({
  containers: [{ name: 'web', securityContext: safe }],
  volumes: [{ name, volumeSource: source }],
});
const reasons = (spec: PodSpec, level: 'privileged' | 'baseline' | 'restricted'): string[] =>
  podSecurityViolations(spec, level).map(({ reason }) => reason);

const worst: PodSpec = {
  hostNetwork: true,
  hostPID: true,
  containers: [{ name: 'web', securityContext: { privileged: true } }],
  volumes: [{ name: 'root', volumeSource: { hostPath: { path: '/' } } }],
};

describe('level privileged', () => {
  it('allows everything', () => expect(podSecurityViolations(worst, 'privileged')).toEqual([]));
});

describe('level baseline', () => {
  it.each<[string, PodSpec]>([
    ['a plain container', { containers: [{ name: 'web' }] }],
    ['root', withSecurity({ runAsUser: 0 })],
    ['capabilities that containers have anyway', withSecurity({ capabilities: { add: ['CHOWN', 'NET_BIND_SERVICE'] } })],
    ['a container port', { containers: [{ name: 'web', ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 0 }] }] }],
    ['a confined profile', withSecurity({ seccompProfile: { type: 'Localhost', localhostProfile: 'a' }, procMount: 'Default' })],
    ['a safe sysctl', { securityContext: { sysctls: [{ name: 'net/ipv4/tcp_syncookies', value: '1' }] } }],
    ['a probe of the pod itself', { containers: [{ name: 'web', livenessProbe: { handler: { httpGet: { path: '/' } } } }] }],
    ['a volume over the network', withVolume('data', { nfs: { server: 's', path: '/' } })],
    ['a level of SELinux', withSecurity({ seLinuxOptions: { type: 'container_t', level: 's0:c1,c2' } })],
  ])('allows %s', (_, spec) => expect(podSecurityViolations(spec, 'baseline')).toEqual([]));

  it.each<[string, PodSpec, string, string]>([
    ['the network of the node', { hostNetwork: true }, 'host namespaces', 'hostNetwork=true'],
    ['several of its namespaces', { hostPID: true, hostIPC: true }, 'host namespaces', 'hostPID=true, hostIPC=true'],
    ['privileged containers', withSecurity({ privileged: true }), 'privileged', 'container "web" must not set'],
    [
      'other capabilities',
      withSecurity({ capabilities: { add: ['NET_ADMIN', 'ALL', 'KILL'] } }),
      'non-default capabilities',
      'container "web" must not include "ALL", "NET_ADMIN" in',
    ],
    ['folders of the node', withVolume('root', { hostPath: { path: '/etc' } }), 'hostPath volumes', 'volume "root"'],
    [
      'ports of the node',
      { containers: [{ name: 'a', ports: [{ hostPort: 80 }] }], initContainers: [{ name: 'b', ports: [{ hostPort: 81 }] }] },
      'hostPort',
      'containers "b", "a" must not use hostPorts',
    ],
    [
      'probes of other hosts',
      { containers: [{ name: 'web', readinessProbe: { handler: { tcpSocket: { host: '10.0.0.1' } } } }] },
      'probe or lifecycle host',
      'must not name a host',
    ],
    [
      'hooks that call other hosts',
      { containers: [{ name: 'web', lifecycle: { preStop: { httpGet: { host: '10.0.0.1' } } } }] },
      'probe or lifecycle host',
      'must not name a host',
    ],
    [
      'another type, user and role of SELinux',
      {
        securityContext: { seLinuxOptions: { type: 'spc_t', level: 's0' } },
        ...withSecurity({ seLinuxOptions: { user: 'u', role: 'r', type: 'container_init_t' } }),
      },
      'seLinuxOptions',
      'pod must not set type "spc_t" in securityContext.seLinuxOptions; container "web" must not set a user, a role in',
    ],
    ['no AppArmor', withSecurity({ appArmorProfile: { type: 'Unconfined' } }), 'appArmorProfile', 'container "web" must not'],
    ['no seccomp', { securityContext: { seccompProfile: { type: 'Unconfined' } } }, 'seccompProfile', 'pod must not set'],
    ['an open /proc', withSecurity({ procMount: 'Unmasked' }), 'procMount', 'must not set another procMount'],
    ['unsafe sysctls', { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }, 'forbidden sysctls', 'msgmax'],
    [
      'a privileged container that comes later',
      { ephemeralContainers: [{ ephemeralContainerCommon: { name: 'debug', securityContext: { privileged: true } } }] },
      'privileged',
      'container "debug"',
    ],
  ])('refuses %s', (_, spec, reason, detail) => {
    const found = podSecurityViolations(spec, 'baseline');
    expect(found).toEqual([{ reason, detail: expect.stringContaining(detail) }]);
  });

  it('names everything at once', () => {
    expect(reasons(worst, 'baseline')).toEqual(['host namespaces', 'privileged', 'hostPath volumes']);
  });
});

describe('level restricted', () => {
  it.each<[string, PodSpec]>([
    ['a container that gives up all it can', withSecurity(safe)],
    ['a port below 1024', withSecurity({ ...safe, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } })],
    [
      'what the pod says for all',
      {
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [{ name: 'web', securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } }],
      },
    ],
    ['a claim', withVolume('data', { persistentVolumeClaim: { claimName: 'a' } })],
    ['a projected volume', withVolume('token', { projected: { sources: [] } })],
  ])('allows %s', (_, spec) => expect(podSecurityViolations(spec, 'restricted')).toEqual([]));

  it.each<[string, PodSpec, string, string]>([
    [
      'a volume over the network',
      withVolume('data', { nfs: { server: 's', path: '/' } }),
      'restricted volume types',
      'volume "data": only configMap, ',
    ],
    [
      'gaining rights',
      withSecurity({ ...safe, allowPrivilegeEscalation: true }),
      'allowPrivilegeEscalation != false',
      'must set securityContext.allowPrivilegeEscalation=false',
    ],
    [
      'kept capabilities',
      withSecurity({ ...safe, capabilities: { add: ['CHOWN'] } }),
      'unrestricted capabilities',
      'container "web" must set securityContext.capabilities.drop=["ALL"]; container "web" may only add NET_BIND_SERVICE',
    ],
    ['root by choice', withSecurity({ ...safe, runAsNonRoot: false }), 'runAsNonRoot != true', 'must not set'],
    [
      'root by silence',
      withSecurity({ ...safe, runAsNonRoot: undefined as never }),
      'runAsNonRoot != true',
      'pod or container "web" must set',
    ],
    ['user 0', withSecurity({ ...safe, runAsUser: 0 }), 'runAsUser=0', 'container "web" must not set runAsUser=0'],
    [
      'user 0 of the pod',
      { ...withSecurity(safe), securityContext: { runAsUser: 0 } },
      'runAsUser=0',
      'pod must not set runAsUser=0',
    ],
    [
      'no word about seccomp',
      withSecurity({ ...safe, seccompProfile: undefined as never }),
      'seccompProfile',
      'to "RuntimeDefault" or "Localhost"',
    ],
  ])('refuses %s', (_, spec, reason, detail) => {
    const found = podSecurityViolations(spec, 'restricted');
    expect(found).toEqual([{ reason, detail: expect.stringContaining(detail) }]);
  });

  it('refuses what baseline refuses', () => {
    expect(reasons(worst, 'restricted')).toEqual(expect.arrayContaining(reasons(worst, 'baseline')));
  });
});
