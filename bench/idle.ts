import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, loadContext } from '../client/index.ts';
import { berthRound, ensureImage, floorImages } from './agent/rounds.ts';
import { launcher } from './berth.ts';
import { createEngine } from './engine.ts';
import { atMost, type Figure, note } from './figure.ts';
import { countSyncs, cpuSeconds, type Memory, readMemory } from './process-costs.ts';

const windowSeconds = 60;
const address = '127.0.0.1:7554';

/**
 * `npm run bench -- idle`: what an installation costs that has nothing to do, a minute after it ran 100 pods: memory,
 * processor and disk syncs of server and agent with what keeps them running, as `berth up` starts them.
 */
export async function benchIdle(say: (text: string) => void): Promise<Figure[]> {
  const engine = createEngine(floorImages);
  await ensureImage(engine);
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-idle-'));
  const config = join(folder, 'config');
  const dataDir = join(folder, 'data');
  const nodeName = `bench-idle-${process.pid}`;
  const berth = (...args: string[]): string =>
    execFileSync(process.execPath, [launcher, ...args, '--data-dir', dataDir], {
      env: { ...process.env, BERTH_CONFIG: config },
      encoding: 'utf8',
    });
  try {
    berth('up', '--detach', '--listen', address, '--node-name', nodeName);
    const { options } = await loadContext(undefined, config);
    const client = connect({ ...options, userAgent: 'berth-bench' });
    const processes = pidsOf(dataDir);
    await delay(5_000);
    const atStart = readMemory(processes);
    let with100 = atStart;
    say(`started: ${describe(atStart)}; running 100 pods`);
    const onRunning = async () => {
      await delay(10_000);
      with100 = readMemory(processes);
      say(`100 pods run: ${describe(with100)}; deleting them`);
    };
    await berthRound({ client, nodeName }, engine, { count: 100, onRunning });
    client.close();
    say(`100 pods are gone: ${describe(readMemory(processes))}; waiting ${windowSeconds} s`);
    await delay(windowSeconds * 1000);
    const after = readMemory(processes);
    say(`idle: ${describe(after)}; measuring the processor for ${windowSeconds} s`);
    const before = cpuSeconds(processes);
    await delay(windowSeconds * 1000);
    const cpu = cpuSeconds(processes) - before;
    say(`counting disk syncs for ${windowSeconds} s`);
    const syncs = await countSyncs(processes, windowSeconds);
    return [
      note('memory after the start', atStart.total, 'MB'),
      note('memory with 100 pods', with100.total, 'MB'),
      atMost('memory 60 s after 100 pods', after.total, 'MB', 165),
      note('anonymous memory 60 s after 100 pods', after.anonymous, 'MB'),
      atMost('processor', (100 * cpu) / windowSeconds, '% of a core', 2),
      atMost('disk syncs', (10 * syncs) / windowSeconds, 'in 10 s', 1),
    ];
  } finally {
    berth('down', '--purge', '--yes');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Server, agent, and the shells that keep them running. */
function pidsOf(dataDir: string): number[] {
  const run = join(dataDir, 'run');
  return readdirSync(run)
    .filter((name) => name.endsWith('.pid'))
    .map((name) => Number(readFileSync(join(run, name), 'utf8')));
}

function describe({ total, each }: Memory): string {
  return `${total.toFixed(1)} MB (anonymous: ${each.map((value) => value.toFixed(1)).join(', ')})`;
}
