import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchServer } from '../berth.ts';
import { cpuSeconds } from '../process-costs.ts';

/** What calls cost: how many in a second, and seconds of the server's processor for each. */
export interface LoadResult {
  readonly rate: number;
  readonly cpu: number;
  /** Milliseconds within which 99 of 100 calls were answered, where they were wanted. */
  readonly p99?: number;
}

/** A server that is measured. */
export interface LoadTarget {
  readonly address: string;
  readonly token: string;
  readonly pid: number;
}

export function loadTarget({ admin, token, server }: BenchServer): LoadTarget {
  return { address: admin.address, token, pid: server.pid! };
}

export interface Load {
  /** "/package.Service/Method". */
  readonly path: string;
  /** The encoded request, the same for every call. */
  readonly request: Buffer;
  readonly count: number;
  /** Over Kubernetes' HTTP API: the request is a JSON body, or empty for a GET. Absent: gRPC. */
  readonly isJson?: true;
  /** The time of each call is kept. */
  readonly hasTimes?: true;
  /** How many are under way at once; by default 64, on 4 connections. */
  readonly atOnce?: { readonly connections: number; readonly streams: number };
}

/**
 * Calls with one request each, from Debian's h2load with prepared requests (package nghttp2-client): a client in
 * Node.js would measure itself. It does not look into answers: the caller checks what they did.
 */
export async function runLoad(target: LoadTarget, load: Load): Promise<LoadResult> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-api-'));
  try {
    const file = join(folder, 'request');
    writeFileSync(file, load.isJson ? load.request : frame(load.request));
    const before = cpuSeconds([target.pid]);
    const times = join(folder, 'times');
    const rate = await h2load(target, load, file, load.hasTimes ? [`--log-file=${times}`] : []);
    const cpu = (cpuSeconds([target.pid]) - before) / load.count;
    return { rate, cpu, ...(load.hasTimes && { p99: p99Of(readFileSync(times, 'utf8')) }) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Of h2load's log: a line for each call, with its start, its status and its microseconds. */
function p99Of(log: string): number {
  const micros = log
    .trimEnd()
    .split('\n')
    .map((line) => Number(line.split('\t')[2]))
    .sort((a, b) => a - b);
  return micros[Math.ceil(micros.length * 0.99) - 1]! / 1_000;
}

/** A gRPC message on the wire: not compressed, its length, its bytes. */
function frame(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Gives calls in a second. */
async function h2load(
  { address, token }: LoadTarget,
  { path, count, atOnce, isJson, request }: Load,
  body: string,
  more: readonly string[],
): Promise<number> {
  const { connections, streams } = atOnce ?? { connections: 4, streams: 16 };
  const form = isJson
    ? ['content-type: application/json', 'accept: application/json']
    : ['content-type: application/grpc', 'te: trailers'];
  const headers = [...form, `authorization: Bearer ${token}`];
  const args = [
    '-n',
    String(count),
    '-c',
    String(connections),
    '-m',
    String(streams),
    ...(isJson && request.length === 0 ? [] : ['-d', body]),
    ...headers.flatMap((header) => ['-H', header]),
    ...more,
  ];
  const child = spawn('h2load', [...args, `https://${address}${path}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new Error(`h2load does not run (${cause.message}); install it: apt-get install nghttp2-client`)),
    );
    child.once('close', () => resolve());
  });
  const rate = Number(text.match(/finished in [^,]+, ([\d.]+) req\/s/)?.[1]);
  if (!text.includes(`${count} succeeded`) || !(rate > 0)) throw new Error(`h2load ${path}: ${text}`);
  return rate;
}
