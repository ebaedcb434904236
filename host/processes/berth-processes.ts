import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { defaultDataDir, defaultNodeName } from '../paths.ts';

/** The processes that `berth up` keeps running. */
export type ProcessName = 'server' | 'agent';

/** Every command that runs until it is stopped. */
export type DaemonName = ProcessName | 'scheduler' | 'controllers';

/** A process of Berth on this machine: a server, an agent, or the keeper of one (bin/berth-supervise). */
export interface BerthProcess {
  readonly pid: number;
  readonly name: ProcessName;
  readonly isKeeper: boolean;
  readonly dataDir: string;
  /** Of an agent. */
  readonly nodeName: string | undefined;
}

/**
 * Every process of Berth on this machine that this user may see, found by its command line: files with process ids
 * outlive crashes, and do not fit on a full disk. With `dataDir`, those of that data directory only.
 */
export function listBerthProcesses(dataDir?: string): BerthProcess[] {
  const found: BerthProcess[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const process_ = readBerthProcess(Number(name), dataDir);
    if (process_ !== undefined && (dataDir === undefined || process_.dataDir === dataDir)) found.push(process_);
  }
  return found;
}

/** One process, or undefined when it has ended or is not Berth's. */
export function readBerthProcess(pid: number, dataDir?: string): BerthProcess | undefined {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    // Only what may be ours costs a second look.
    if (!words.some((word) => basename(word).startsWith('berth'))) return undefined;
    const found = parseBerthProcess(pid, words, statSync(`/proc/${pid}`).uid);
    return found !== undefined && (isOfThisMachine(pid) || sharesFolder(pid, found.dataDir, dataDir)) ? found : undefined;
  } catch {
    // It ended meanwhile.
    return undefined;
  }
}

/**
 * Processes in another mount namespace (a Berth in a container of this machine) have files, and an engine, of their
 * own: they are not ours to count or to stop. Another user's process does not show its namespace: it is taken as the
 * machine's, so that it can at least be told of.
 */
function isOfThisMachine(pid: number): boolean {
  const namespace = linkOf(`/proc/${pid}/ns/mnt`);
  return namespace === undefined || namespace === linkOf('/proc/self/ns/mnt');
}

/**
 * A service manager may give a process a namespace of its own:
 * it is ours all the same when it has the very data directory.
 */
function sharesFolder(pid: number, theirs: string, ours: string | undefined): boolean {
  if (theirs !== ours) return false;
  const identity = identityOf(ours);
  return identity !== undefined && identityOf(`/proc/${pid}/root${theirs}`) === identity;
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/** Understands "node .../berth agent --data-dir D ..." and the same behind ".../berth-supervise RUN NAME LOG". */
export function parseBerthProcess(pid: number, words: readonly string[], uid: number): BerthProcess | undefined {
  const isKeeper = words.slice(0, 3).some((word) => basename(word) === 'berth-supervise');
  const launcher = words.findIndex((word) => basename(word) === 'berth');
  const rest = launcher < 0 ? [] : words.slice(launcher + 1);
  const at = rest.findIndex((word) => word === 'server' || word === 'agent');
  // Before the verb stand at most global flags; further on it is the argument of another command.
  if (at < 0 || rest.slice(0, at).some((word, index) => !word.startsWith('-') && !rest[index - 1]?.startsWith('-')))
    return undefined;
  const name = rest[at] as ProcessName;
  const flags = rest.slice(at + 1);
  const dataDir = resolve(flagOf(flags, '--data-dir') ?? defaultDataDir(uid));
  const nodeName = name === 'agent' ? (flagOf(flags, '--node-name') ?? defaultNodeName()) : undefined;
  return { pid, name, isKeeper, dataDir, nodeName };
}

function flagOf(words: readonly string[], flag: string): string | undefined {
  const at = words.indexOf(flag);
  if (at >= 0) return words[at + 1];
  return words.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1);
}
