import { describe, expect, it } from 'vitest';
import type { EngineAnswer } from '../runtime/docker/identify.ts';
import { decideEngine } from './decide-engine.ts';
import { madeAtMs } from './decide-machine.ts';
import type { NetworkFacts } from './decide-network.ts';
import type { Facts, FolderFacts, OtherBerth, PortFacts } from './facts.ts';
import { parseListeners } from './port-holder.ts';
import { decidePreflight } from './preflight.ts';
import { parseControllers } from './probe.ts';

const gibi = 1024 ** 3;
const now = Date.UTC(2027, 0, 1);
const day = 86_400_000;
const engine: Extract<EngineAnswer, { kind: 'answers' }> = {
  kind: 'answers',
  version: '20.10.24',
  apiVersion: '1.41',
  cgroupVersion: 1,
  cgroupDriver: 'cgroupfs',
  limitsMemory: true,
  limitsCpu: true,
  rootDir: '/var/lib/docker',
  rootless: false,
  containersOfNode: 0,
};
const folder: FolderFacts = {
  path: '/var/lib/berth',
  errno: undefined,
  ownerUid: 0,
  strangers: [],
  freeBytes: 50 * gibi,
  freeInodes: 1_000_000,
};
const port: PortFacts = { address: '127.0.0.1:7443', errno: undefined, holder: undefined };
const twin: OtherBerth = { name: 'agent', pid: 7, dataDir: '/srv/berth', nodeName: 'web' };
const good: Facts = {
  nodeVersion: '20.19.0',
  uid: 0,
  dockerAddress: 'unix:///var/run/docker.sock',
  engine,
  controllers: ['cpu', 'memory', 'pids'],
  nowMs: now,
  certificates: [{ name: 'ca.crt', notBeforeMs: now - day, notAfterMs: now + day }],
  dataDir: folder,
  dockerRoot: { ...folder, path: '/var/lib/docker' },
  port,
  nodeName: 'web',
  ranNodeBefore: false,
  others: [],
  network: undefined,
};

const silent = (errno: string | undefined): Partial<Facts> => ({
  engine: { kind: 'silent', errno, words: 'no answer within 10000 ms' },
  dockerRoot: undefined,
});
const taken = (errno: string, holder?: PortFacts['holder']): Partial<Facts> => ({ port: { ...port, errno, holder } });
const disk = (change: Partial<FolderFacts>): Partial<Facts> => ({ dataDir: { ...folder, ...change } });

const network = (change: Partial<NetworkFacts>): Partial<Facts> => ({
  network: { kernel: '6.1.0-13-amd64', missing: [], firewall: undefined, ...change },
});

describe('the preflight', () => {
  it('has nothing to object to a good machine', () => {
    expect(decidePreflight(good).filter(({ level }) => level !== 'ok')).toEqual([]);
    expect(decidePreflight(good)).toHaveLength(9);
  });

  it.each<[string, Partial<Facts>, string, string]>([
    ['an old Node.js', { nodeVersion: '18.20.4' }, 'Node.js 18.20.4 is too old', 'install Node.js'],
    ['a Node.js just below the oldest', { nodeVersion: '20.18.3' }, '20.19 or newer is needed', 'install'],
    ['no engine', silent('ENOENT'), 'there is no Docker Engine at unix:///var/run/docker.sock', 'apt-get install docker.io'],
    ['an engine that has stopped', silent('ECONNREFUSED'), 'has stopped', 'systemctl start docker'],
    ['an engine that is not for this user', silent('EACCES'), 'this user may not talk', 'sudo'],
    ['an engine that hangs', silent(undefined), 'does not answer: no answer within 10000 ms', 'systemctl restart docker'],
    [
      'an engine that is too old',
      { engine: { kind: 'wrong-version', words: 'engine API 1.30 is too old' }, dockerRoot: undefined },
      'engine API 1.30 is too old',
      'Docker Engine 20.10',
    ],
    ['a rootless engine', { engine: { ...engine, rootless: true } }, 'runs rootless', 'engine that runs as root'],
    ['an engine on another machine', { dockerAddress: 'tcp://10.0.0.7:2375' }, 'of this very machine', 'unset DOCKER_HOST'],
    ['no memory controller', { controllers: ['cpu', 'pids'] }, 'cgroup controllers memory', 'cgroup_enable=memory'],
    ['no controllers at all', { controllers: [] }, 'memory and cpu', 'command line of the kernel'],
    ['an engine without cgroups', { engine: { ...engine, cgroupDriver: 'none' } }, 'does not manage cgroups', 'delegate'],
    ['a clock before the build', { nowMs: madeAtMs - 1 }, 'before this version of Berth was made', 'set the clock'],
    ['a clock that jumped back', { nowMs: now - 2 * day }, 'ca.crt was made for 2026-12-31', 'set the clock'],
    ['a clock that jumped forward', { nowMs: now + 2 * day }, 'authority ended on 2027-01-02', 'pki'],
    ['a read-only data directory', disk({ errno: 'EROFS' }), '/var/lib/berth is on a read-only file system', '--data-dir'],
    ['a data directory of others', disk({ errno: 'EACCES' }), 'may not be written by this user', 'sudo'],
    ['a file in its place', disk({ errno: 'ENOTDIR' }), '/var/lib/berth is not a folder', 'remove that file'],
    ['another failure', disk({ errno: 'ELOOP' }), 'cannot be used: ELOOP', 'another folder'],
    [
      'a folder with files of other programs',
      disk({ strangers: ['photos', 'mail'] }),
      "not Berth's (photos, mail)",
      'empty or new folder',
    ],
    ['a full disk', disk({ freeBytes: 5 * 1024 ** 2 }), 'is full: 5 MiB free, at least 32 MiB are needed', 'free some space'],
    ['no inodes', disk({ freeInodes: 3 }), 'room for 3 more files', 'remove files'],
    [
      "a full disk under the engine's folder",
      { dockerRoot: { ...folder, path: '/var/lib/docker', freeBytes: 0 } },
      "the disk of the engine's folder /var/lib/docker is full",
      'docker system df',
    ],
    ['a taken port', taken('EADDRINUSE', { pid: 9, command: 'nginx' }), 'taken by nginx (process 9)', '--listen'],
    ['a port that is taken by an unknown process', taken('EADDRINUSE'), 'taken by another program', 'ss -ltnp'],
    ['an address of another machine', taken('EADDRNOTAVAIL'), 'this machine has no address 127.0.0.1:7443', '0.0.0.0:7443'],
    ['a privileged port', taken('EACCES'), 'below 1024', 'sudo'],
    ['another failure to listen', taken('EMFILE'), 'cannot be listened on: EMFILE', '--listen'],
    ['a name that is none', { nodeName: 'Web_1' }, 'node name "Web_1" must consist of', '--node-name'],
    [
      'a twin',
      { others: [twin] },
      'runs node web already (process 7, data directory /srv/berth)',
      'berth down --data-dir /srv/berth',
    ],
    [
      "another data directory's containers",
      { engine: { ...engine, containersOfNode: 4 } },
      'there are 4 containers of a node web that another data directory made',
      'label=io.berth.node=web',
    ],
  ])('refuses %s, and says how to mend it', (_, change, message, advice) => {
    const failures = decidePreflight({ ...good, ...change }).filter(({ level }) => level !== 'ok');
    expect(failures).toEqual([
      { level: 'fail', message: expect.stringContaining(message), advice: expect.stringContaining(advice) },
    ]);
  });

  it.each<[string, Partial<Facts>, string]>([
    ['a user who is not root', { uid: 1000, dataDir: { ...folder, ownerUid: 1000 } }, 'not as root'],
    ['little space', disk({ freeBytes: gibi / 2 }), '512 MiB free, which is little'],
    ['few inodes', disk({ freeInodes: 5_000 }), '5000 more files'],
    ['a machine that is called localhost', { nodeName: 'localhost.localdomain' }, 'a name that other machines may have as well'],
    ['an engine that cannot limit memory', { engine: { ...engine, limitsMemory: false } }, 'cannot limit memory'],
  ])('warns about %s, and goes on', (_, change, message) => {
    const found = decidePreflight({ ...good, ...change }).filter(({ level }) => level !== 'ok');
    expect(found).toEqual([{ level: 'warn', message: expect.stringContaining(message), advice: expect.any(String) }]);
  });

  it('tells all failures at once', () => {
    const checks = decidePreflight({ ...good, ...silent('ENOENT'), ...taken('EADDRINUSE'), ...disk({ errno: 'EROFS' }) });
    expect(checks.filter(({ level }) => level === 'fail')).toHaveLength(3);
  });

  it('names the other Berth that has the port', () => {
    const other: OtherBerth = { name: 'server', pid: 9, dataDir: '/srv/berth', nodeName: undefined };
    const checks = decidePreflight({
      ...good,
      ...taken('EADDRINUSE', { pid: 9, command: 'node berth server' }),
      others: [other],
    });
    expect(checks.find(({ level }) => level === 'fail')?.message).toBe(
      '127.0.0.1:7443 is taken by another Berth (process 9, data directory /srv/berth)',
    );
  });

  it('takes containers of its own node for its own, and other nodes of other installations for none of its business', () => {
    const facts = {
      ...good,
      ranNodeBefore: true,
      engine: { ...engine, containersOfNode: 4 },
      others: [{ ...twin, nodeName: 'db' }],
    };
    expect(decidePreflight(facts).every(({ level }) => level === 'ok')).toBe(true);
  });

  it('does not look for inodes on file systems that have no number of them', () => {
    expect(decidePreflight({ ...good, ...disk({ freeInodes: undefined }) }).every(({ level }) => level === 'ok')).toBe(true);
  });

  it.each(['unix:///run/user/0/docker.sock', '/run/docker.sock', 'tcp://127.0.0.1:2375', 'tcp://localhost:2375'])(
    'takes %s for an engine of this machine',
    (address) => expect(decideEngine(engine, address).level).toBe('ok'),
  );
});

describe('what the probes read', () => {
  it('is the enabled controllers of cgroup v1', () => {
    const table = '#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t9\t1\nmemory\t0\t1\t0\npids\t2\t9\t1\n';
    expect(parseControllers(table)).toEqual(['cpu', 'pids']);
  });

  it('is the sockets that listen on a port, of both families, and no others', () => {
    const line = (address: string, state: string, inode: string): string =>
      `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0 100`;
    const table = [
      '  sl  local_address rem_address   st tx_queue',
      line('0100007F:1D13', '0A', '111'),
      line('0100007F:1D13', '01', '222'),
      line('00000000000000000000000000000000:1D13', '0A', '333'),
      line('0100007F:1D14', '0A', '444'),
    ].join('\n');
    expect(parseListeners(table, 7443)).toEqual(['111', '333']);
  });
});

describe("the preflight of the pods' network", () => {
  const found = (change: Partial<Facts>) =>
    decidePreflight({ ...good, ...change })
      .filter(({ message }) => message.startsWith("pods' network"))
      .map(({ level, message, advice = '' }) => `${level}: ${message}; ${advice}`);

  it('is none where pods stay in the network of the engine', () => expect(found({})).toEqual([]));

  it('has nothing to object to a machine with all programs', () =>
    expect(found(network({}))).toEqual([expect.stringMatching(/^ok: /)]));

  it('names the programs and packages that are missing', () => {
    const missing = [
      { name: 'ip', of: 'iproute2' },
      { name: 'bridge', of: 'iproute2' },
      { name: 'conntrack', of: 'conntrack' },
    ];
    expect(found(network({ missing }))).toEqual([
      expect.stringMatching(
        /^fail: .*ip, bridge, conntrack are missing; .*apt-get install iproute2 conntrack\), or .*--pod-network engine/,
      ),
    ]);
  });

  it.each([
    ['5.4.0-150-generic', 'fail'],
    ['4.19.0', 'fail'],
    ['5.6.0', 'ok'],
    ['6.1', 'ok'],
  ])('of Linux %s is %s', (kernel, level) => expect(found(network({ kernel }))[0]).toMatch(new RegExp(`^${level}: `)));

  it('fails without root', () =>
    expect(found({ ...network({}), uid: 1000 })).toEqual([expect.stringMatching(/^fail: .*only root/)]));

  it.each([
    ['ufw', 'ufw allow from'],
    ['firewalld', 'firewall-cmd --permanent'],
  ] as const)('warns of %s, with its command', (firewall, command) => {
    expect(found(network({ firewall }))).toEqual([expect.stringMatching(/^ok: /), expect.stringContaining(command)]);
  });
});
