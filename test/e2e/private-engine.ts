import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, forceRemove, type Outcome, run } from './installation.ts';

export interface EngineStart {
  /** Whether its containers go on while it is away. */
  readonly liveRestore: boolean;
}

/**
 * A Docker Engine of a test's own, to be stopped and killed: its state, socket, containerd,
 * network namespace and firewall are its own.
 */
export interface PrivateEngine {
  /** For DOCKER_HOST. */
  readonly host: string;
  /** Where everything of it is. */
  readonly folder: string;
  /** The program that enters its network namespace, to be followed by a program and its arguments. */
  readonly enter: readonly string[];
  /** The machine's address in there, once `connect` was called. */
  connect(): Promise<string>;
  /** Returns when it answers; at once when it runs already. */
  start(options: EngineStart): Promise<void>;
  /** Ends it and returns when it has ended; with SIGKILL its containerd ends too, the containers' shims do not. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /**
   * What a machine that lost its power does to it: everything ends at once, and what lives in memory is gone.
   * It does not run then.
   */
  reboot(): Promise<void>;
  /** Runs a program in the engine's network namespace, where its containers and host ports can be reached. */
  inside(program: string, ...args: readonly string[]): Promise<Outcome>;
  docker(...args: readonly string[]): Promise<string>;
  /** Ends and removes everything of it, whatever state it is in. */
  remove(): Promise<void>;
}

/** Makes one that does not run yet, with no image. */
export async function createPrivateEngine(name: string): Promise<PrivateEngine> {
  await removeAbandonedEngines();
  const folder = mkdtempSync(join(tmpdir(), `berth-engine-${name}-${process.pid}-`));
  const network = networkOf(name, process.pid);
  const [root, exec, socket, log] = ['root', 'exec', 'docker.sock', 'log'].map((part) => join(folder, part)) as [
    string,
    string,
    string,
    string,
  ];
  const host = `unix://${socket}`;
  mkdirSync(exec);
  await must('ip', 'netns', 'add', network);
  const enter = ['nsenter', `--net=/run/netns/${network}`] as const;
  const inside = (program: string, ...args: readonly string[]) => run(enter[0], [enter[1], program, ...args]);
  await must(...enter, 'ip', 'link', 'set', 'lo', 'up');
  let engine: ChildProcess | undefined;

  async function docker(...args: readonly string[]): Promise<string> {
    return must('docker', '--host', host, ...args);
  }

  /** A cable between the machine and the namespace, which goes with the namespace. */
  async function connect(): Promise<string> {
    const [outer, inner] = [`bo${process.pid}`, `bi${process.pid}`];
    await must('ip', 'link', 'add', outer, 'type', 'veth', 'peer', 'name', inner, 'netns', network);
    await must('ip', 'address', 'add', '10.214.0.1/30', 'dev', outer);
    await must('ip', 'link', 'set', outer, 'up');
    await must(...enter, 'ip', 'address', 'add', '10.214.0.2/30', 'dev', inner);
    await must(...enter, 'ip', 'link', 'set', inner, 'up');
    return '10.214.0.1';
  }

  const runs = () => engine !== undefined && engine.exitCode === null && engine.signalCode === null;

  async function start({ liveRestore }: EngineStart): Promise<void> {
    if (runs()) return;
    // A killed engine leaves its pid file, and the number may be another process's by now.
    rmSync(join(folder, 'pid'), { force: true });
    const flags = [
      `--data-root=${root}`,
      `--exec-root=${exec}`,
      `--pidfile=${join(folder, 'pid')}`,
      `--host=${host}`,
      `--live-restore=${liveRestore}`,
      '--bip=10.213.0.1/24',
      // On a machine with a containerd of the system's the engine uses that one:
      // there its containers must not be among the others'.
      `--containerd-namespace=${network}`,
      `--containerd-plugins-namespace=${network}-plugins`,
    ];
    const shell = 'log=$1; shift; exec "$@" >>"$log" 2>&1';
    const child = spawn('sh', ['-c', shell, 'sh', log, ...enter, 'dockerd', ...flags], { stdio: 'ignore', detached: true });
    engine = child;
    await eventually('the private engine answers', async () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${readFileSync(log, 'utf8').slice(-2_000)}`);
      return (await run('docker', ['--host', host, 'version'])).code === 0 ? true : undefined;
    });
  }

  async function stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (engine === undefined || !runs()) return;
    const ended = once(engine, 'exit');
    engine.kill(signal);
    await ended;
    // It goes after its engine, not with it; one that starts meanwhile takes it for alive and waits for it in vain.
    const containerd = read(join(exec, 'containerd', 'containerd.pid')).trim();
    await eventually('the containerd of the private engine has ended', async () =>
      containerd === '' || !read(`/proc/${containerd}/cmdline`).includes(folder) ? true : undefined,
    );
    rmSync(join(exec, 'containerd', 'containerd.pid'), { force: true });
  }

  async function reboot(): Promise<void> {
    await stop('SIGKILL');
    await killRest([folder, network], root);
    await unmountBelow(folder);
    rmSync(exec, { recursive: true, force: true });
    mkdirSync(exec);
    const links = await inside('ip', '-o', 'link');
    for (const [, link = ''] of links.stdout.matchAll(/^\d+: ((?:veth|bth|bgw)[^@:]*|docker0)/gm))
      await inside('ip', 'link', 'delete', link);
    await inside(
      'sh',
      '-c',
      'ip route flush type unreachable; nft flush ruleset; iptables-save | grep "^\\*" | tr -d "*" | while read t; do iptables -t $t -F; iptables -t $t -X; done',
    );
  }

  async function remove(): Promise<void> {
    const ids = (await run('docker', ['--host', host, 'ps', '-aq'])).stdout.split('\n').filter(Boolean);
    await forceRemove(ids, '--host', host);
    await stop('SIGTERM');
    await killRest([folder, network], root);
    await unmountBelow(folder);
    await run('ip', ['netns', 'delete', network]);
    rmSync(folder, { recursive: true, force: true });
  }

  return { host, folder, enter, connect, start, stop, reboot, inside, docker, remove };
}

const networkOf = (name: string, pid: number | string): string => `berth-${name}-${pid}`;

/**
 * What runs left that were killed themselves; their folders hold their process id. The cable to the machine has an
 * address that is needed again.
 */
async function removeAbandonedEngines(): Promise<void> {
  for (const found of namesIn(tmpdir())) {
    const [, name = '', pid = ''] = /^berth-engine-(.+)-(\d+)-[^-]+$/.exec(found) ?? [];
    if (pid === '' || namesIn(`/proc/${pid}`).length > 0) continue;
    const folder = join(tmpdir(), found);
    await killRest([folder, networkOf(name, pid)], join(folder, 'root'));
    await unmountBelow(folder);
    await run('ip', ['link', 'delete', `bo${pid}`]);
    await run('ip', ['netns', 'delete', networkOf(name, pid)]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies an image of the machine's own engine. */
export async function copyImage(engine: PrivateEngine, image: string): Promise<void> {
  const { DOCKER_HOST: _, ...environment } = process.env;
  const child = spawn('sh', ['-c', 'docker save "$1" | docker --host "$2" load', 'sh', image, engine.host], {
    env: environment,
    stdio: 'ignore',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`copy image ${image}: ended with ${code}`);
}

/**
 * What a test that failed half-way leaves: containerd and shims, known by their words, and containers,
 * known by their cgroup.
 */
async function killRest(names: readonly string[], root: string): Promise<void> {
  const containers = namesIn(join(root, 'containers'));
  const pids = namesIn('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const mine = pids.filter((pid) => {
    const [words, cgroup] = [read(`/proc/${pid}/cmdline`), read(`/proc/${pid}/cgroup`)];
    const program = link(`/proc/${pid}/exe`);
    const isEngine = /\/(dockerd|containerd[^/]*|docker-proxy)$/.test(program) && names.some((name) => words.includes(name));
    return isEngine || containers.some((id) => cgroup.includes(id));
  });
  for (const pid of mine) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // Ended by itself meanwhile.
    }
  }
  await eventually('what was left of the private engine has ended', async () =>
    mine.every((pid) => read(`/proc/${pid}/cmdline`) === '') ? true : undefined,
  );
}

/** Takes away everything that is mounted below a folder, the last first. */
export async function unmountBelow(folder: string): Promise<void> {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  const below = mounts.map((line) => line.split(' ')[1] ?? '').filter((path) => path.startsWith(`${folder}/`));
  for (const path of below.toReversed()) await run('umount', ['-l', path]);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function link(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return '';
  }
}

async function must(program: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr || stdout}`);
  return stdout;
}
