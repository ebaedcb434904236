import { describe, expect, it } from 'vitest';
import { messageFromJson } from '../../codec/json.ts';
import type { Pod } from '../../generated/types.ts';
import { defaultPod } from './defaults.ts';
import { pod as kind } from './kind.ts';
import { sysctlNamespace } from './sysctls.ts';

type Json = Record<string, unknown>;

function broken(spec: Json, securityContext: Json = {}): string[] {
  const containers = [{ name: 'c', image: 'i:1', securityContext }];
  const pod = messageFromJson<Pod>('berth.core.v1.Pod', {
    metadata: { name: 'p', namespace: 'n' },
    spec: { containers, ...spec },
  });
  defaultPod(pod);
  return kind.validate(pod).map(({ field, description }) => `${field}: ${description}`);
}

const inPod = (securityContext: Json, spec: Json = {}): [Json] => [{ ...spec, securityContext }];
const sysctl = (name: string, spec: Json = {}) => inPod({ sysctls: [{ name, value: '1' }] }, spec);
const seccomp = (localhostProfile: string): [Json, Json] => [{}, { seccompProfile: { type: 'Localhost', localhostProfile } }];
const appArmor = (localhostProfile: string): [Json, Json] => [{}, { appArmorProfile: { type: 'Localhost', localhostProfile } }];
const dns = (dnsConfig: Json): [Json] => [{ dnsConfig }];
const searches = (...list: string[]) => dns({ searches: list });
const alias = (ip: string, ...hostnames: string[]): [Json] => [{ hostAliases: [{ ip, hostnames }] }];
const long = (length: number) => 'a'.repeat(length);

describe('what a pod may ask for', () => {
  it.each<[string, [Json, Json?]]>([
    ['the largest user and group', inPod({ runAsUser: 2147483647, fsGroup: 2147483647, supplementalGroups: [0, 2147483647] })],
    ['a parameter with slashes', sysctl('net/ipv4/conf/eth0.1/rp_filter')],
    ['a parameter of the longest name', sysctl(`net.${long(249)}`)],
    ["a parameter of the machine's IPC beside its network", sysctl('kernel.msgmax', { hostNetwork: true })],
    ['a profile in a folder', seccomp('profiles/a..b.json')],
    ['a profile of a longest name', appArmor(long(4095))],
    ['a profile with a space in its name', appArmor('my profile')],
    ['no domain to search, domains with underscores and a dot at the end', searches('.', '_tcp.example.com', 'example.com.')],
    ['32 domains', searches(...Array.from({ length: 32 }, (_, i) => `d${i}.example.com`))],
    ['domains that fill the line', searches(...Array.from({ length: 8 }, () => `${`${long(60)}.`.repeat(4)}${long(9)}`))],
    ['options with and without a value', dns({ options: [{ name: 'ndots', value: '5' }, { name: 'edns0' }] })],
    ['a host name of 64 characters', [{ hostnameOverride: `${long(31)}.${long(32)}` }]],
    ['aliases of both kinds of address', alias('::1', 'a', 'b.example.com')],
    ['all of /proc in a pod without users of the machine', [{ hostUsers: false }, { procMount: 'Unmasked' }]],
    ['capabilities with and without their prefix', [{}, { capabilities: { add: ['CAP_NET_RAW', 'SYS_TIME'], drop: ['ALL'] } }]],
  ])('is %s', (_title, [spec, container]) => {
    expect(broken(spec, container)).toEqual([]);
  });

  it.each<[string, [Json, Json?], string]>([
    [
      'a group beyond the range',
      inPod({ supplementalGroups: [2147483648] }),
      'spec.securityContext.supplementalGroups[0]: invalid value 2147483648',
    ],
    ['a volume group below it', inPod({ fsGroup: -1 }), 'spec.securityContext.fsGroup: invalid value -1'],
    [
      'an unknown policy of groups',
      inPod({ supplementalGroupsPolicy: 'Both' }),
      'spec.securityContext.supplementalGroupsPolicy: ',
    ],
    ['an unknown policy of volumes', inPod({ fsGroupChangePolicy: 'Never' }), 'spec.securityContext.fsGroupChangePolicy: '],
    ['a parameter with a space', sysctl('net.ipv4 x'), 'spec.securityContext.sysctls[0].name: invalid value'],
    ['a parameter with a newline', sysctl('net.a\nb'), 'spec.securityContext.sysctls[0].name: invalid value'],
    ['a parameter that climbs', sysctl('net/../kernel/x'), 'spec.securityContext.sysctls[0].name: invalid value'],
    ['a parameter whose name is too long', sysctl(`net.${long(250)}`), 'spec.securityContext.sysctls[0].name: invalid value'],
    ['a parameter twice', inPod({ sysctls: [{ name: 'net.a' }, { name: 'net.a' }] }), 'spec.securityContext.sysctls[1].name: '],
    [
      "a parameter of the machine's network",
      sysctl('net.core.somaxconn', { hostNetwork: true }),
      'may not be set when hostNetwork is true',
    ],
    ['the same with slashes', sysctl('net/core/somaxconn', { hostNetwork: true }), 'may not be set when hostNetwork is true'],
    ["a parameter of the machine's IPC", sysctl('fs.mqueue.msg_max', { hostIPC: true }), 'may not be set when hostIPC is true'],
    [
      'a profile outside of the folder',
      seccomp('../x.json'),
      'seccompProfile.localhostProfile: invalid value "../x.json": must not contain ".."',
    ],
    ['a profile with a climb inside', seccomp('a/../../x.json'), 'must not contain ".."'],
    ['a profile with a path of its own', seccomp('/etc/x.json'), 'must be a relative path'],
    ['a deprecated kind of profile', [{}, { seccompProfile: { type: 'docker/default' } }], 'seccompProfile.type: '],
    ['no kind of profile', [{}, { seccompProfile: {} }], 'seccompProfile.type: is required'],
    [
      'a profile that is not named',
      [{}, { seccompProfile: { type: 'Localhost' } }],
      'seccompProfile.localhostProfile: is required',
    ],
    [
      'a named profile of another kind',
      [{}, { appArmorProfile: { type: 'Unconfined', localhostProfile: 'x' } }],
      'may only be set with type Localhost',
    ],
    ['a profile with white space around', appArmor(' x'), 'must not start or end with white space'],
    ['unconfined as the name of a profile', appArmor('unconfined'), 'must name a profile; unconfined is type Unconfined'],
    ['unconfined in a namespace of profiles', appArmor(':root:unconfined'), 'must name a profile'],
    ['unconfined in a stack of profiles', appArmor('my//&unconfined'), 'must name a profile'],
    ['a profile with too long a name', appArmor(long(4096)), 'must have at most 4095 bytes'],
    ['all of /proc', [{}, { procMount: 'Unmasked' }], 'procMount: invalid value "Unmasked": hostUsers must be false'],
    [
      'no rise of a container that may do everything',
      [{}, { privileged: true, allowPrivilegeEscalation: false }],
      'allowPrivilegeEscalation: ',
    ],
    [
      'no rise beside SYS_ADMIN',
      [{}, { allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } }],
      'allowPrivilegeEscalation: ',
    ],
    [
      'the processes of the machine and of the pod',
      [{ hostPID: true, shareProcessNamespace: true }],
      'spec.shareProcessNamespace: ',
    ],
    ["users of its own in the machine's namespaces", [{ hostUsers: false, hostPID: true }], 'spec.hostPID: '],
    [
      '33 domains',
      searches(...Array.from({ length: 33 }, (_, i) => `d${i}.example.com`)),
      'spec.dnsConfig.searches: invalid value 33: must be at most 32',
    ],
    [
      'domains beyond the line',
      searches(...Array.from({ length: 9 }, () => `${`${long(60)}.`.repeat(4)}${long(9)}`)),
      'must have at most 2048 characters in all',
    ],
    ['a domain with a newline', searches('a\nnameserver 6.6.6.6'), 'spec.dnsConfig.searches[0]: invalid value'],
    [
      'an option with a newline',
      dns({ options: [{ name: 'ndots', value: '1\nx' }] }),
      'spec.dnsConfig.options[0].value: invalid value',
    ],
    ['an option without a name', dns({ options: [{ value: '1' }] }), 'spec.dnsConfig.options[0].name: is required'],
    ['a name server by name', dns({ nameservers: ['dns.example.com'] }), 'spec.dnsConfig.nameservers[0]: invalid value'],
    ['an empty name server', dns({ nameservers: [''] }), 'spec.dnsConfig.nameservers[0]: is required'],
    ['4 name servers', dns({ nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] }), 'must be at most 3'],
    ['a host name of 65 characters', [{ hostnameOverride: `${long(32)}.${long(32)}` }], 'spec.hostnameOverride: invalid value'],
    ['an empty host name', [{ hostnameOverride: '' }], 'spec.hostnameOverride: invalid value'],
    ['a host name with capitals', [{ hostname: 'Web' }], 'spec.hostname: invalid value'],
    [
      "another name for the machine's network",
      [{ hostNetwork: true, hostnameOverride: 'x' }],
      'may not be set when hostNetwork is true',
    ],
    [
      'another name and the full one',
      [{ setHostnameAsFQDN: true, hostnameOverride: 'x' }],
      'may not be set when setHostnameAsFQDN is true',
    ],
    ['an alias with a newline', alias('1.1.1.1', 'a\n6.6.6.6 b'), 'spec.hostAliases[0].hostnames[0]: invalid value'],
    ['an alias with a space', alias('1.1.1.1', 'a b'), 'spec.hostAliases[0].hostnames[0]: invalid value'],
    ['an alias for nowhere', alias(''), 'spec.hostAliases[0].ip: is required'],
    ['an alias for no address', alias('1.1.1.1 x'), 'spec.hostAliases[0].ip: invalid value'],
    ['options of Windows', [{}, { windowsOptions: { hostProcess: true } }], 'every node runs Linux'],
  ])('is not %s', (_title, [spec, container], words) => {
    expect(broken(spec, container).join('\n')).toContain(words);
  });
});

describe('the namespace of a kernel parameter', () => {
  it.each([
    ['net.ipv4.tcp_syncookies', 'net'],
    ['net/ipv4/conf/eth0.1/rp_filter', 'net'],
    ['kernel.shm_rmid_forced', 'ipc'],
    ['kernel.msgmax', 'ipc'],
    ['kernel.sem', 'ipc'],
    ['kernel.semaphore', undefined],
    ['fs.mqueue.msg_max', 'ipc'],
    ['kernel.hostname', 'uts'],
    ['vm.swappiness', undefined],
    ['netx.y', undefined],
  ])('of %s is %s', (name, namespace) => {
    expect(sysctlNamespace(name)).toBe(namespace);
  });
});
