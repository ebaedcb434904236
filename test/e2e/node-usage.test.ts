import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInstallation, eventually } from './installation.ts';
import { conditionOf, housed, type PodHouse, podOf, script, stay } from './pods-fixture.ts';

// Two agents on one machine would report the same. The second one therefore has a /proc/meminfo of its own, mounted
// over the kernel's for it alone, as system containers have it: the agent is the usual one and reads where it always
// reads, and only what it finds there differs.
let house: PodHouse;
let idle: string;
let busy: string;
let agent: ChildProcess | undefined;
let folder: string;

interface NodeJson {
  readonly status: {
    readonly usage?: { readonly memory?: string };
    readonly capacity: { readonly memory: string };
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const kernels = readFileSync('/proc/meminfo', 'latin1');
const totalKiB = Number(/^MemTotal: +(\d+) kB$/m.exec(kernels)?.[1]);

/** In place and of the same length, so that a reader finds the one or the other whole. */
function tell(available: number): void {
  const kiB = String(Math.round(totalKiB * available)).padStart(String(totalKiB).length, '0');
  const text = kernels.replace(/^(MemAvailable: +)\d+/m, `$1${kiB}`);
  const file = openSync(join(folder, 'meminfo'), 'r+');
  writeSync(file, text, 0);
  closeSync(file);
}

function startOnOwnMachine(server: string, dataDir: string): ChildProcess {
  const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
  const args = ['agent', '--node-name', busy, '--server', server, '--data-dir', dataDir, '--log-level', 'warn'];
  const inside = 'mount --bind "$1" /proc/meminfo && shift && exec "$@"';
  const command = ['--mount', '--', 'sh', '-c', inside, 'sh', join(folder, 'meminfo'), process.execPath, launcher, ...args];
  return spawn('unshare', command, { stdio: 'inherit' });
}

/** The part of its memory that a node says is used. */
async function used(node: string): Promise<number | undefined> {
  const { status }: NodeJson = JSON.parse(await house.berth.ok('get', 'node', node, '-o', 'json'));
  const ready = status.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True');
  const memory = status.usage?.memory;
  return ready && memory !== undefined ? kibibytes(memory) / kibibytes(status.capacity.memory) : undefined;
}

function kibibytes(quantity: string): number {
  const [, amount = '', unit = ''] = /^(\d+)([KMG]?)i?$/.exec(quantity) ?? [];
  return Number(amount) * ({ K: 1, M: 1024, G: 1024 ** 2 }[unit] ?? 1 / 1024);
}

beforeAll(async () => {
  const berth = await createInstallation('usage');
  house = housed(berth);
  idle = berth.nodeName;
  busy = `${idle}-busy`;
  folder = mkdtempSync(join(tmpdir(), 'berth-e2e-meminfo-'));
  writeFileSync(join(folder, 'meminfo'), '');
  tell(0.08);
  await berth.up();
  agent = startOnOwnMachine(berth.address, berth.dataDir);
  for (const node of [idle, busy]) await eventually(`${node} tells what it uses`, () => used(node).catch(() => undefined));
});
afterAll(async () => {
  agent?.kill('SIGTERM');
  await house.berth.purge();
  rmSync(folder, { recursive: true, force: true });
});

describe('two nodes of the same size of which one is used by others', () => {
  it('say so', async () => {
    expect(await used(busy)).toBeCloseTo(0.92, 2);
    expect(await used(idle)).toBeLessThan(0.92);
    expect(await house.berth.ok('describe', 'node', busy)).toMatch(/^ *memory .*\(9\d%\)$/m);
  });

  it('do not share pods that ask for nothing: all go where memory is free, though by requests both nodes are equal', async () => {
    const names = ['a', 'b', 'c', 'd'];
    await house.apply(...names.map((name) => podOf(name, [script(stay)])));
    for (const name of names) await house.running(name);
    const pods = await Promise.all(names.map((name) => house.pod(name)));
    expect(pods.map(({ spec }) => spec.nodeName)).toEqual(names.map(() => idle));
    expect(await house.berth.ok('describe', 'pod', 'd')).toContain(`Successfully assigned default/d to ${idle}`);
  });

  it('keep a pod waiting that asks for more memory than the busy one has left, and run it there when it has', async () => {
    const requests = { memory: `${Math.round(totalKiB * 0.2)}Ki` };
    // What this agent mounts, such as the memory of tokens, is for it alone: the engine cannot give it to containers.
    const spec = { nodeSelector: { 'kubernetes.io/hostname': busy }, automountServiceAccountToken: false };
    await house.apply(podOf('large', [script(stay, { resources: { requests } })], spec));
    const waiting = await house.until('large', 'waits', (pod) => conditionOf(pod, 'PodScheduled')?.status === 'False');
    expect(conditionOf(waiting, 'PodScheduled')).toMatchObject({
      reason: 'Unschedulable',
      message: expect.stringContaining('1 node(s) had too little memory available'),
    });
    expect(await house.berth.ok('describe', 'pod', 'large')).toContain('1 node(s) had too little memory available');
    tell(0.8);
    expect((await house.running('large')).spec.nodeName).toBe(busy);
    expect(await used(busy)).toBeCloseTo(0.2, 2);
  });
});
