import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Figure, inParallel, note } from '../figure.ts';
import { anonymousMegabytes } from '../process-costs.ts';
import { withApiServer } from './lean-connection.ts';
import { newestVersion } from './pod-lists.ts';
import { PodWriter } from './pod-writer.ts';
import { ResumingWatcher } from './resuming-watcher.ts';

const WATCHERS = 500;
const PODS = 5_000;
/** Written before and after the restart, so that every watcher has something to resume. */
const BEFORE = 200;
const AFTER = 50;
const SETTLE_MS = 3_000;
/** Watched for so long after the last one has resumed. */
const AFTERMATH_MS = 5_000;
/** Coming back takes the watchers at most as long again as the server's own stop and start. */
const MOST_AWAY = 2;
const PATIENCE_MS = 60_000;

/**
 * 500 watchers on connections of their own lose their server and come back, as clients of Berth do: how long from the
 * order to stop until the last one has got what was written since, none of it twice, and what the new server holds at
 * most, compared with the old one.
 */
export function benchRestart(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async (bench, target) => {
    let writer = await PodWriter.open(target, PODS + BEFORE);
    await writer.flatOut(64, PODS);
    const version = await newestVersion(target);
    const watchers = Array.from({ length: WATCHERS }, () => new ResumingWatcher(target, version));
    await inParallel(WATCHERS, 10, (index) => watchers[index]!.open());
    await writer.steadily(100, BEFORE);
    await everyone(watchers, BEFORE);
    const before = await mostMegabytes(() => bench.server.pid!, delay(SETTLE_MS));
    writer.close();

    const begin = performance.now();
    let [downMs, upMs] = [0, 0];
    bench.server.once('exit', () => {
      downMs = performance.now() - begin;
    });
    const back = (async () => {
      await bench.restart();
      upMs = performance.now() - begin;
      writer = await PodWriter.open(target, AFTER, PODS + BEFORE);
      await writer.steadily(100, AFTER);
      await everyone(watchers, BEFORE + AFTER);
    })();
    let resumedMs = 0;
    const over = back.then(() => {
      resumedMs = performance.now() - begin;
      return delay(AFTERMATH_MS);
    });
    const after = await mostMegabytes(() => bench.server.pid!, over);
    const doubled = watchers.reduce((sum, watcher) => sum + watcher.doubled, 0);
    for (const watcher of watchers) watcher.close();
    writer.close();
    if (doubled > 0) throw new Error(`${doubled} events came twice`);
    say(
      `the server has ended after ${(downMs / 1000).toFixed(1)} s and answers again after ${(upMs / 1000).toFixed(1)} s, all have resumed after ${(resumedMs / 1000).toFixed(1)} s; ${before.toFixed(0)} MB before, ${after.toFixed(0)} MB at most afterwards`,
    );
    return [
      atMost(`${WATCHERS} watchers have resumed, to the time that the server was away`, resumedMs / upMs, 'times', MOST_AWAY),
      note(`${WATCHERS} watchers have resumed after a restart`, resumedMs / 1000, 's'),
      note('of which the server was away', upMs / 1000, 's'),
      atMost('the most memory after it, to that before it', after / before, 'times', 1.3),
      note('memory before it', before, 'MB'),
    ];
  });
}

async function everyone(watchers: readonly ResumingWatcher[], events: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const missing = watchers.filter((watcher) => watcher.seen < events).length;
    if (missing === 0) return;
    if (performance.now() > deadline) throw new Error(`${missing} watchers have not got all ${events} events`);
    await delay(10);
  }
}

/** The most that a process holds until something is over. */
async function mostMegabytes(pid: () => number, over: Promise<unknown>): Promise<number> {
  let [most, isOver] = [0, false];
  const end = over.finally(() => {
    isOver = true;
  });
  end.catch(() => {});
  while (!isOver) {
    most = Math.max(most, megabytesOf(pid()));
    await delay(20);
  }
  await end;
  return most;
}

/** Nothing between two processes. */
function megabytesOf(pid: number): number {
  try {
    return anonymousMegabytes(pid) || 0;
  } catch {
    return 0;
  }
}
