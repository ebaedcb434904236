import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInstallation, eventually } from './installation.ts';
import { configMap, containerOf, housed, inspect, type PodHouse, podOf, script, secret, stay } from './pods-fixture.ts';

// What containers may do, as whom, and in which namespaces: read inside of them.
let house: PodHouse;
let hostDir: string;

/** What the kernel says of a process that does nothing special. */
const show = 'grep -E "^(Uid|Gid|Groups|CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status';
const one = (name: string, securityContext: object, text = stay, more: object = {}) =>
  script(text, { name, securityContext, ...more });
const mounts = ['empty', 'memory', 'config', 'secret', 'host'].map((name) => ({ name, mountPath: `/v/${name}` }));
const volumes = [
  { name: 'empty', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
  { name: 'config', configMap: { name: 'settings', defaultMode: 0o400 } },
  { name: 'secret', secret: { secretName: 'login' } },
];
const profile = { defaultAction: 'SCMP_ACT_ALLOW', syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }] };
const localhost = (localhostProfile: string) => ({ seccompProfile: { type: 'Localhost', localhostProfile } });

beforeAll(async () => {
  hostDir = mkdtempSync(join(tmpdir(), 'berth-e2e-security-'));
  chmodSync(hostDir, 0o755);
  const berth = await createInstallation('security');
  mkdirSync(join(berth.dataDir, 'seccomp/profiles'), { recursive: true });
  writeFileSync(
    join(berth.dataDir, 'node.yaml'),
    'allowedUnsafeSysctls: [kernel.msg*]\ndevices:\n- resource: example.com/zero\n  paths: [/dev/zero:/dev/mine]\n  permissions: r\n',
  );
  await berth.up();
  house = housed(berth);
  writeFileSync(join(house.berth.dataDir, 'seccomp/profiles/no-folders.json'), JSON.stringify(profile));
  const shared = {
    runAsUser: 1000,
    runAsGroup: 3000,
    runAsNonRoot: true,
    supplementalGroups: [4000, 5000],
    fsGroup: 2000,
    fsGroupChangePolicy: 'OnRootMismatch',
  };
  const root = { runAsUser: 0, runAsNonRoot: false };
  const ownDns = {
    nameservers: ['10.9.8.7'],
    searches: ['one.example', 'two.example'],
    options: [{ name: 'ndots', value: '3' }, { name: 'edns0' }],
  };
  const aliases = [{ ip: '10.1.2.3', hostnames: ['store', 'store.example'] }];
  const runtimeClass = (name: string, handler: string) => ({
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name },
    handler,
  });
  await house.apply(
    {
      ...runtimeClass('plain', 'runc'),
      overhead: { podFixed: { memory: '16Mi' } },
      scheduling: { nodeSelector: { 'kubernetes.io/os': 'linux' } },
    },
    runtimeClass('strange', 'nonesuch'),
    podOf('called', [script(stay)], {
      hostname: 'db',
      subdomain: 'data',
      setHostnameAsFQDN: true,
      hostAliases: aliases,
      dnsPolicy: 'None',
      dnsConfig: ownDns,
    }),
    podOf('more', [script(stay)], { hostnameOverride: 'other.name', dnsConfig: { searches: ['extra.example'] } }),
    podOf('hosted', [script(stay)], { hostNetwork: true, hostAliases: aliases, dnsPolicy: 'ClusterFirstWithHostNet' }),
    podOf('usual', [script(stay)], { dnsPolicy: 'Default', dnsConfig: { options: [{ name: 'ndots', value: '2' }] } }),
    podOf('endless', [script(stay)], { hostname: 'a'.repeat(60), subdomain: 'data', setHostnameAsFQDN: true }),
    podOf('classed', [script(stay)], { runtimeClassName: 'plain' }),
    podOf('odd', [script(stay)], { runtimeClassName: 'strange' }),
    configMap('settings', { color: 'blue' }),
    secret('login', { password: 'p' }),
    podOf(
      'users',
      [
        one('plain', {}, stay, { volumeMounts: mounts }),
        one('own', { runAsUser: 1234, runAsGroup: 5678, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false }),
        one('few', { ...root, capabilities: { drop: ['ALL'], add: ['CAP_CHOWN', 'NET_ADMIN'] } }),
        one('most', { ...root, capabilities: { drop: ['NET_RAW'], add: ['ALL'] } }),
        one('open', { seccompProfile: { type: 'Unconfined' }, appArmorProfile: { type: 'Unconfined' } }),
        one('local', localhost('profiles/no-folders.json')),
        one('strict', { ...root, privileged: true }),
      ],
      { securityContext: shared, volumes: [...volumes, { name: 'host', hostPath: { path: hostDir } }] },
    ),
    podOf('rootless', [one('root', { runAsNonRoot: true }), one('user', { runAsUser: 0 })], {
      securityContext: { runAsNonRoot: true },
    }),
    podOf('profiles', [one('missing', localhost('nowhere.json')), one('fine', localhost('profiles/no-folders.json'))]),
    podOf('device', [script(stay, { resources: { limits: { 'example.com/zero': 1 } } })]),
    podOf('armour', [one('main', { appArmorProfile: { type: 'Localhost', localhostProfile: 'nowhere' } })]),
    podOf('kernel', [script(stay)], {
      securityContext: {
        sysctls: [
          { name: 'net.ipv4.ip_unprivileged_port_start', value: '7' },
          { name: 'kernel/shm_rmid_forced', value: '1' },
          { name: 'kernel.msgmax', value: '9999' },
        ],
      },
    }),
    podOf('forbidden', [script(stay)], { securityContext: { sysctls: [{ name: 'kernel.sem', value: '9 9 9 9' }] } }),
    podOf('together', [script(stay, { name: 'a' }), script(`(sleep 0.1 &) ; sleep 0.5; ${stay}`, { name: 'b' })], {
      shareProcessNamespace: true,
    }),
    podOf('machine', [one('main', { privileged: true })], { hostPID: true, hostIPC: true, hostNetwork: true }),
    podOf('processes', [script(stay)], { hostPID: true }),
    podOf('messages', [script(stay)], { hostIPC: true }),
    podOf(
      'confined',
      [
        one('own', {}),
        one('usual', { seccompProfile: { type: 'RuntimeDefault' } }),
        one('open', { seccompProfile: { type: 'Unconfined' } }),
      ],
      { securityContext: { ...localhost('profiles/no-folders.json'), appArmorProfile: { type: 'Unconfined' } } },
    ),
    podOf('mapped', [script(stay)], { hostUsers: false }),
    podOf('strict', [one('main', {})], {
      securityContext: { supplementalGroupsPolicy: 'Strict', runAsUser: 7, supplementalGroups: [8] },
    }),
    podOf('strictly', [one('main', {})], {
      securityContext: { supplementalGroupsPolicy: 'Strict', runAsUser: 7, runAsGroup: 9, supplementalGroups: [8] },
    }),
  );
}, 240_000);
afterAll(async () => {
  await house.berth.purge();
  rmSync(hostDir, { recursive: true, force: true });
});

/** The lines of a status file by their names, single spaces between numbers. */
async function status(pod: string, container?: string): Promise<Record<string, string>> {
  const text = await house.sh(pod, show, container);
  return Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => line.split(/:\s*/).slice(0, 2))
      .map(([name, value]) => [name, value?.trim().replace(/\s+/g, ' ')]),
  );
}
const bit = (mask: string | undefined, number: number) => (BigInt(`0x${mask}`) >> BigInt(number)) & 1n;

describe('the users and rights of containers', () => {
  beforeAll(() => house.running('users'));

  it('are those of the pod, with its groups and the group of its volumes', async () => {
    expect(await status('users', 'plain')).toMatchObject({
      Uid: '1000 1000 1000 1000',
      Gid: '3000 3000 3000 3000',
      Groups: '2000 3000 4000 5000',
      CapEff: '0000000000000000',
      NoNewPrivs: '0',
      Seccomp: '2',
    });
  });

  it('are those of the container, which gains no more and writes nowhere', async () => {
    expect(await status('users', 'own')).toMatchObject({
      Uid: '1234 1234 1234 1234',
      Gid: '5678 5678 5678 5678',
      NoNewPrivs: '1',
    });
    expect(await house.sh('users', 'touch /tmp/x 2>&1 || true', 'own')).toContain('Read-only file system');
  });

  it('are capabilities: two of them, or all but one', async () => {
    // CHOWN is number 0, NET_ADMIN 12.
    expect((await status('users', 'few')).CapEff).toBe('0000000000001001');
    const { CapEff } = await status('users', 'most');
    expect([bit(CapEff, 13), bit(CapEff, 12), bit(CapEff, 21), bit(CapEff, 18)]).toEqual([0n, 1n, 1n, 1n]);
  });

  it('are profiles: none, or one of the machine', async () => {
    expect((await status('users', 'open')).Seccomp).toBe('0');
    expect((await status('users', 'local')).Seccomp).toBe('2');
    expect(await house.sh('users', 'mkdir /tmp/x 2>&1 || true', 'local')).toContain('Operation not permitted');
    expect(await house.sh('users', 'mkdir /tmp/x && echo made', 'open')).toBe('made\n');
  });

  it('are the profile of the pod, where a container has none of its own', async () => {
    await house.running('confined');
    const makes = (container: string) => house.sh('confined', 'mkdir /tmp/x 2>&1 && echo made || true', container);
    expect(await makes('own')).toContain('Operation not permitted');
    for (const container of ['usual', 'open']) expect(await makes(container)).toBe('made\n');
    const filters = ['own', 'usual', 'open'].map(async (container) => (await status('confined', container)).Seccomp);
    expect(await Promise.all(filters)).toEqual(['2', '2', '0']);
  });

  it('are everything for a privileged container', async () => {
    const { CapEff, Seccomp } = await status('users', 'strict');
    expect([bit(CapEff, 21), Seccomp]).toEqual([1n, '0']);
    expect(await house.sh('users', 'mkdir /tmp/m && mount -t tmpfs x /tmp/m && echo mounted; ls /dev/kmsg', 'strict')).toBe(
      'mounted\n/dev/kmsg\n',
    );
  });

  it('reach the volumes, which belong to the group; a path of the machine does not', async () => {
    const lines = await house.sh(
      'users',
      'for v in empty memory config/..data/color secret/..data/password host; do stat -c "%g %a" /v/$v; done',
      'plain',
    );
    expect(lines.trim().split('\n')).toEqual(['2000 2777', '2000 3777', '2000 440', '2000 644', '0 755']);
    expect(
      await house.sh(
        'users',
        'echo hi > /v/empty/x; stat -c "%u %g" /v/empty/x; cat /v/config/color /v/secret/password',
        'plain',
      ),
    ).toBe('1000 2000\nbluep');
  });
});

describe('a container that may not run as asked', () => {
  it('waits when it would be root, and says why', async () => {
    const pod = await house.until(
      'rootless',
      'waits',
      (each) =>
        (each.status.containerStatuses ?? []).length === 2 &&
        each.status.containerStatuses!.every(({ state }) => state.waiting?.reason === 'CreateContainerConfigError'),
    );
    const where = (name: string) => `(pod: "rootless_default(${pod.metadata.uid})", container: ${name})`;
    expect(containerOf(pod, 'root').state.waiting?.message).toBe(
      `container has runAsNonRoot and image will run as root ${where('root')}`,
    );
    expect(containerOf(pod, 'user').state.waiting?.message).toBe(`container's runAsUser breaks non-root policy ${where('user')}`);
  });

  it('waits for a profile that is not there, while the others run', async () => {
    const pod = await house.until('profiles', 'waits beside one that runs', (each) => {
      const found = each.status.containerStatuses ?? [];
      return (
        found.some(({ state }) => state.waiting?.reason === 'CreateContainerError') &&
        found.some(({ state }) => state.running !== undefined)
      );
    });
    expect(containerOf(pod, 'missing').state.waiting?.message).toMatch(
      /seccomp profile ".*seccomp\/nowhere.json": no such file or directory/,
    );
  });

  it('waits when the groups of its user cannot be kept out, and runs when they can', async () => {
    const pod = await house.until(
      'strict',
      'waits',
      (each) => each.status.containerStatuses?.[0]?.state.waiting?.reason === 'CreateContainerConfigError',
    );
    expect(containerOf(pod).state.waiting?.message).toContain('supplementalGroupsPolicy Strict needs runAsGroup');
    await house.running('strictly');
    expect(await status('strictly')).toMatchObject({ Uid: '7 7 7 7', Gid: '9 9 9 9', Groups: '8 9' });
  });
});

describe('a pod that the node cannot isolate as asked', () => {
  it('is refused for a kernel parameter that is not safe', async () => {
    const pod = await house.until('forbidden', 'is refused', (each) => each.status.phase === 'Failed');
    expect(pod.status).toMatchObject({
      reason: 'SysctlForbidden',
      message: 'Pod was rejected: forbidden sysctl: "kernel.sem" not allowlisted',
    });
  });

  it('is refused for a profile of AppArmor where the kernel has none, and waits with the words of the engine where it has', async () => {
    const pod = await house.until(
      'armour',
      'is refused or waits',
      (each) => each.status.reason === 'AppArmor' || each.status.containerStatuses?.[0]?.state.waiting?.message !== undefined,
    );
    expect(pod.status.reason ?? containerOf(pod).state.waiting?.message).toMatch(/AppArmor|nowhere/i);
  });

  it('waits for an engine that maps users when it must not have those of the machine', async () => {
    expect(await sandboxFailure('mapped')).toContain('hostUsers is false, and the engine of this node maps no users');
  });
});

describe('the namespaces of a pod', () => {
  it('have the kernel parameters that it sets', async () => {
    await house.running('kernel');
    const text = await house.sh(
      'kernel',
      'cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/kernel/shm_rmid_forced /proc/sys/kernel/msgmax',
    );
    expect(text).toBe('7\n1\n9999\n');
  });

  it('hold the processes of all containers, whose orphans are reaped by the first', async () => {
    await house.running('together');
    const list = await house.sh('together', 'ps -o pid,args', 'a');
    expect(list).toMatch(/^ +1 \/pause$/m);
    expect(list.match(/while :; do sleep/g)?.length).toBeGreaterThanOrEqual(2);
    // One that has ended in this moment may not have been fetched yet.
    await eventually('no process is left that nobody fetches', async () =>
      (await house.sh('together', 'ps -o stat | grep -c Z || true', 'b')) === '0\n' ? true : undefined,
    );
  });

  it("are the machine's, each by itself or all together", async () => {
    const spaces = ['pid', 'ipc', 'net', 'mnt'];
    const ours = spaces.map((name) => readlinkSync(`/proc/self/ns/${name}`));
    for (const [pod, shared] of Object.entries({ processes: ['pid'], messages: ['ipc'], machine: ['pid', 'ipc', 'net'] })) {
      await house.running(pod);
      const theirs = (await house.sh(pod, `cd /proc/self/ns; for n in ${spaces.join(' ')}; do readlink $n; done`))
        .trim()
        .split('\n');
      expect(spaces.filter((_, i) => theirs[i] === ours[i])).toEqual(shared);
    }
    expect((await house.sh('machine', 'ps -o args')).includes('dockerd')).toBe(true);
  });
});

/** Waits for the event that says why the pod has no sandbox. */
async function sandboxFailure(pod: string): Promise<string> {
  const event = await eventually(`an event of pod ${pod}`, async () =>
    (await house.events(pod)).find(({ reason }) => reason === 'FailedCreatePodSandBox'),
  );
  return event.message;
}

const serversOf = (resolver: string) => [...resolver.matchAll(/^nameserver\s+(\S+)/gm)].map(([, server]) => server);
/** Those of the machine that a pod in a network of its own can reach. */
const reachableServers = () =>
  serversOf(readFileSync('/etc/resolv.conf', 'utf8')).filter((server) => !/^(127\.|::1$)/.test(server ?? ''));

/** The resolvers of this node and of others. */
const clusterServers = [expect.stringMatching(/^10\.42\.\d+\.1$/), '10.43.0.10'];

describe('the names of a pod', () => {
  it('are its own, full ones, and its aliases; its name servers too', async () => {
    const { status } = await house.running('called');
    expect(await house.exec('called', 'hostname')).toBe('db.data.default.svc.cluster.local\n');
    const hosts = await house.exec('called', 'cat', '/etc/hosts');
    expect(hosts).toMatch(/^# Kubernetes-managed hosts file\.\n127\.0\.0\.1\tlocalhost\n/);
    expect(hosts).toContain(`\n${status.podIP}\tdb.data.default.svc.cluster.local\tdb\n`);
    expect(hosts).toMatch(/# Entries added by HostAliases\.\n10\.1\.2\.3\tstore\tstore\.example\n$/);
    expect(await house.exec('called', 'cat', '/etc/resolv.conf')).toBe(
      'search one.example two.example\nnameserver 10.9.8.7\noptions ndots:3 edns0\n',
    );
  });

  it('may be others, with domains beside those of the machine', async () => {
    await house.running('more');
    expect(await house.exec('more', 'hostname')).toBe('other.name\n');
    const resolver = await house.exec('more', 'cat', '/etc/resolv.conf');
    expect(resolver).toMatch(/^search .*\bextra\.example$/m);
    expect(serversOf(resolver)).toEqual(clusterServers);
    await house.running('usual');
    const usual = await house.exec('usual', 'cat', '/etc/resolv.conf');
    expect([serversOf(usual), usual]).toEqual([reachableServers(), expect.stringMatching(/^options .*\bndots:2\b/m)]);
  });

  it("are the machine's in its network, with aliases below", async () => {
    await house.running('hosted');
    expect(await house.exec('hosted', 'hostname')).toBe(`${hostname()}\n`);
    const hosts = await house.exec('hosted', 'cat', '/etc/hosts');
    expect(hosts).toMatch(/^# Kubernetes-managed hosts file \(host network\)\.\n/);
    expect(hosts).toContain(readFileSync('/etc/hosts', 'utf8').trim());
    expect(hosts).toMatch(/10\.1\.2\.3\tstore\tstore\.example\n$/);
    expect(serversOf(await house.exec('hosted', 'cat', '/etc/resolv.conf'))).toEqual(clusterServers);
  });

  it('keep the pod waiting when they are longer than the kernel takes', async () => {
    expect(await sandboxFailure('endless')).toContain('is too long (64 characters is the max, 91 characters requested)');
    const conditions = new Map((await house.pod('endless')).status.conditions?.map(({ type, status }) => [type, status]));
    expect([conditions.get('PodScheduled'), conditions.get('PodReadyToStartContainers')]).toEqual(['True', 'False']);
    const ready = (await house.running('called')).status.conditions?.map(({ type, status }) => `${type} ${status}`).sort();
    const all = ['ContainersReady', 'Initialized', 'PodReadyToStartContainers', 'PodScheduled', 'Ready'];
    expect(ready).toEqual(all.map((type) => `${type} True`));
  });
});

describe('the runtime class of a pod', () => {
  it('decides about the runtime of the engine, and gives the pod its overhead', async () => {
    const pod = await house.running('classed');
    const { HostConfig } = await inspect(containerOf(pod).containerID);
    expect(HostConfig).toMatchObject({ Runtime: 'runc' });
    expect(pod.spec).toMatchObject({ overhead: { memory: '16Mi' }, nodeSelector: { 'kubernetes.io/os': 'linux' } });
  });

  it('keeps the pod waiting when the engine has no such runtime, and out when there is no such class', async () => {
    expect(await sandboxFailure('odd')).toContain('nonesuch');
    const { code, stderr } = await house.berth.berth(
      ['apply', '-f', '-'],
      JSON.stringify(podOf('none', [script(stay)], { runtimeClassName: 'none' })),
    );
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('pods "none" is forbidden: pod rejected: RuntimeClass "none" not found'),
    ]);
  });
});

describe('a device of the node', () => {
  it('is in the container that asked for it, and in no other at the same time', async () => {
    const pod = await house.running('device');
    expect(await house.sh('device', 'head -c 3 /dev/mine | wc -c')).toBe('3\n');
    const { HostConfig } = await inspect(containerOf(pod).containerID);
    expect(HostConfig).toMatchObject({
      Devices: [{ PathOnHost: '/dev/zero', PathInContainer: '/dev/mine', CgroupPermissions: 'r' }],
    });
    const node = JSON.parse(await house.berth.ok('get', 'node', house.berth.nodeName, '-o', 'json'));
    expect(node.status.allocatable['example.com/zero']).toBe('1');
    await house.apply(podOf('second', [script(stay, { resources: { limits: { 'example.com/zero': 1 } } })]));
    const waits = await house.until(
      'second',
      'waits',
      (pod) => pod.status.conditions?.some(({ reason }) => reason === 'Unschedulable') === true,
    );
    expect(JSON.stringify(waits.status.conditions)).toMatch(/Insufficient example.com\/zero/i);
    await house.berth.ok('delete', 'pod', 'device');
    await house.running('second');
  });
});
