import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { packageVersion } from '../../cli/commands/version.ts';
import { readRecord } from '../installation/installation-record.ts';
import { installation, launcher } from '../paths.ts';
import { environmentOf, type ServiceCommand } from '../service/service-command.ts';
import { enableService, keptWords, lastUnitError, startUnit, stopUnits } from '../service/service-manager.ts';
import { readService } from '../service/service-record.ts';
import { type BerthProcess, listBerthProcesses, type ProcessName, readBerthProcess } from './berth-processes.ts';
import type { BerthBuild } from './own-build.ts';
import { allocatorSettings, nodeFlags } from './process-settings.ts';

export const processNames = ['server', 'agent'] as const satisfies readonly ProcessName[];

/** What runs of one installation. A process without a keeper is not started again when it ends. */
export interface Running {
  readonly keeper: BerthProcess | undefined;
  readonly process: BerthProcess | undefined;
}

export function findRunning(dataDir: string): Readonly<Record<ProcessName, Running>> {
  const isUnit = readService(dataDir)?.manager === 'systemd';
  return decideRunning(listBerthProcesses(dataDir), readRecord(dataDir)?.nodeName, isUnit);
}

/**
 * Which of the processes of a data directory are those that `up` keeps. Agents of other nodes may share the directory:
 * they were started by hand, and they stand in for nothing.
 */
export function decideRunning(
  ours: readonly BerthProcess[],
  nodeName: string | undefined,
  isUnit = false,
): Readonly<Record<ProcessName, Running>> {
  const find = (name: ProcessName): Running => {
    const these = ours.filter((each) => each.name === name && isKept(each, nodeName));
    const process = these.find((each) => !each.isKeeper);
    // systemd keeps what it starts, without a process that could be seen here.
    return { keeper: these.find((each) => each.isKeeper) ?? (isUnit ? process : undefined), process };
  };
  return { server: find('server'), agent: find('agent') };
}

/** Whether it is the server, or the agent of the installation's own node. */
function isKept({ name, nodeName: its }: BerthProcess, nodeName: string | undefined): boolean {
  return name === 'server' || nodeName === undefined || its === nodeName;
}

/** What keeps a process running starts again and again: the arguments of bin/berth-supervise. */
function commandFile(dataDir: string, name: ProcessName): string {
  return join(installation(dataDir).run, `${name}.command`);
}

/** `berth NAME ARGS`, as it is kept running. */
export function commandOf(dataDir: string, name: ProcessName, args: readonly string[]): ServiceCommand {
  const bounded = ['--log-file', join(installation(dataDir).logs, `${name}.log`)];
  const words = [process.execPath, ...nodeFlags[name], launcher('berth'), name, '--data-dir', dataDir, ...bounded, ...args];
  return { name, dataDir, words, environment: environmentOf(name, process.env), version: packageVersion() };
}

/** What else of the installation a script of /etc/init.d starts. */
export function othersOf({ dataDir, name, version }: ServiceCommand): ServiceCommand[] {
  return processNames
    .filter((other) => other !== name)
    .flatMap((other) => {
      const words = keptWords(dataDir, other);
      return words === undefined
        ? []
        : [{ name: other, dataDir, words, environment: environmentOf(other, process.env), version }];
    });
}

/**
 * Starts `berth NAME ARGS`, detached from this terminal: under bin/berth-supervise, or as the service that the
 * installation is. Returns where a service's file was put that had been edited by hand.
 */
export function startSupervised(dataDir: string, name: ProcessName, args: readonly string[]): string | undefined {
  const { run, logs } = installation(dataDir);
  mkdirSync(run, { recursive: true, mode: 0o700 });
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  rmSync(join(run, `${name}.stop`), { force: true });
  const log = join(logs, `${name}.start.log`);
  writeFileSync(log, '');
  const command = commandOf(dataDir, name, args);
  const service = readService(dataDir);
  const kept = service && enableService(service, command, othersOf(command));
  if (service?.manager === 'systemd') {
    // Of an `up` before: the process gets no keeper.
    rmSync(commandFile(dataDir, name), { force: true });
    startUnit(name);
    return kept;
  }
  const keeper = ['/bin/sh', launcher('berth-supervise'), run, name, log, ...command.words];
  writeFileSync(commandFile(dataDir, name), `${JSON.stringify(keeper)}\n`, { mode: 0o600 });
  spawnKeeper(name, keeper, undefined);
  return kept;
}

/**
 * Starts a keeper; with `adopted` it waits for that process to end before it starts one.
 * Two keepers of one process: the second ends at once.
 */
function spawnKeeper(name: ProcessName, command: readonly string[], adopted: number | undefined): void {
  const [program = '/bin/sh', ...args] = command;
  // A server may start the keeper of its agent: the settings of the two differ.
  const allocator = allocatorSettings(name);
  const env = { ...process.env, ...allocator, BERTH_ADOPT: adopted === undefined ? '' : String(adopted) };
  spawn(program, args, { detached: true, stdio: 'ignore', cwd: '/', env }).unref();
}

/** What is known of one process of an installation without looking through all that run on the machine. */
export interface Keeping {
  /** Whether `up` started it and it was not stopped since. */
  readonly isArmed: boolean;
  readonly hasKeeper: boolean;
}

/** The process of a killed keeper has no supervisor: it would not be restarted. */
export function decideRescue({ isArmed, hasKeeper }: Keeping): boolean {
  return isArmed && !hasKeeper;
}

/**
 * Gives a process a keeper again that has lost its own; the process itself, if it lives, goes on untouched.
 * Returns whether it had to.
 */
export function rescue(dataDir: string, name: ProcessName): boolean {
  const { run } = installation(dataDir);
  const pidIn = (file: string): number => Number(textOf(join(run, file)));
  const isOurs = (pid: number, isKeeper: boolean): boolean => {
    const found = pid > 0 ? readBerthProcess(pid, dataDir) : undefined;
    return found?.dataDir === dataDir && found.name === name && found.isKeeper === isKeeper;
  };
  const command = textOf(commandFile(dataDir, name));
  const isArmed = command !== '' && textOf(join(run, `${name}.stop`), 'absent') === 'absent';
  if (!decideRescue({ isArmed, hasKeeper: isOurs(pidIn(`${name}.supervisor.pid`), true) })) return false;
  // The file with the id may be old, or empty on a full disk: now it is worth looking at all.
  const { keeper, process: left } = findRunning(dataDir)[name];
  if (keeper !== undefined) return false;
  spawnKeeper(name, JSON.parse(command) as string[], left?.pid);
  return true;
}

function textOf(file: string, otherwise = ''): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    // Not there: nothing is known.
    return otherwise;
  }
}

/** The version of a process, as it noted when it started; undefined when it has not, or does not run. */
export function runningVersion(dataDir: string, name: ProcessName): string | undefined {
  return runningBuild(dataDir, name)?.version;
}

/** The same with the build of that version; "" of a program that was not built, or did not note it yet. */
export function runningBuild(dataDir: string, name: ProcessName): BerthBuild | undefined {
  const [version = '', pid, build = ''] = textOf(versionFile(dataDir, name)).split(' ');
  return version !== '' && readBerthProcess(Number(pid), dataDir)?.name === name ? { version, build } : undefined;
}

/** When a process noted its version, at its start; undefined when it has not, or does not run. */
export function startedAtMs(dataDir: string, name: ProcessName): number | undefined {
  if (runningVersion(dataDir, name) === undefined) return undefined;
  return statSync(versionFile(dataDir, name), { throwIfNoEntry: false })?.mtimeMs;
}

/** For the process itself. */
export function noteVersion(dataDir: string, name: ProcessName, { version, build }: BerthBuild): void {
  writeFileSync(versionFile(dataDir, name), `${version} ${process.pid} ${build}\n`, { mode: 0o600 });
}

function versionFile(dataDir: string, name: ProcessName): string {
  return join(installation(dataDir).run, `${name}.version`);
}

/**
 * The error that a process printed beside its log before it ended last; undefined:
 * it has printed none since it was started by a command.
 */
export function whyEnded(dataDir: string, name: ProcessName): string | undefined {
  if (readService(dataDir)?.manager === 'systemd') return lastUnitError(name);
  const sign = 'error: ';
  return textOf(join(installation(dataDir).logs, `${name}.start.log`))
    .split('\n')
    .findLast((line) => line.startsWith(sign))
    ?.slice(sign.length);
}

const stopTimeoutMs = 15_000;

/**
 * Stops what `up` keeps of these, and its keepers; returns those that ran. Disarms all of them first, so that none
 * brings another back. Asks (SIGTERM), and kills after 15 s. Agents of other nodes that share the directory go on.
 */
export async function stopSupervised(dataDir: string, names: readonly ProcessName[]): Promise<ProcessName[]> {
  const nodeName = readRecord(dataDir)?.nodeName;
  return stopWhich(dataDir, names, (each) => isKept(each, nodeName));
}

/** The same with agents of other nodes too: nothing of the directory is in use any more. */
export function stopAll(dataDir: string): Promise<ProcessName[]> {
  return stopWhich(dataDir, processNames.toReversed(), () => true);
}

type Which = (process: BerthProcess) => boolean;

async function stopWhich(dataDir: string, names: readonly ProcessName[], which: Which): Promise<ProcessName[]> {
  const { run } = installation(dataDir);
  const service = readService(dataDir);
  const units = service?.manager === 'systemd' ? names.filter((name) => findRunning(dataDir)[name].process !== undefined) : [];
  // Even what does not run just now: systemd would start it again.
  if (service?.manager === 'systemd') stopUnits(service, names);
  for (const name of names) disarm(join(run, `${name}.stop`));
  const stopped: ProcessName[] = [];
  for (const name of names) if ((await stopOne(dataDir, name, which)) || units.includes(name)) stopped.push(name);
  return stopped;
}

/** On a full disk it is disarmed by its keeper's end alone. */
function disarm(file: string): void {
  try {
    writeFileSync(file, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOSPC' && code !== 'EROFS' && code !== 'EDQUOT') throw error;
  }
}

async function stopOne(dataDir: string, name: ProcessName, which: Which): Promise<boolean> {
  const { run } = installation(dataDir);
  const alive = (): BerthProcess[] =>
    listBerthProcesses(dataDir)
      .filter((each) => each.name === name && which(each))
      .sort((a, b) => Number(b.isKeeper) - Number(a.isKeeper));
  const deadline = Date.now() + stopTimeoutMs;
  const asked = new Set<number>();
  let left = alive();
  const ran = left.length > 0;
  while (left.length > 0) {
    const isLate = Date.now() > deadline;
    // The keeper passes the request on; a process that is asked twice ends at once, in no order.
    const [first] = left;
    if (isLate) for (const { pid } of left) signal(pid, 'SIGKILL');
    else if (first !== undefined && !asked.has(first.pid)) signal(first.pid, 'SIGTERM');
    if (first !== undefined) asked.add(first.pid);
    await delay(50);
    left = alive();
  }
  for (const suffix of ['pid', 'supervisor.pid']) rmSync(join(run, `${name}.${suffix}`), { force: true });
  return ran;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH')
      throw new Error(`cannot stop process ${pid}: ${(error as Error).message}; run it as the user who started Berth (sudo)`);
  }
}
