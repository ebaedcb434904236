import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { atLeast, atMost, type Figure, inParallel, note } from '../figure.ts';
import { cpuSeconds } from '../process-costs.ts';
import { bulkRequest } from './bulk.ts';
import { LeanConnection, withApiServer } from './lean-connection.ts';
import { newestVersion } from './pod-lists.ts';
import { PodWriter } from './pod-writer.ts';
import { CountingWatchers, openStalled, TimingWatchers } from './watchers.ts';

type Say = (text: string) => void;

const RATE = 1_000;
const MEASURED = 10_000;
const WARM_UP = 3_000;
const BURST_WARM_UP = 4_000;
const BURST = 20_000;
/** Writers at once, each with a connection and one stream after the other: enough to keep the server busy. */
const WRITERS = 8;
/** Pods that one stream creates: their message is smaller than what a stream may send before the server has taken some of it. */
const ITEMS = 40;
/** What is late arrives within this, or is missing. */
const PATIENCE_MS = 20_000;

/**
 * How changes reach many watchers, each on a connection of its own with TLS: events in a second while streams create typical pods as fast as they go, and
 * how long after its acknowledgement a write reaches the watchers at 1,000 writes a second, on one clock, as writer and watchers are one process.
 */
export async function benchFanOut(say: Say): Promise<Figure[]> {
  return [
    ...(await eventsPerSecond(say)),
    ...(await lateness(say, { watchers: 100, stalled: 0, boundMs: 25 })),
    ...(await lateness(say, { watchers: 10, stalled: 0, boundMs: 5 })),
    ...(await lateness(say, { watchers: 10, stalled: 5, boundMs: undefined })),
  ];
}

function eventsPerSecond(say: Say): Promise<Figure[]> {
  return withApiServer(async ({ server }, target) => {
    const version = await newestVersion(target);
    const watchers = new CountingWatchers();
    await watchers.open(target, 100, version);
    const writers = await Promise.all(Array.from({ length: WRITERS }, () => LeanConnection.open(target)));
    await createMany(writers, BURST_WARM_UP);
    await until(() => watchers.events === BURST_WARM_UP * 100, 'the first events');
    const { events, bytes, messages } = watchers;
    const [begin, cpu, own] = [performance.now(), cpuSeconds([server.pid!]), cpuSeconds([process.pid])];
    await createMany(writers, BURST);
    await until(() => watchers.events === (BURST_WARM_UP + BURST) * 100, 'all events');
    const seconds = (performance.now() - begin) / 1000;
    const spent = cpuSeconds([server.pid!]) - cpu;
    const delivered = watchers.events - events;
    say(
      `${delivered} events in ${(watchers.messages - messages).toFixed(0)} messages and ${seconds.toFixed(1)} s, ${((watchers.bytes - bytes) / 1e6 / seconds).toFixed(0)} MB/s; processor: server ${(spent / seconds).toFixed(2)}, load ${((cpuSeconds([process.pid]) - own) / seconds).toFixed(2)}`,
    );
    watchers.close();
    for (const writer of writers) writer.close();
    return [
      atLeast('events to 100 watchers', delivered / seconds, '1/s', 200_000),
      note('events in a message', delivered / (watchers.messages - messages), 'events'),
      note("server's processor for an event, its share of the write included", (spent / delivered) * 1e6, 'microseconds'),
    ];
  });
}

/** Creates pods as items of streams. */
async function createMany(writers: readonly LeanConnection[], count: number): Promise<void> {
  const request = bulkRequest('metadata', ITEMS);
  let left = count / ITEMS;
  await inParallel(WRITERS, WRITERS, async (index) => {
    while (left-- > 0) await writers[index]!.unary('/berth.meta.v1.Objects/Bulk', request);
  });
}

interface Lateness {
  readonly watchers: number;
  /** Watchers besides, that do not read. */
  readonly stalled: number;
  readonly boundMs: number | undefined;
}

function lateness(say: Say, { watchers, stalled, boundMs }: Lateness): Promise<Figure[]> {
  return withApiServer(async ({ server }, target) => {
    const version = await newestVersion(target);
    const count = WARM_UP + MEASURED;
    const timing = new TimingWatchers(watchers, count);
    await timing.open(target, version);
    const closeStalled = await openStalled(target, stalled, version);
    const writer = await PodWriter.open(target, count);
    await writer.steadily(RATE, WARM_UP);
    const cpu = cpuSeconds([server.pid!]);
    await writer.steadily(RATE, MEASURED);
    await until(() => timing.events === count * watchers, 'all events');
    const load = (cpuSeconds([server.pid!]) - cpu) / (MEASURED / RATE);
    const late = latenesses(timing, writer);
    const at = (share: number): number => late[Math.floor(late.length * share)]!;
    const name = `${watchers} watchers${stalled > 0 ? ` beside ${stalled} that do not read` : ''}`;
    say(
      `${name}: p50 ${at(0.5).toFixed(2)}, p90 ${at(0.9).toFixed(2)}, p99 ${at(0.99).toFixed(2)}, p99.9 ${at(0.999).toFixed(2)} ms; the server's processor ${load.toFixed(2)}`,
    );
    timing.close();
    closeStalled();
    writer.close();
    const title = `${RATE} writes/s reach ${name}, 99 % within`;
    return [boundMs === undefined ? note(title, at(0.99), 'ms') : atMost(title, at(0.99), 'ms', boundMs)];
  });
}

/** Every measured pod at every watcher: how long after its acknowledgement it came (less than nothing: before it), in order. */
function latenesses({ arrivals }: TimingWatchers, { acknowledgedAt }: PodWriter): Float64Array {
  const late = new Float64Array(arrivals.length * MEASURED);
  let next = 0;
  for (const each of arrivals) {
    for (let number = WARM_UP; number < WARM_UP + MEASURED; number++) late[next++] = each[number]! - acknowledgedAt[number]!;
  }
  return late.sort();
}

async function until(isDone: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!isDone()) {
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${PATIENCE_MS / 1000} s`);
    await delay(2);
  }
}
