import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { encodeMessage } from '../../api/codec/message.ts';
import type { Pod } from '../../client/index.ts';
import type { BenchServer } from '../berth.ts';
import { median } from '../figure.ts';
import { barePath, joinFrames } from './bare-protocol.ts';
import { type LoadTarget, loadTarget } from './h2load.ts';
import { LeanConnection, type LeanTarget } from './lean-connection.ts';
import { typicalPod } from './typical-pod.ts';

const port = 7554;

/** The bare server as a process (bare-server.ts), while the Berth that it is compared with runs, too. */
export interface Bare {
  readonly target: LoadTarget & LeanTarget;
  /** Writes these messages to everyone who watches; resolves when they have left. */
  play(messages: readonly Buffer[]): Promise<void>;
  /** These are what it answers to calls of `barePath.page`. Once. */
  keepPages(pages: readonly Buffer[]): void;
}

/** A typical pod as the server stores and sends it; makes it, under the name "one". */
export async function storedPod({ client, admin, token }: BenchServer): Promise<Buffer> {
  const object = typicalPod();
  await client.pods.create({ ...object, metadata: { ...object.metadata, generateName: undefined, name: 'one' } } as Pod);
  const connection = await LeanConnection.open({ address: admin.address, ca: String(admin.ca), token });
  try {
    return await connection.unary('/berth.core.v1.Pods/Get', getOne);
  } finally {
    connection.close();
  }
}

/** Reads that pod. */
export const getOne = encodeMessage('berth.meta.v1.GetRequest', { namespace: 'default', name: 'one' });

/** Starts a bare server with the certificates of `berth`, for one task. */
export async function withBare<T>(berth: BenchServer, object: Buffer, task: (bare: Bare) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-bare-'));
  writeFileSync(join(folder, 'object'), object);
  const program = fileURLToPath(new URL('./bare-server.js', import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, program, folder, berth.pki, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve());
      child.once('exit', (code) => reject(new Error(`the bare server ended with ${code}`)));
    });
    const target = { ...loadTarget(berth), address: `127.0.0.1:${port}`, ca: String(berth.admin.ca), pid: child.pid! };
    const file = join(folder, 'messages');
    const keep = (messages: readonly Buffer[]): void => writeFileSync(file, joinFrames(messages));
    const play = async (messages: readonly Buffer[]): Promise<void> => {
      keep(messages);
      const connection = await LeanConnection.open(target);
      await connection.unary(barePath.play, Buffer.from(file));
      connection.close();
    };
    return await task({ target, play, keepPages: keep });
  } finally {
    const ended = new Promise((resolve) => child.once('close', resolve));
    if (child.exitCode === null && child.kill('SIGKILL')) await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** So many rounds of both, one after the other: what else the machine does meets both. */
export const rounds = 5;

export interface Compared {
  /** Medians. */
  readonly own: number;
  readonly bare: number;
  /** The median of the rounds' ratios. */
  readonly ratio: number;
}

/** Measures both in turn, the other one first in every second round. */
export async function compare(own: () => Promise<number>, bare: () => Promise<number>, count = rounds): Promise<Compared> {
  const [owns, bares]: [number[], number[]] = [[], []];
  for (let round = 0; round < count; round++) {
    if (round % 2 === 0) owns.push(await own());
    bares.push(await bare());
    if (round % 2 === 1) owns.push(await own());
  }
  return { own: median(owns), bare: median(bares), ratio: median(owns.map((rate, i) => rate / bares[i]!)) };
}
