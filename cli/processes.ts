import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { installation, launcher } from './paths.ts';

/** The processes that `berth up` keeps running. */
export type ProcessName = 'server' | 'agent';

function readPid(file: string): number | undefined {
  try {
    const pid = Number(readFileSync(file, 'utf8').trim());
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a pid is one of our processes; a pid file outlives a crash, and the number may be somebody else's by now. */
function isOurs(pid: number, dataDir: string): boolean {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return line.includes('berth') && line.includes(dataDir);
  } catch {
    return false;
  }
}

function runningPid(dataDir: string, file: string): number | undefined {
  const pid = readPid(join(installation(dataDir).run, file));
  return pid !== undefined && isOurs(pid, dataDir) ? pid : undefined;
}

/** The pid of a running process of an installation, or undefined. */
export function processPid(dataDir: string, name: ProcessName): number | undefined {
  return runningPid(dataDir, `${name}.pid`);
}

/** Whether somebody keeps the process running. */
export function isSupervised(dataDir: string, name: ProcessName): boolean {
  return runningPid(dataDir, `${name}.supervisor.pid`) !== undefined;
}

/** Starts `berth NAME ARGS` under bin/berth-supervise, detached from this terminal. */
export function startSupervised(dataDir: string, name: ProcessName, args: readonly string[]): void {
  const { run, logs } = installation(dataDir);
  mkdirSync(run, { recursive: true, mode: 0o700 });
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  rmSync(join(run, `${name}.stop`), { force: true });
  const log = join(logs, `${name}.start.log`);
  writeFileSync(log, '');
  const command = [
    process.execPath,
    launcher('berth'),
    name,
    '--data-dir',
    dataDir,
    '--log-file',
    join(logs, `${name}.log`),
    ...args,
  ];
  spawn('/bin/sh', [launcher('berth-supervise'), run, name, log, ...command], {
    detached: true,
    stdio: 'ignore',
    cwd: '/',
  }).unref();
}

/** What a process printed before its log was open: why it did not start. */
export function startLog(dataDir: string, name: ProcessName): string {
  try {
    return readFileSync(join(installation(dataDir).logs, `${name}.start.log`), 'utf8').trim();
  } catch {
    return '';
  }
}

/**
 * Stops a process and whoever keeps it running; returns whether anything ran. Asks first (SIGTERM), and kills after 15 s.
 */
export async function stopSupervised(dataDir: string, name: ProcessName): Promise<boolean> {
  const { run } = installation(dataDir);
  if (!existsSync(run)) return false;
  const pids = [runningPid(dataDir, `${name}.supervisor.pid`), processPid(dataDir, name)].filter((pid) => pid !== undefined);
  if (pids.length > 0) {
    writeFileSync(join(run, `${name}.stop`), '');
    signalAll(pids, 'SIGTERM');
    const deadline = Date.now() + 15_000;
    while (pids.some((pid) => isOurs(pid, dataDir)) && Date.now() < deadline) await delay(50);
    signalAll(
      pids.filter((pid) => isOurs(pid, dataDir)),
      'SIGKILL',
    );
  }
  for (const suffix of ['pid', 'supervisor.pid', 'stop']) rmSync(join(run, `${name}.${suffix}`), { force: true });
  return pids.length > 0;
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended meanwhile, which is what we want.
    }
  }
}
