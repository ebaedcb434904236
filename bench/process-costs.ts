import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** What processes hold, in megabytes (10^6 bytes). */
export interface Memory {
  /** The sum of their PSS, as it is where no other process runs node. */
  readonly total: number;
  readonly anonymous: number;
  /** The anonymous memory of each process. */
  readonly each: readonly number[];
}

/**
 * The PSS of processes, but without the help of others: PSS divides what is mapped from files among all that map it,
 * and every other node on the machine, this benchmark among them, would make it smaller. They all map the same program,
 * so the largest mapping counts once.
 */
export function readMemory(pids: readonly number[]): Memory {
  const rollups = pids.map((pid) => readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
  const field = (text: string, name: string): number =>
    (Number(text.match(new RegExp(`^${name}: +(\\d+)`, 'm'))?.[1]) * 1024) / 1e6;
  const each = rollups.map((text) => field(text, 'Pss_Anon') + field(text, 'Pss_Shmem'));
  const anonymous = each.reduce((sum, value) => sum + value, 0);
  const mapped = Math.max(...rollups.map((text, index) => field(text, 'Rss') - (each[index] ?? 0)));
  return { total: anonymous + mapped, anonymous, each };
}

/** The anonymous memory of one process, in megabytes (10^6 bytes). */
export function anonymousMegabytes(pid: number): number {
  return (Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/^RssAnon:\s+(\d+)/m)?.[1]) * 1024) / 1e6;
}

/**
 * What a process has in memory of a file that it maps, in megabytes (10^6 bytes): pages of the file, which the kernel
 * takes back when memory is short.
 */
export function mappedMegabytes(pid: number, file: string): number {
  const mappings = readFileSync(`/proc/${pid}/smaps`, 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const own = mappings.filter((mapping) => mapping.slice(0, mapping.indexOf('\n')).endsWith(file));
  return own.reduce((sum, mapping) => sum + (Number(mapping.match(/^Rss: +(\d+)/m)?.[1] ?? 0) * 1024) / 1e6, 0);
}

/** Linux counts in hundredths of a second for every program (USER_HZ). */
const ticks = 100;

/** The fields of proc(5)'s stat that count processor time: a process's own, and its children's that have ended. */
const ownFields = [14, 15];
const endedChildrenFields = [16, 17];
const withChildrenFields = [...ownFields, ...endedChildrenFields];

/** Processor time that processes have taken so far. */
export function cpuSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + secondsOf(pid, ownFields), 0);
}

/** The same, with that of their children that have ended, and of theirs. */
export function cpuSecondsWithChildren(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + secondsOf(pid, withChildrenFields), 0);
}

/** Processor time of this process's children that have ended, and of theirs. */
export function cpuSecondsOfEndedChildren(): number {
  return secondsOf(process.pid, endedChildrenFields);
}

function secondsOf(pid: number, numbers: readonly number[]): number {
  // The name stands in parentheses and may hold anything; the fields behind it are numbered from 3.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return numbers.reduce((sum, number) => sum + Number(fields[number - 3]), 0) / ticks;
}

/** The nft processes that an agent keeps: none in the engine's network. */
export function nftOf(agent: number): number[] {
  // Without any, pgrep fails.
  const script = `pgrep -x -P ${agent} nft || :`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n').filter(Boolean).map(Number);
}

const engineNames = /^(dockerd|containerd|containerd-shim.*|docker-proxy)$/;

/**
 * Processor time that the engine of this network has taken so far: dockerd, containerd, shims, and what they started
 * and waited for (runc, the commands of probes). Only the same processes at both ends of a span can be compared: run no
 * containers in between.
 */
export function engineCpuSeconds(): number {
  const network = readlinkSync('/proc/self/ns/net');
  const isOfEngine = (pid: string): boolean =>
    engineNames.test(readFileSync(`/proc/${pid}/comm`, 'utf8').trim()) && readlinkSync(`/proc/${pid}/ns/net`) === network;
  let sum = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (isOfEngine(pid)) sum += secondsOf(Number(pid), withChildrenFields);
    } catch {
      // Ended meanwhile: it was none that lasts.
    }
  }
  return sum;
}

const calls = 'fsync,fdatasync,syncfs,sync,msync,sync_file_range';

/**
 * How often processes ask for a sync of the disk. Needs strace, which slows them,
 * so nothing else is measured meanwhile.
 */
export async function countSyncs(pids: readonly number[], seconds: number): Promise<number> {
  const attach = pids.flatMap((pid) => ['-p', String(pid)]);
  const tracer = spawn('strace', ['-f', '-qq', '-e', `trace=${calls}`, '-e', 'signal=none', ...attach], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  tracer.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  const ended = once(tracer, 'exit').catch((cause: Error) => {
    throw new Error(`strace does not run (${cause.message}); install it: apt-get install strace`);
  });
  await Promise.race([ended, delay(seconds * 1000)]);
  if (tracer.exitCode !== null) throw new Error(`strace ended at once: ${text}`);
  tracer.kill('SIGINT');
  await ended;
  return [...text.matchAll(/\b(fsync|fdatasync|syncfs|sync|msync|sync_file_range)\(/g)].length;
}
