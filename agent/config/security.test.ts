import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { PodSecurityContext, PodSpec, SecurityContext } from '../../api/generated/types.ts';
import { dottedSysctl } from '../../api/kinds/pod/sysctls.ts';
import { pod } from '../../test/builders/index.ts';
import { plainSecurity } from '../../test/builders/runtime-config.ts';
import { computeNamespaces, computeSecurity, computeSysctls, needsImageUser } from './security.ts';
import { createSecuritySource } from './security-facts.ts';

const build = (own: SecurityContext, shared: PodSecurityContext = {}) => {
  const object = pod('web').uid('u').container('app', { securityContext: own }).spec({ securityContext: shared }).build();
  return [object, object.spec!.containers![0]!] as const;
};
const security = (own: SecurityContext, shared?: PodSecurityContext, imageUser?: string) =>
  computeSecurity(...build(own, shared), { imageUser, seccompProfile: '{}' });

describe('what a container may do', () => {
  it.each<[string, SecurityContext, PodSecurityContext, Partial<typeof plainSecurity>]>([
    ['is what the engine gives without a word', {}, {}, {}],
    ['has the user of the container before that of the pod', { runAsUser: 5, runAsGroup: 6 }, { runAsUser: 7 }, { user: '5:6' }],
    ['has the user of the pod', {}, { runAsUser: 7 }, { user: '7' }],
    ['mixes the two', { runAsUser: 5 }, { runAsGroup: 8 }, { user: '5:8' }],
    ['is root where the spec asks for it', { runAsUser: 0 }, { runAsUser: 7 }, { user: '0' }],
    [
      'has the groups of the pod, and the one of its volumes, once',
      {},
      { supplementalGroups: [3, 4, 3], fsGroup: 4 },
      { groups: [3, 4] },
    ],
    ['takes no privileges that its parent lacks', { allowPrivilegeEscalation: false }, {}, { noNewPrivileges: true }],
    ['may gain privileges when that is allowed', { allowPrivilegeEscalation: true }, {}, {}],
    [
      'has capabilities as they are written',
      { capabilities: { add: ['CAP_SYS_TIME'], drop: ['ALL'] } },
      {},
      { capabilities: { add: ['CAP_SYS_TIME'], drop: ['ALL'] } },
    ],
    ['has the profile of the pod', {}, { seccompProfile: { type: 'Unconfined' } }, { seccomp: 'unconfined' }],
    [
      'has the profile of the container before',
      { seccompProfile: { type: 'RuntimeDefault' } },
      { seccompProfile: { type: 'Unconfined' } },
      {},
    ],
    [
      'has a profile of the machine',
      { seccompProfile: { type: 'Localhost', localhostProfile: 'a.json' } },
      {},
      { seccomp: { profile: '{}' } },
    ],
    [
      'has an AppArmor profile by name',
      { appArmorProfile: { type: 'Localhost', localhostProfile: 'k8s-x' } },
      { appArmorProfile: { type: 'Unconfined' } },
      { appArmor: 'k8s-x' },
    ],
    [
      'has a profile whose name begins as another',
      { appArmorProfile: { type: 'Localhost', localhostProfile: 'unconfined-x' } },
      {},
      { appArmor: 'unconfined-x' },
    ],
    ['has no AppArmor profile', {}, { appArmorProfile: { type: 'Unconfined' } }, { appArmor: 'unconfined' }],
    ["has the engine's AppArmor profile", { appArmorProfile: { type: 'RuntimeDefault' } }, {}, {}],
    [
      'has the SELinux context of its pod',
      {},
      { seLinuxOptions: { user: 'u', role: '', level: 's0:c1' } },
      { seLinux: ['user:u', 'level:s0:c1'] },
    ],
    [
      'has an SELinux context of its own, and nothing of that of its pod',
      { seLinuxOptions: { type: 'spc_t' } },
      { seLinuxOptions: { level: 's0' } },
      { seLinux: ['type:spc_t'] },
    ],
    ['sees all of /proc', { procMount: 'Unmasked' }, {}, { unmaskedProc: true }],
    [
      'has everything',
      { privileged: true, readOnlyRootFilesystem: true },
      {},
      { privileged: true, readOnlyRootFilesystem: true },
    ],
  ])('%s', (_title, own, shared, expected) => {
    expect(security(own, shared)).toEqual({ ...plainSecurity, ...expected });
  });
});

describe('the user of the image', () => {
  it.each<[string, SecurityContext, PodSecurityContext, boolean]>([
    ['is of no interest', {}, {}, false],
    ['is of no interest beside a user', { runAsUser: 1, runAsGroup: 1, runAsNonRoot: true }, {}, false],
    ['counts for the rule against root', { runAsNonRoot: true }, {}, true],
    ['is left alone where the container takes the rule back', { runAsNonRoot: false }, { runAsNonRoot: true }, false],
    ['gets the group', {}, { runAsGroup: 1 }, true],
    ['counts where its groups must not', {}, { supplementalGroupsPolicy: 'Strict' }, true],
  ])('%s', (_title, own, shared, needed) => {
    expect(needsImageUser(...build(own, shared))).toBe(needed);
  });

  it.each([
    ['', '0:9'],
    ['1000', '1000:9'],
    ['app:staff', 'app:9'],
  ])('"%s" keeps running, with the group of the pod', (imageUser, user) => {
    expect(security({ runAsGroup: 9 }, {}, imageUser).user).toBe(user);
  });

  const where = '(pod: "web_default(u)", container: app)';
  it.each<[string, SecurityContext, string, string | undefined]>([
    ['a number that is not root', {}, '1000', undefined],
    ['a number with a group', {}, '1000:0', undefined],
    ['the user of an image without one', {}, '', `container has runAsNonRoot and image will run as root ${where}`],
    ['root by number', {}, '0', `container has runAsNonRoot and image will run as root ${where}`],
    ['root by many zeros', {}, '000:5', `container has runAsNonRoot and image will run as root ${where}`],
    [
      'a name',
      {},
      'app',
      `container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root ${where}`,
    ],
    ['a name, but the pod says a number', { runAsUser: 7 }, 'app', undefined],
    ['a number, but the pod says root', { runAsUser: 0 }, '1000', `container's runAsUser breaks non-root policy ${where}`],
  ])('%s, in a container that must not be root', (_title, own, imageUser, problem) => {
    const made = () => security(own, { runAsNonRoot: true }, imageUser);
    if (problem === undefined) expect(made).not.toThrow();
    else expect(made).toThrow(expect.objectContaining({ message: problem, reason: 'CreateContainerConfigError' }));
  });

  it.each<[string, SecurityContext, string, string | undefined]>([
    ['the group of the pod', { runAsUser: 5, runAsGroup: 6 }, '', '5:6'],
    ['the group of the image by number', {}, '1000:2000', '1000:2000'],
    ["root's", {}, '', '0:0'],
    ["root's, by name", {}, 'root', 'root:0'],
    ['a user without a group', { runAsUser: 5 }, '1000:2000', undefined],
    ['a group by name', {}, 'app:staff', undefined],
  ])('with policy Strict has %s and no others of the image', (_title, own, imageUser, user) => {
    const made = () => security(own, { supplementalGroupsPolicy: 'Strict' }, imageUser);
    if (user === undefined) expect(made).toThrow('supplementalGroupsPolicy Strict needs runAsGroup here');
    else expect(made().user).toBe(user);
  });
});

describe('the namespaces of a pod', () => {
  it.each<[string, PodSpec, string]>([
    ['are its own', {}, 'container pod engine'],
    ['share processes', { shareProcessNamespace: true }, 'pod pod engine'],
    ["are the machine's", { hostPID: true, hostIPC: true }, 'host host host'],
    ["have the machine's users", { hostUsers: true }, 'container pod host'],
    ["never have the machine's users", { hostUsers: false }, 'container pod own'],
    ["have the machine's users with its network", { hostNetwork: true }, 'container pod host'],
    [
      "have the machine's users with a privileged container",
      { initContainers: [{ securityContext: { privileged: true } }] },
      'container pod host',
    ],
  ])('%s', (_title, spec, expected) => {
    const { pid, ipc, users } = computeNamespaces(pod('a').container('c').spec(spec).build());
    expect(`${pid} ${ipc} ${users}`).toBe(expected);
  });
});

describe('kernel parameters', () => {
  it.each([
    ['net.ipv4.tcp_syncookies', 'net.ipv4.tcp_syncookies'],
    ['net/ipv4/conf/eth0.1/rp_filter', 'net.ipv4.conf.eth0/1.rp_filter'],
    ['net.ipv4.conf.eth0/1.rp_filter', 'net.ipv4.conf.eth0/1.rp_filter'],
  ])('named %s are %s', (name, result) => {
    expect(dottedSysctl(name)).toBe(result);
  });

  it('are told with their values', () => {
    const sysctls = [{ name: 'kernel/shm_rmid_forced', value: '1' }];
    expect(computeSysctls(pod('a').spec({ securityContext: { sysctls } }).build())).toEqual({ 'kernel.shm_rmid_forced': '1' });
  });
});

describe('profiles of the machine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-seccomp-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'profiles'));
  writeFileSync(join(folder, 'profiles/fine.json'), '{"defaultAction":"SCMP_ACT_ALLOW"}');
  writeFileSync(join(folder, 'bad.json'), '{');
  const asked: string[] = [];
  const told: string[] = [];
  const images = {
    async find(name: string) {
      asked.push(name);
      return { id: 'i', names: [], sizeBytes: 1, user: '77' };
    },
  };
  const source = createSecuritySource({
    images,
    seccompDir: folder,
    runtimeClasses: async ({ name }) => (name === 'none' ? undefined : { handler: name === 'empty' ? '' : 'runsc' }),
    devices: { give: () => ({ held: {}, devices: [] }), settled: () => {} },
    etcFiles: { ensure: async () => ({ mounts: [], problems: ['too many'] }) },
    events: (_pod, _type, reason, message) => void told.push(`${reason} ${message}`),
  });
  const facts = (localhostProfile: string) =>
    source.facts(...build({ seccompProfile: { type: 'Localhost', localhostProfile } }), { ip: '1.2.3.4' });

  it('are read as they are, without asking the engine', async () => {
    expect(await facts('profiles/fine.json')).toEqual({
      seccompProfile: '{"defaultAction":"SCMP_ACT_ALLOW"}',
      files: [],
      given: { held: {}, devices: [] },
    });
    expect([asked, told]).toEqual([[], ['DNSConfigForming too many']]);
  });

  it.each([
    ['missing.json', 'missing.json": no such file or directory'],
    ['bad.json', 'bad.json": it is not JSON'],
    ['profiles', 'profiles": EISDIR'],
    ['../etc/passwd', '"../etc/passwd" is not a path below'],
    ['profiles/../../x', 'is not a path below'],
    ['/etc/passwd', '"/etc/passwd" is not a path below'],
    ['', '"" is not a path below'],
  ])('are refused when "%s" is none', async (name, words) => {
    await expect(facts(name)).rejects.toMatchObject({ message: expect.stringContaining(words), reason: 'CreateContainerError' });
  });

  it('are not read for a privileged container, which has none', async () => {
    const profile = { type: 'Localhost', localhostProfile: 'missing.json' };
    expect(await source.facts(...build({ privileged: true, seccompProfile: profile }), { ip: undefined })).toEqual({
      files: [],
      given: { held: {}, devices: [] },
    });
  });

  it.each([
    [undefined, undefined],
    ['sandboxed', 'runsc'],
    ['empty', undefined],
  ])('the class %s means the runtime %s', async (runtimeClassName, handler) => {
    const object = pod('a')
      .spec(runtimeClassName === undefined ? {} : { runtimeClassName })
      .build();
    expect(await source.runtimeHandler(object)).toBe(handler);
  });

  it('a class that is gone is told by its name', async () => {
    const object = pod('a').spec({ runtimeClassName: 'none' }).build();
    await expect(source.runtimeHandler(object)).rejects.toThrow('RuntimeClass "none" not found');
  });

  it("reads the image's user for a container with runAsNonRoot", async () => {
    expect((await source.facts(...build({ runAsNonRoot: true }), { ip: undefined })).imageUser).toBe('77');
  });
});
