import { type ChildProcess, spawn } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, createInstallation, eventually, type Installation, run } from './installation.ts';

// "berth up" as a newcomer meets it: what is wrong with the machine, what runs already, what runs in part.
let berth: Installation;
beforeAll(async () => {
  berth = await createInstallation('up');
});
afterAll(() => berth.purge());

const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
const up = (...args: string[]) =>
  berth.berth([
    ...['up', '--detach', '--data-dir', berth.dataDir, '--listen', berth.address, '--node-name', berth.nodeName],
    ...['--kubernetes-listen', '127.0.0.1:0'],
    ...args,
  ]);
const pids = () => [berth.pid('server'), berth.pid('agent')];

describe('berth up on a machine that is not ready for it', () => {
  let squatter: Server;
  let port: number;
  beforeAll(async () => {
    squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
    port = (squatter.address() as { port: number }).port;
  });
  afterAll(() => new Promise((resolve) => squatter.close(resolve)));

  it('says all that is wrong at once and how to mend it, starts nothing and leaves nothing behind', async () => {
    const args = [
      'DOCKER_HOST=unix:///nonexistent.sock',
      process.execPath,
      launcher,
      'up',
      '--detach',
      '--data-dir',
      berth.dataDir,
    ];
    const { code, stdout, stderr } = await run(
      'env',
      [...args, '--listen', `127.0.0.1:${port}`, '--node-name', berth.nodeName],
      berth.config,
    );
    expect(code).toBe(1);
    expect(stdout).toContain('ok: Node.js');
    expect(stderr).toContain('failed: there is no Docker Engine at unix:///nonexistent.sock\n    to mend it: install it');
    expect(stderr).toMatch(
      new RegExp(`failed: 127\\.0\\.0\\.1:${port} is taken by .* \\(process ${process.pid}\\)\n {4}to mend it: `),
    );
    expect(stderr).toMatch(/error: 2 things have to be mended first; nothing was started\n$/);
    expect((await run('ls', ['-a', dirname(berth.dataDir)])).stdout).toBe('.\n..\n');
  });

  it('refuses a data directory with foreign files', async () => {
    const home = join(dirname(berth.dataDir), 'home');
    mkdirSync(home);
    writeFileSync(join(home, 'letter'), 'dear');
    const { code, stderr } = await berth.berth(['up', '--detach', '--data-dir', home, '--listen', berth.address]);
    expect(code).toBe(1);
    expect(stderr).toContain(`${home} holds files that are not Berth's (letter)`);
    expect((await run('ls', ['-A', home])).stdout).toBe('letter\n');
  });

  it('names each flag that has a bad value', async () => {
    const { code, stderr } = await berth.berth(['up', '--listen', '7443', '--node-name', 'Web_1', '--data-dir', berth.dataDir]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: --listen "7443" must be HOST:PORT.*\n--node-name "Web_1" must consist of/);
  });
});

describe('berth up', () => {
  it('returns with --detach when the node is ready, and says what to type next', async () => {
    const { code, stdout, stderr } = await up();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/ok: Docker Engine .*\n/);
    expect(stdout).toContain(`ok: API server on ${berth.address}\n`);
    expect(stdout).toContain(`ok: node ${berth.nodeName} is ready`);
    expect(stdout).toContain('Next:\n  berth get nodes');
    const [, door] = /^ok: Kubernetes' API on (127\.0\.0\.1:\d+)$/m.exec(stdout) ?? [];
    expect(stdout).toContain('\n  berth kubeconfig --merge  ');
    expect(await berth.ok('kubeconfig')).toContain(`      server: https://${door}\n`);
    expect(await berth.ok('get', 'nodes')).toMatch(new RegExp(`${berth.nodeName} +Ready `));
    const [, socket] = /^ {6}berth-socket: (\S+)$/m.exec(readFileSync(berth.config, 'utf8')) ?? [];
    expect(lstatSync(socket!).isSocket()).toBe(true);
  });

  it('says of a running installation that it runs, changes nothing, and exits with 0, also without --detach and with other flags', async () => {
    const before = pids();
    const same = await berth.berth(['up', '--data-dir', berth.dataDir]);
    expect(same).toMatchObject({ code: 0, stderr: '' });
    expect(same.stdout).toContain(
      `already runs from ${berth.dataDir} (server: process ${before[0]}, agent: process ${before[1]}); nothing was changed.`,
    );
    expect(same.stdout).toContain(`ok: the API server answers on ${berth.address}\nok: node ${berth.nodeName} is ready\n`);
    const other = await berth.berth(['up', '--data-dir', berth.dataDir, '--listen', '127.0.0.1:1', '--node-name', 'other']);
    expect(other.code).toBe(0);
    expect(other.stdout).toContain(
      `not applied: --listen 127.0.0.1:1 (it runs with ${berth.address}), --node-name other (it runs with ${berth.nodeName})`,
    );
    expect(other.stdout).toContain('berth down, then berth up --listen 127.0.0.1:1 --node-name other');
    const config = ['--scheduler-config', '/nowhere.yaml'];
    const bad = await berth.berth(['up', '--data-dir', berth.dataDir, ...config]);
    expect(bad.code).toBe(1);
    expect(bad.stderr).toContain("cannot read the scheduler's configuration /nowhere.yaml: there is no such file");
    expect(pids()).toEqual(before);
  });

  it('refuses the port and the node name of another Berth on this machine, naming it', async () => {
    const dataDir = join(dirname(berth.dataDir), 'second');
    const args = ['up', '--detach', '--data-dir', dataDir, '--listen', berth.address, '--node-name', berth.nodeName];
    const { code, stderr } = await berth.berth(args);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `failed: ${berth.address} is taken by another Berth (process ${berth.pid('server')}, data directory ${berth.dataDir})`,
    );
    expect(stderr).toContain(`failed: another Berth on this machine runs node ${berth.nodeName} already`);
  });

  it('mends an installation of which only the server runs', async () => {
    const server = berth.pid('server');
    const ended = berth.pid('agent');
    writeFileSync(join(berth.dataDir, 'run', 'agent.stop'), '');
    process.kill(Number(readFileSync(join(berth.dataDir, 'run', 'agent.supervisor.pid'), 'utf8')), 'SIGTERM');
    await eventually('the agent has ended', async () => (await run('kill', ['-0', String(ended)])).code !== 0 || undefined);
    const { code, stdout } = await berth.berth(['up', '--detach', '--data-dir', berth.dataDir]);
    expect(code).toBe(0);
    expect(stdout).toContain('it is whole again');
    expect(berth.pid('server')).toBe(server);
    expect(await berth.ok('get', 'nodes')).toMatch(new RegExp(`${berth.nodeName} +Ready `));
  });

  it('starts once when two are typed at the same moment; the other waits and says that it runs', async () => {
    await berth.ok('down', '--data-dir', berth.dataDir);
    const both = await Promise.all([up(), up()]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    const texts = both.map(({ stdout }) => stdout);
    expect(texts.filter((text) => text.includes('ok: Docker Engine'))).toHaveLength(1);
    const [waited] = texts.filter((text) => text.includes('already runs from'));
    expect(waited).toMatch(/another command is at work on .*: berth up \(process \d+\); waiting for it\n/);
  });

  it('runs again as it ran before when it is started without flags, also after a start with a flag that failed', async () => {
    await berth.ok('down', '--data-dir', berth.dataDir);
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(taken.address() as { port: number }).port}`;
    const failed = await berth.berth(['up', '--detach', '--data-dir', berth.dataDir, '--agent-metrics-address', address]);
    await new Promise((resolve) => taken.close(resolve));
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining(`cannot serve metrics on ${address}`)]);
    expect(readFileSync(join(berth.dataDir, 'installation.json'), 'utf8')).not.toContain(address);
    const { stdout } = await berth.berth(['up', '--detach', '--data-dir', berth.dataDir]);
    expect(stdout).toContain(`ok: API server on ${berth.address}\n`);
    expect(stdout).toContain(`ok: node ${berth.nodeName} is ready`);
  });

  it('runs in the foreground until Ctrl-C, which stops it and leaves containers alone', async () => {
    await berth.berth(['apply', '-f', '-'], pod);
    await berth.ok('wait', '--for=condition=Ready', 'pod/stays', '--timeout=60s');
    const before = (await containersOf(berth.nodeName)).map((each) => each.id).sort();
    await berth.ok('down', '--data-dir', berth.dataDir);
    const { child, text } = foreground();
    await eventually('it is ready', async () => text().includes('Berth runs until you press Ctrl-C') || undefined);
    child.kill('SIGINT');
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
    expect(text()).toMatch(/Berth has stopped; "berth up" starts it again\.\n$/);
    expect((await berth.ok('down', '--data-dir', berth.dataDir)).trim()).toBe(`Berth did not run from ${berth.dataDir}.`);
    expect((await containersOf(berth.nodeName)).map((each) => each.id).sort()).toEqual(before);
  });

  it('ends in the foreground when another command stops it', async () => {
    const { child, text } = foreground();
    const closed = new Promise((resolve) => child.once('close', resolve));
    await eventually('it is ready', async () => text().includes('Berth runs until you press Ctrl-C') || undefined);
    await berth.ok('down', '--data-dir', berth.dataDir);
    expect(await closed).toBe(0);
    expect(text()).toContain('Berth was stopped by another command.');
  });
});

const pod = `
apiVersion: v1
kind: Pod
metadata: { name: stays }
spec: { containers: [{ name: main, image: "berth/busybox:latest", command: [sleep, "3600"] }] }
`;

function foreground(): { child: ChildProcess; text: () => string } {
  const child = spawn(process.execPath, [launcher, 'up', '--data-dir', berth.dataDir], {
    env: { ...process.env, BERTH_CONFIG: berth.config },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  return { child, text: () => text };
}

describe('an agent with the name of another', () => {
  let second: Installation;
  const agent = (dataDir: string) =>
    spawn(
      process.execPath,
      [launcher, 'agent', '--node-name', berth.nodeName, '--server', berth.address, '--data-dir', dataDir, '--log-level', 'info'],
      { env: { ...process.env, BERTH_CONFIG: berth.config }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
  const ended = async (child: ChildProcess): Promise<{ code: unknown; stderr: string }> => {
    let stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
    child.stdout?.resume();
    return { code: await new Promise((resolve) => child.once('close', resolve)), stderr };
  };
  beforeAll(async () => {
    second = await createInstallation('up-second');
    await up();
  });
  afterAll(() => second.purge());

  it('is refused with exit code 1 and a sentence that names the other, from the same data directory', async () => {
    const { code, stderr } = await ended(agent(berth.dataDir));
    expect(code).toBe(1);
    expect(stderr).toContain(
      `error: node "${berth.nodeName}" is run by another live agent, process ${berth.pid('agent')} on machine `,
    );
    expect(stderr).toContain(`with data directory ${berth.dataDir}: stop that one, or start this one with another --node-name`);
  });

  it('is refused from another data directory too, once the other has shown that it lives', async () => {
    const { code, stderr } = await ended(agent(second.dataDir));
    expect(code).toBe(1);
    expect(stderr).toContain('the node has another holder, waiting whether it is alive');
    expect(stderr).toContain(
      `error: node "${berth.nodeName}" is run by another live agent, process ${berth.pid('agent')} on machine `,
    );
  });

  it('takes its name back at once after kill -9, from the same machine and data directory', async () => {
    const killed = berth.pid('agent');
    process.kill(killed, 'SIGKILL');
    await eventually('the new agent holds the lease', async () => {
      const lease = JSON.parse(await berth.ok('get', 'lease', berth.nodeName, '-n', 'kube-node-lease', '-o', 'json'));
      const holder = Number(lease.metadata.annotations['berth.io/holder-process']);
      if (holder === killed || holder !== berth.pid('agent')) return undefined;
      expect(lease.spec.leaseTransitions ?? 0).toBe(0);
      return true;
    });
    const log = readFileSync(join(berth.dataDir, 'logs', 'agent.log'), 'utf8');
    expect(log).not.toContain('the node has another holder');
  });
});
