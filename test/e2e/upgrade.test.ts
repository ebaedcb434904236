import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, createInstallation, eventually, type Installation, run } from './installation.ts';

// A second copy of the package, of a later version, in place of the running one; and keepers that are killed.
let berth: Installation;
let copy: string;
const root = fileURLToPath(new URL('../..', import.meta.url));

beforeAll(async () => {
  berth = await createInstallation('upgrade');
  copy = mkdtempSync(join(tmpdir(), 'berth-e2e-copy-'));
  for (const name of ['bin', 'dist', 'proto']) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const about = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object;
  writeFileSync(join(copy, 'package.json'), JSON.stringify({ ...about, version: '99.0.0' }));
  await berth.up();
  const pod = `
apiVersion: v1
kind: Pod
metadata: { name: stays }
spec: { containers: [{ name: main, image: "berth/busybox:latest", command: [sleep, "3600"] }] }
`;
  await berth.berth(['apply', '-f', '-'], pod);
  await berth.ok('wait', '--for=condition=Ready', 'pod/stays', '--timeout=60s');
});
afterAll(async () => {
  await berth.purge();
  rmSync(copy, { recursive: true, force: true });
});

const next = (...args: string[]) =>
  run(process.execPath, [join(copy, 'bin', 'berth'), ...args, '--data-dir', berth.dataDir], berth.config);
/** What would differ if any container had been touched. */
const containers = async (): Promise<string> => {
  const ids = (await containersOf(berth.nodeName)).map(({ id }) => id).sort();
  return (await run('docker', ['inspect', '--format', '{{.Id}} {{.State.StartedAt}} {{.State.Pid}} {{.RestartCount}}', ...ids]))
    .stdout;
};
const nodeVersion = async () =>
  JSON.parse(await berth.ok('get', 'node', berth.nodeName, '-o', 'json')).status.nodeInfo.kubeletVersion as string;

describe('a later version of the program', () => {
  it('says that another runs, and how to put itself in its place, and changes nothing', async () => {
    const before = [berth.pid('server'), berth.pid('agent')];
    const { code, stdout } = await next('up', '--detach');
    expect(code).toBe(0);
    expect(stdout).toContain('This program is version 99.0.0: "berth up --upgrade" puts it in place, containers go on running.');
    expect([berth.pid('server'), berth.pid('agent')]).toEqual(before);
  });

  it('takes the place of the running one with --upgrade, over the same store, and touches no container', async () => {
    const before = await containers();
    const format = readFileSync(join(berth.dataDir, 'store', 'format'), 'utf8');
    const { code, stdout, stderr } = await next('up', '--upgrade', '--detach');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/Berth 99\.0\.0 runs in place of \S+\.\n/);
    expect(await nodeVersion()).toBe('v99.0.0');
    expect(await berth.ok('get', 'pods')).toMatch(/stays +1\/1 +Running +0 /);
    expect(await berth.ok('exec', 'stays', '--', 'true')).toBe('');
    expect(await containers()).toBe(before);
    expect(readFileSync(join(berth.dataDir, 'store', 'format'), 'utf8')).toBe(format);
    for (const name of ['server', 'agent'] as const)
      expect(readFileSync(`/proc/${berth.pid(name)}/cmdline`, 'utf8')).toContain(join(copy, 'bin', 'berth'));
  });

  it('has nothing to do the second time', async () => {
    const before = [berth.pid('server'), berth.pid('agent')];
    const { code, stdout } = await next('up', '--upgrade', '--detach');
    expect(code).toBe(0);
    expect(stdout).toContain('Berth 99.0.0 already runs');
    expect(stdout).not.toContain('another build');
    expect([berth.pid('server'), berth.pid('agent')]).toEqual(before);
  });

  it('is told from another build of itself, which takes its place with --upgrade', async () => {
    const [before, pids] = [await containers(), [berth.pid('server'), berth.pid('agent')]];
    writeFileSync(join(copy, 'dist', 'program', 'build-id'), 'another\n');
    expect((await next('up', '--detach')).stdout).toContain(
      'This program is another build of that version: "berth up --upgrade"',
    );
    expect([berth.pid('server'), berth.pid('agent')]).toEqual(pids);
    const { code, stdout } = await next('up', '--upgrade', '--detach');
    expect(code).toBe(0);
    expect(stdout).toContain('Berth 99.0.0 runs in place of another build of 99.0.0.');
    for (const name of ['server', 'agent'] as const) expect(pids).not.toContain(berth.pid(name));
    expect(await containers()).toBe(before);
    expect((await next('up', '--detach')).stdout).not.toContain('another build');
  });
});

describe('server and agent', () => {
  const keeper = (name: 'server' | 'agent') => Number(readFileSync(join(berth.dataDir, 'run', `${name}.supervisor.pid`), 'utf8'));
  /** A zombie has no command line. */
  const isAlive = async (pid: number) => (await run('cat', [`/proc/${pid}/cmdline`])).stdout !== '';

  it('bring back a keeper that was killed, and its process goes on untouched', async () => {
    const [before, server, killed] = [await containers(), berth.pid('server'), keeper('server')];
    process.kill(killed, 'SIGKILL');
    await eventually(
      'another keeper',
      async () => (keeper('server') !== killed && (await isAlive(keeper('server')))) || undefined,
    );
    expect(berth.pid('server')).toBe(server);
    expect(await isAlive(server)).toBe(true);
    expect(await containers()).toBe(before);
  });

  it('bring each other back when one is killed together with its keeper', async () => {
    for (const name of ['server', 'agent'] as const) {
      const killed = [keeper(name), berth.pid(name)];
      for (const pid of killed) process.kill(pid, 'SIGKILL');
      await eventually(`the ${name} is back`, async () => {
        const found = [keeper(name), berth.pid(name)];
        return found.every((pid) => !killed.includes(pid)) && (await isAlive(found[1] ?? 0)) ? true : undefined;
      });
    }
    await eventually('all works', async () => (await berth.ok('exec', 'stays', '--', 'true')) === '' || undefined);
  });

  it('stay away after "berth down"', async () => {
    const pids = [keeper('server'), keeper('agent'), berth.pid('server'), berth.pid('agent')];
    await berth.ok('down', '--data-dir', berth.dataDir);
    for (const pid of pids) expect(await isAlive(pid)).toBe(false);
    expect((await run('pgrep', ['-f', `berth.* --data-dir ${berth.dataDir}`])).stdout).toBe('');
    expect((await containersOf(berth.nodeName)).every(({ state }) => state === 'running')).toBe(true);
  });
});
