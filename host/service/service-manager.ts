import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { installation, launcher } from '../paths.ts';
import type { ProcessName } from '../processes/berth-processes.ts';
import { initScriptText } from './init-script.ts';
import { checkWords, realPath, type ServiceCommand } from './service-command.ts';
import {
  decideFileState,
  foreignMessage,
  keepAside,
  type ManagerName,
  ownerOf,
  putFile,
  readService,
  removeService,
  type ServiceRecord,
  textOf,
  type WrittenFile,
} from './service-record.ts';
import { programFolders, unitName, unitText } from './systemd-unit.ts';

const initScript = '/etc/init.d/berth';
const unitPath = (name: ProcessName): string => join('/etc/systemd/system', unitName(name));

/**
 * The record of a service lies in a folder that may be another's than root's:
 * nothing else is removed because it says so.
 */
export function isServicePath(path: string): boolean {
  return [initScript, unitPath('server'), unitPath('agent')].includes(path);
}

/** As sd_booted(3) says it. */
export function managerOfMachine(): ManagerName {
  return existsSync('/run/systemd/system') ? 'systemd' : 'init.d';
}

/** How people and `berth` speak of it. */
export function describeService({ manager, files }: ServiceRecord): string {
  if (manager === 'init.d') return initScript;
  const names = files.map(({ path }) => path.replace(/^.*\/|\.service$/g, ''));
  return names.toSorted().toReversed().join(' and ') || 'systemd';
}

/** What is in the way of a service: files of that name that are another's. */
export function serviceConflicts(dataDir: string, manager: ManagerName): string[] {
  const paths = manager === 'systemd' ? (['server', 'agent'] as const).map(unitPath) : [initScript];
  return paths.flatMap((path) => {
    const text = textOf(path);
    if (text === undefined || ownerOf(text) === dataDir) return [];
    const known = readService(dataDir)?.files.some((each) => each.path === path);
    return known ? [] : [foreignMessage(path, text)];
  });
}

/** What a service's files are to say, for a process of it. */
function fileFor(manager: ManagerName, command: ServiceCommand, others: readonly ServiceCommand[]): WrittenFile {
  const { name, dataDir, words } = command;
  for (const each of [command, ...others]) checkWords(each);
  if (manager === 'init.d') {
    const commands = [...others, command].toSorted((a, b) => Number(b.name === 'server') - Number(a.name === 'server'));
    return { path: initScript, text: initScriptText({ dataDir, commands, supervise: launcher('berth-supervise') }), mode: 0o755 };
  }
  const paths = [...programFolders(words), ...words.filter((word) => word.startsWith('/')), dataDir].map(realPath);
  return { path: unitPath(name), text: unitText({ ...command, systemd: systemdVersion(), paths }), mode: 0o644 };
}

/** Whether a process would be started by the machine just so. */
export function isServiceCurrent(service: ServiceRecord, command: ServiceCommand, others: readonly ServiceCommand[]): boolean {
  const { path, text } = fileFor(service.manager, command, others);
  return textOf(path) === text;
}

/** Writes down how a process is started with the machine. Returns where a file was put that had been edited by hand. */
export function enableService(
  service: ServiceRecord,
  command: ServiceCommand,
  others: readonly ServiceCommand[],
): string | undefined {
  const { isNew, kept } = putFile(command.dataDir, fileFor(service.manager, command, others));
  if (service.manager === 'systemd') {
    if (isNew) systemctl('daemon-reload');
    systemctl('--quiet', 'enable', unitName(command.name));
  } else if (isNew) updateRc('berth', 'defaults');
  return kept;
}

/** systemd starts the process, or starts it again. */
export function startUnit(name: ProcessName): void {
  attempt('reset-failed', unitName(name));
  systemctl('restart', unitName(name));
}

/** Until the next start of the machine, or until they are started. */
export function stopUnits({ files }: ServiceRecord, names: readonly ProcessName[]): void {
  for (const name of names) if (files.some(({ path }) => path === unitPath(name))) systemctl('stop', unitName(name));
}

/** The error that a process of systemd's printed, of its last start alone. */
export function lastUnitError(name: ProcessName): string | undefined {
  const invocation = outputOf('systemctl', ['show', '--property=InvocationID', '--value', unitName(name)]).trim();
  if (invocation === '') return undefined;
  const sign = 'error: ';
  return outputOf('journalctl', [`_SYSTEMD_INVOCATION_ID=${invocation}`, '--output=cat', '--quiet', '--no-pager', '--lines=20'])
    .split('\n')
    .findLast((line) => line.startsWith(sign))
    ?.slice(sign.length);
}

/** Empty where the program is missing or has nothing to say. */
function outputOf(program: string, args: readonly string[]): string {
  return spawnSync(program, args, { encoding: 'utf8', timeout: 10_000 }).stdout ?? '';
}

export interface RemovalStep {
  readonly kind: 'removed' | 'kept';
  readonly what: string;
}

/**
 * Removes what was made for a service; the processes have been stopped. What was edited by hand is kept under another
 * name, unless it is forced.
 */
export function removeServiceFiles(dataDir: string, { force }: { readonly force: boolean }): RemovalStep[] {
  const service = readService(dataDir);
  if (service === undefined) return [];
  const files = service.files.filter(({ path }) => isServicePath(path));
  const others = service.files.filter(({ path }) => !isServicePath(path));
  const steps = others.map(({ path }): RemovalStep => ({ kind: 'kept', what: `${path}: it is no file of a service` }));
  if (service.manager === 'systemd') for (const { path } of files) attempt('--quiet', 'disable', path.replace(/^.*\//, ''));
  for (const { path, sha256 } of files) {
    const state = decideFileState(textOf(path), sha256, dataDir);
    if (state === 'absent') steps.push({ kind: 'kept', what: `nothing at ${path}: it was gone already` });
    else if (state === 'edited' && !force)
      steps.push({ kind: 'kept', what: `${keepAside(path)}: it was changed since it was made` });
    else {
      rmSync(path);
      steps.push({ kind: 'removed', what: path });
    }
  }
  if (service.manager === 'systemd') {
    systemctl('daemon-reload');
    for (const { path } of files) attempt('reset-failed', path.replace(/^.*\//, ''));
  } else updateRc('-f', 'berth', 'remove');
  removeService(dataDir);
  return steps;
}

/** Whether the machine starts a script of /etc/init.d by itself. */
export function startsAtBoot({ manager }: ServiceRecord): boolean {
  return manager === 'systemd' || (existsSync('/etc/inittab') && existsSync('/etc/rc2.d'));
}

/** Debian's and its relatives' way to order scripts of /etc/init.d; where it is missing there is nothing to be told. */
function updateRc(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('update-rc.d', args, { encoding: 'utf8', timeout: 60_000 });
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return;
  if (status !== 0) throw new Error(`update-rc.d ${args.join(' ')}: ${stderr?.trim() || error?.message}`);
}

const systemctlTimeoutMs = 90_000;

function systemctl(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('systemctl', ['--no-ask-password', ...args], {
    encoding: 'utf8',
    timeout: systemctlTimeoutMs,
  });
  if (error !== undefined || status !== 0)
    throw new Error(`systemctl ${args.join(' ')}: ${stderr?.trim() || error?.message || `it ended with ${status}`}`);
}

/** What may fail because there is nothing to do. */
function attempt(...args: readonly string[]): void {
  spawnSync('systemctl', ['--no-ask-password', ...args], { stdio: 'ignore', timeout: systemctlTimeoutMs });
}

function systemdVersion(): number {
  return Number(/^systemd (\d+)/.exec(outputOf('systemctl', ['--version']))?.[1] ?? 0);
}

/** How keepers were told to start a process: what `berth up` wrote down for a script to start with the machine. */
export function keptWords(dataDir: string, name: ProcessName): string[] | undefined {
  try {
    // The shell, bin/berth-supervise and its three arguments come before the command.
    return (JSON.parse(readFileSync(join(installation(dataDir).run, `${name}.command`), 'utf8')) as string[]).slice(5);
  } catch {
    // It has never been started.
    return undefined;
  }
}
