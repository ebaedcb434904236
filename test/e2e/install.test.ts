import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, createInstallation, eventually, type Installation, type Outcome, run } from './installation.ts';

// "berth install" on a machine without systemd: this one, with an /etc that is the test's own.
const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
let berth: Installation;
let folder: string;
let joined: string;
let machine: ChildProcess;
let before: string;

const here = (...words: string[]) => run('nsenter', ['--target', String(machine.pid), '--mount', ...words], berth.config);
const command = (...args: string[]) => here(process.execPath, launcher, ...args);
async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(...args);
  if (code !== 0) throw new Error(`berth ${args.join(' ')} ended with ${code}: ${stderr || stdout}`);
  return stdout;
}
const off = ['--metrics-address', 'off'];
const install = (...flags: string[]): Promise<Outcome> => command('install', 'server', '--data-dir', berth.dataDir, ...flags);
const script = async (verb: string) => (await here('/etc/init.d/berth', verb)).stdout;
const etc = async () => (await here('find', '/etc', '-printf', '%y %p %l %s\\n')).stdout;
const pids = () => [berth.pid('server'), berth.pid('agent')];

beforeAll(async () => {
  berth = await createInstallation('install');
  folder = mkdtempSync(join(tmpdir(), 'berth-e2e-install-'));
  joined = join(folder, 'joined');
  const copy = join(folder, 'etc');
  const own = `cp -a /etc ${copy} && mount --bind ${copy} /etc && if [ -d /run/systemd ]; then mount -t tmpfs none /run/systemd; fi && echo made && exec sleep infinity`;
  machine = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', own], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(machine.stdout!, 'data');
  before = await etc();
  await ok(
    'up',
    '--detach',
    '--data-dir',
    berth.dataDir,
    '--listen',
    berth.address,
    '--node-name',
    berth.nodeName,
    ...off,
    '--agent-metrics-address',
    'off',
  );
});
afterAll(async () => {
  for (const dataDir of [joined, berth.dataDir]) {
    await command('uninstall', '--purge', '--yes', '--force', '--data-dir', dataDir);
    await command('down', '--purge', '--yes', '--data-dir', dataDir);
  }
  await berth.purge();
  machine.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

describe('an agent as a service', () => {
  it('joins with a token from a file, of which nothing is left, and is removed without a trace', async () => {
    const line = await ok('token', 'create', '--data-dir', berth.dataDir, '--address', berth.address);
    const [, token = '', hash = ''] = /--token (\S+) --ca-hash (\S+)/.exec(line) ?? [];
    const file = join(folder, 'token');
    writeFileSync(file, `${token}\n`, { mode: 0o600 });
    const node = `${berth.nodeName}-b`;
    const out = await ok(
      'install',
      'agent',
      berth.address,
      '--token-file',
      file,
      '--ca-hash',
      hash,
      '--node-name',
      node,
      '--data-dir',
      joined,
      ...off,
    );
    expect(out).toContain(`ok: node ${node} is ready`);
    expect(out).toContain('ok: /etc/init.d/berth starts Berth with the machine');
    expect(await script('status')).toMatch(/^agent runs \(process \d+\)\n$/);
    const secret = token.split('.')[1]!;
    expect((await here('grep', '-rlF', secret, '/etc/init.d', joined)).stdout).toBe('');
    expect((await install()).stderr).toContain(`/etc/init.d/berth is the service of another Berth, in ${joined}`);
    expect(await ok('install', 'agent', '--data-dir', joined)).toContain('nothing was changed');
    await ok('uninstall', '--purge', '--yes', '--data-dir', joined);
    await berth.ok('delete', 'node', node);
    expect(await etc()).toBe(before);
  });
});

describe('a server as a service', () => {
  it('takes over what runs, without touching a container', async () => {
    const pod = `
apiVersion: v1
kind: Pod
metadata: { name: stays }
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  containers: [{ name: main, image: berth/busybox:latest, command: [sleep, "3600"] }]
`;
    expect((await berth.berth(['apply', '-f', '-'], pod)).code).toBe(0);
    await berth.ok('wait', '--for=condition=Ready', 'pod/stays', '--timeout=60s');
    const containers = await containersOf(berth.nodeName);
    const { code, stdout } = await install();
    expect(code).toBe(0);
    expect(stdout).toContain('ok: agent and server stopped, to run as a service; containers go on running\n');
    expect(stdout).toContain('ok: /etc/init.d/berth starts Berth with the machine\n');
    expect(await script('status')).toMatch(/^server runs \(process \d+\)\nagent runs \(process \d+\)\n$/);
    expect(await containersOf(berth.nodeName)).toEqual(containers);
  });

  it('is started again when it is killed, and as a whole when the machine starts', async () => {
    const [server] = pids();
    process.kill(server!, 'SIGKILL');
    await eventually('a new server', async () =>
      (await script('status')).startsWith('server runs') && berth.pid('server') !== server ? true : undefined,
    );
    // A power failure: no signal is sent.
    const keepers = ['server', 'agent'].map((name) =>
      Number(readFileSync(join(berth.dataDir, 'run', `${name}.supervisor.pid`), 'utf8')),
    );
    for (const pid of [...keepers, ...pids()]) process.kill(pid, 'SIGKILL');
    expect((await here('/etc/init.d/berth', 'status')).code).toBe(3);
    await script('start');
    await eventually('an answer', async () => ((await command('get', 'pod', 'stays')).code === 0 ? true : undefined));
    await eventually('both', async () => ((await here('/etc/init.d/berth', 'status')).code === 0 ? true : undefined));
  });

  it('restarts what another option changes, says what, and changes nothing without one', async () => {
    const [server, agent] = pids();
    const changed = await install('--history', '2h');
    expect(changed).toMatchObject({ code: 0, stderr: '' });
    expect(changed.stdout).toContain('ok: changes: --history 2h (before 1h)\n');
    expect(berth.pid('agent')).toBe(agent);
    expect(berth.pid('server')).not.toBe(server);
    const same = await install('--history', '2h');
    expect(same.stdout).toContain('runs as it should; nothing was changed');
  });

  it('stops with its script or with down, and is removed without a trace; containers go on running', async () => {
    const containers = (await containersOf(berth.nodeName)).map(({ id }) => id);
    await script('stop');
    expect((await here('/etc/init.d/berth', 'status')).code).toBe(3);
    expect((await command('down', '--purge', '--yes', '--data-dir', berth.dataDir)).stderr).toContain('berth uninstall --purge');
    expect(await ok('down', '--data-dir', berth.dataDir)).toContain('starts again with it');
    await ok('uninstall', '--data-dir', berth.dataDir);
    expect(await etc()).toBe(before);
    expect((await containersOf(berth.nodeName)).map(({ id }) => id)).toEqual(containers);
  });
});
