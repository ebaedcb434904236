import { describe, expect, it } from 'vitest';
import type { PodSpec } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { decideIsolation } from './isolation-admission.ts';

const node = { appArmor: false, allowedUnsafeSysctls: ['kernel.msg*', 'net.core.somaxconn'] };
const decide = (spec: PodSpec, change: Partial<typeof node> = {}) =>
  decideIsolation(pod('a').container('c').spec(spec).build(), { ...node, ...change });
const sysctl = (name: string, spec: PodSpec = {}) =>
  decide({ ...spec, securityContext: { sysctls: [{ name: 'net.ipv4.tcp_syncookies' }, { name }] } });

describe('kernel parameters of a pod', () => {
  it.each([['kernel.shm_rmid_forced'], ['net/ipv4/ping_group_range'], ['kernel.msgmax'], ['net.core.somaxconn']])(
    'may be %s',
    (name) => {
      expect(sysctl(name)).toBeUndefined();
    },
  );

  it.each([
    ['kernel.sem', 'not allowlisted'],
    ['net.core.somaxconn2', 'not allowlisted'],
    ['vm.swappiness', 'not allowlisted'],
  ])('may not be %s', (name, why) => {
    expect(sysctl(name)).toEqual({ reason: 'SysctlForbidden', message: `forbidden sysctl: "${name}" ${why}` });
  });

  it("may not be the machine's, whatever is allowed", () => {
    expect(sysctl('net.core.somaxconn', { hostNetwork: true })?.message).toContain('not allowed with host net enabled');
    expect(sysctl('kernel.msgmax', { hostIPC: true })?.message).toContain('not allowed with host ipc enabled');
  });
});

describe('AppArmor on a node without it', () => {
  it.each<[string, PodSpec, boolean]>([
    ['is not missed by a pod that does not ask', {}, false],
    ['is not missed by one that wants none', { securityContext: { appArmorProfile: { type: 'Unconfined' } } }, false],
    ["keeps a pod out that asks for the engine's", { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } }, true],
    [
      'keeps a pod out whose init container asks',
      { initContainers: [{ securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: 'x' } } }] },
      true,
    ],
    [
      'is not missed when every container wants none',
      {
        securityContext: { appArmorProfile: { type: 'RuntimeDefault' } },
        containers: [{ securityContext: { appArmorProfile: { type: 'Unconfined' } } }],
      },
      false,
    ],
  ])('%s', (_title, spec, refused) => {
    const refusal = {
      reason: 'AppArmor',
      message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host',
    };
    expect(decide(spec)).toEqual(refused ? refusal : undefined);
    expect(decide(spec, { appArmor: true })).toBeUndefined();
  });
});
