import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { upsertContext } from '../../client/index.ts';
import { type BenchBerth, launcher } from '../berth.ts';
import { atMost, type Figure, median, note, seconds } from '../figure.ts';
import { cpuSeconds } from '../process-costs.ts';
import { withBerth } from './with-berth.ts';

const rounds = 7;
/** Of `get pods`, in each round. */
const pairs = 3;
const lines = 100_000;
const pod = { namespace: 'default', name: 'talks' };
/** 140 bytes a line: 14 MB, over two of the engine's files. */
const script = `awk 'BEGIN { pad = sprintf("%130s", ""); gsub(/ /, "x", pad); for (i = 1; i <= ${lines}; i++) printf "%09d%s\\n", i, pad }'; exec sleep 3600`;

/**
 * How long it takes to read a log of 14 MB, against `docker logs` of the same container, and how long `berth get pods`
 * takes meanwhile, against the same while nothing else happens. All take turns; figures are medians.
 */
export function benchLogs(say: (text: string) => void): Promise<Figure[]> {
  return withBerth([], async (berth) => {
    const folder = await mkdtemp(join(tmpdir(), 'berth-bench-logs-'));
    try {
      const config = join(folder, 'config');
      await upsertContext({ name: 'bench', options: berth.admin, use: true }, config);
      return await compare(berth, config, say);
    } finally {
      await berth.client.pods.delete(pod, { gracePeriodSeconds: 0 }).catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

async function compare(berth: BenchBerth, config: string, say: (text: string) => void): Promise<Figure[]> {
  const id = await startTalking(berth);
  const env = { ...process.env, BERTH_CONFIG: config };
  const dockerLogs = ['docker', 'logs', id];
  const berthLogs = [process.execPath, launcher, 'logs', pod.name];
  const getPods = (): Promise<number> => seconds(() => run([process.execPath, launcher, 'get', 'pods'], env));
  const getPodsBeside = ([file = '', ...args]: readonly string[]): Promise<number> =>
    during(spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'], env }), getPods);
  await untilWritten(id);
  const times = {
    docker: [] as number[],
    berth: [] as number[],
    idle: [] as number[],
    beside: [] as number[],
    besideDocker: [] as number[],
  };
  const cpu = { server: 0, agent: 0 };
  for (let round = -1; round < rounds; round++) {
    const [dockerTime, before] = [await seconds(() => run(dockerLogs, env)), costs(berth)];
    const berthTime = await seconds(() => run(berthLogs, env));
    const after = costs(berth);
    const beside: number[] = [];
    const idle: number[] = [];
    const besideDocker: number[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      idle.push(await getPods());
      beside.push(await getPodsBeside(berthLogs));
      besideDocker.push(await getPodsBeside(dockerLogs));
    }
    if (round < 0) continue; // Fills the disk's cache.
    times.docker.push(dockerTime);
    times.berth.push(berthTime);
    times.idle.push(...idle);
    times.beside.push(...beside);
    times.besideDocker.push(...besideDocker);
    cpu.server += (after.server - before.server) / rounds;
    cpu.agent += (after.agent - before.agent) / rounds;
    const show = (values: readonly number[]): string => `${median(values).toFixed(2)} s`;
    say(`docker ${show([dockerTime])}, berth ${show([berthTime])}; get pods ${show(idle)}, beside logs ${show(beside)}`);
  }
  return [
    note('docker logs of 14 MB, p50', median(times.docker), 's'),
    note('berth logs of 14 MB, p50', median(times.berth), 's'),
    atMost('berth logs against docker logs', median(times.berth) / median(times.docker), 'x', 1.5),
    note('processor of the server for 14 MB', cpu.server * 1000, 'ms'),
    note('processor of the agent for 14 MB', cpu.agent * 1000, 'ms'),
    note('berth get pods alone, p50', median(times.idle), 's'),
    note('berth get pods beside docker logs against alone', median(times.besideDocker) / median(times.idle), 'x'),
    atMost('berth get pods beside berth logs against alone', median(times.beside) / median(times.idle), 'x', 1.3),
  ];
}

/** Starts the pod and gives the engine's name of its container. */
async function startTalking({ client }: BenchBerth): Promise<string> {
  await client.pods.create({
    metadata: pod,
    spec: {
      containers: [
        { name: 'main', image: 'berth/busybox:latest', imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', script] },
      ],
    },
  });
  for (;;) {
    const { status } = await client.pods.get(pod);
    const [id] = (status?.containerStatuses ?? []).flatMap(({ containerID }) => containerID?.split('//')[1] ?? []);
    if (id) return id;
    await delay(200);
  }
}

async function untilWritten(id: string): Promise<void> {
  const last = String(lines).padStart(9, '0');
  for (;;) {
    const child = spawn('docker', ['logs', '--tail=1', id], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (data: Buffer) => (text += data));
    await once(child, 'close');
    if (text.startsWith(last)) return;
    await delay(200);
  }
}

/** Measures while a log is being read: from its first bytes on. */
async function during(other: ChildProcess, measure: () => Promise<number>): Promise<number> {
  const closed = once(other, 'close');
  await once(other.stdout!, 'data');
  other.stdout!.resume();
  const time = await measure();
  await closed;
  return time;
}

const costs = ({ server, agent }: BenchBerth) => ({ server: cpuSeconds([server.pid!]), agent: cpuSeconds([agent.pid!]) });

async function run([file = '', ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
  let words = '';
  child.stderr.on('data', (data: Buffer) => (words += data));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${words}`);
}
