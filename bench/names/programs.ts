import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { anonymousMegabytes, cpuSeconds } from '../process-costs.ts';
import { UsageError } from '../usage-error.ts';
import { ownQueries, worldQueries } from './zone.ts';

/** A server for names that is measured. */
export interface NamesProcess {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** What dnsperf saw. */
export interface Load {
  /** Answers a second, and per second of the server's processor. */
  readonly rate: number;
  readonly perCpuSecond: number;
  readonly p99Ms: number;
  readonly lost: number;
}

const packages = { dnsperf: 'dnsperf', unbound: 'unbound' } as const;

/** Throws with the Debian packages that are missing. */
export function checkPrograms(): void {
  for (const [program, name] of Object.entries(packages))
    if (spawnSync(program, ['-h']).error !== undefined)
      throw new UsageError(`${program} is missing: install Debian's package ${name} (its service need not run)`);
}

/** The resolver as the agent runs it, with the cluster's names or `empty`; `upstream` is a port of this machine. */
export async function startResolverProcess(upstream?: number, content: 'names' | 'empty' = 'names'): Promise<NamesProcess> {
  const program = fileURLToPath(new URL('./resolver-process.js', import.meta.url));
  const server = upstream === undefined ? '' : `127.0.0.1@${upstream}`;
  const child = spawn(process.execPath, [program, server, content], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { port: Number(line.toString()), pid: child.pid!, stop: () => stop(child) };
}

/** Unbound with the same names as local data, in one thread. */
export async function startUnbound(folder: string): Promise<NamesProcess> {
  const port = await freePort();
  const zone = [...ownQueries(), ...worldQueries()].map(
    (line, n) => `  local-data: "${line.replace(' A', '')}. 60 IN A 10.43.${n >> 8}.${n & 255}"`,
  );
  const lines = [
    'server:',
    `  interface: 127.0.0.1@${port}`,
    '  num-threads: 1',
    '  do-daemonize: no',
    '  chroot: ""',
    '  username: ""',
    '  pidfile: ""',
    '  use-syslog: no',
    '  module-config: "iterator"',
    '  local-zone: "cluster.local." static',
    '  local-zone: "example.com." static',
    ...zone,
    'remote-control:',
    '  control-enable: no',
  ];
  const file = join(folder, 'unbound.conf');
  writeFileSync(file, `${lines.join('\n')}\n`);
  const child = spawn('unbound', ['-d', '-c', file], { stdio: 'ignore' });
  await delay(2000);
  if (child.exitCode !== null) throw new Error(`unbound ended with code ${child.exitCode}`);
  return { port, pid: child.pid!, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

export interface LoadOptions {
  readonly folder: string;
  readonly queries: readonly string[];
  readonly seconds: number;
  /** Queries a second; as many as are answered when it is left out. */
  readonly perSecond?: number;
}

/** Asks a server for the names again and again. The time of each answer is measured when the rate is given. */
export async function runLoad(server: NamesProcess, { folder, queries, seconds, perSecond }: LoadOptions): Promise<Load> {
  const file = join(folder, 'queries');
  writeFileSync(file, `${queries.join('\n')}\n`);
  const rate = perSecond === undefined ? ['-q', '100'] : ['-Q', String(perSecond), '-q', '10000', '-v'];
  const args = [
    '-s',
    '127.0.0.1',
    '-p',
    String(server.port),
    '-d',
    file,
    '-l',
    String(seconds),
    '-c',
    '8',
    '-T',
    '1',
    '-e',
    ...rate,
  ];
  const before = cpuSeconds([server.pid]);
  const child = spawn('dnsperf', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(child, 'close');
  const cpu = cpuSeconds([server.pid]) - before;
  const text = Buffer.concat(chunks).toString();
  const completed = numberAfter(text, 'Queries completed:');
  return {
    rate: numberAfter(text, 'Queries per second:'),
    perCpuSecond: completed / cpu,
    lost: numberAfter(text, 'Queries lost:'),
    p99Ms: percentileMs(text, 0.99),
  };
}

/** Anonymous memory of a server. */
export function megabytes({ pid }: NamesProcess): number {
  return anonymousMegabytes(pid);
}

function numberAfter(text: string, label: string): number {
  return Number(new RegExp(`${label}\\s+([0-9.]+)`).exec(text)?.[1]);
}

/** From the lines "> NOERROR name type seconds". */
function percentileMs(text: string, share: number): number {
  const times = [...text.matchAll(/^> \S+ \S+ \S+ ([0-9.]+)$/gm)]
    .map(([, seconds]) => Number(seconds) * 1000)
    .sort((a, b) => a - b);
  return times[Math.floor(times.length * share)] ?? Number.NaN;
}
