import { describe, expect, it } from 'vitest';
import { plainNamespaces, plainSecurity } from '../../../test/builders/runtime-config.ts';
import { lackingCapabilities } from './capabilities.ts';
import { namespacesSpec, securitySpec, usersSpec } from './security-spec.ts';

const spec = (change: Partial<typeof plainSecurity>, lacking: readonly string[] = []) =>
  securitySpec({ security: { ...plainSecurity, ...change } }, lacking);

describe('what the engine is told of the rights of a container', () => {
  it.each<[string, Partial<typeof plainSecurity>, object]>([
    ['is nothing for a plain one', {}, {}],
    ['are its groups', { groups: [3, 4] }, { GroupAdd: ['3', '4'] }],
    [
      'are its capabilities',
      { capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] } },
      { CapAdd: ['NET_ADMIN'], CapDrop: ['ALL'] },
    ],
    [
      'are its profiles, one option each',
      { seccomp: { profile: '{"a":1}' }, appArmor: 'mine', noNewPrivileges: true },
      { SecurityOpt: ['seccomp={"a":1}', 'apparmor=mine', 'no-new-privileges'] },
    ],
    [
      'is that there are no profiles',
      { seccomp: 'unconfined', appArmor: 'unconfined' },
      { SecurityOpt: ['seccomp=unconfined', 'apparmor=unconfined'] },
    ],
    [
      'are the parts of its SELinux context',
      { seLinux: ['type:spc_t', 'level:s0:c1,c2'] },
      { SecurityOpt: ['label=type:spc_t', 'label=level:s0:c1,c2'] },
    ],
    ['is that nothing is hidden', { unmaskedProc: true }, { MaskedPaths: [], ReadonlyPaths: [] }],
    [
      'is that it may do everything, whatever else it says',
      { privileged: true, capabilities: { add: ['X'], drop: ['ALL'] }, seccomp: 'unconfined' },
      { Privileged: true },
    ],
  ])('%s', (_title, change, expected) => {
    expect(spec(change)).toEqual({ ReadonlyRootfs: false, ...expected });
  });

  it('leaves out what the machine does not have when everything is asked for', () => {
    expect(spec({ capabilities: { add: ['all'], drop: ['MKNOD'] } }, ['SYS_RESOURCE'])).toMatchObject({
      CapAdd: ['all'],
      CapDrop: ['MKNOD', 'SYS_RESOURCE'],
    });
    expect(spec({ capabilities: { add: ['CHOWN'], drop: [] } }, ['SYS_RESOURCE'])).not.toHaveProperty('CapDrop');
    const privileged = spec({ privileged: true, readOnlyRootFilesystem: true }, ['SYS_RESOURCE']);
    expect(privileged).not.toHaveProperty('Privileged');
    expect(privileged).toMatchObject({
      ReadonlyRootfs: true,
      CapAdd: ['ALL'],
      CapDrop: ['SYS_RESOURCE'],
      DeviceCgroupRules: ['a *:* rwm'],
    });
  });
});

it('the engine is told of devices by path, also in a container that has all others', () => {
  const devices = [{ hostPath: '/dev/video3', containerPath: '/dev/video0', permissions: 'rw' }];
  const told = { PathOnHost: '/dev/video3', PathInContainer: '/dev/video0', CgroupPermissions: 'rw' };
  expect(securitySpec({ security: plainSecurity, devices }, [])).toMatchObject({ Devices: [told] });
  const all = { PathOnHost: '/dev', PathInContainer: '/dev', CgroupPermissions: 'rwm' };
  const security = { ...plainSecurity, privileged: true };
  expect(securitySpec({ security, devices }, ['SYS_RESOURCE'])).toMatchObject({ Devices: [all, told] });
});

describe('what the engine is told of namespaces', () => {
  it.each([
    [plainNamespaces, { IpcMode: 'container:sb' }],
    [
      { ...plainNamespaces, pid: 'pod' },
      { IpcMode: 'container:sb', PidMode: 'container:sb' },
    ],
    [
      { pid: 'host', ipc: 'host', users: 'host' },
      { IpcMode: 'host', PidMode: 'host', UsernsMode: 'host' },
    ],
  ] as const)('%o', (namespaces, expected) => {
    expect(namespacesSpec(namespaces, 'container:sb')).toEqual(expected);
  });

  it('is nothing of users that are the engine to decide about', () => {
    expect(usersSpec({ users: 'own' })).toEqual({});
  });
});

describe('the capabilities that a machine lacks', () => {
  it.each([
    ['none of a usual one', 'CapBnd:\t000001ffffffffff', []],
    ['one', 'CapEff:\t0\nCapBnd:\t000001fffeffffff', ['SYS_RESOURCE']],
    ['none that are newer than every engine', 'CapBnd:\t0000003fffffffff', []],
    ['none where nothing is said', undefined, []],
    ['none of an engine that is nobody', 'CapBnd:\t0000000000000000', []],
  ])('are %s', (_title, status, lacking) => {
    expect(lackingCapabilities(status)).toEqual(lacking);
  });
});
