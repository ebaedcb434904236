import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { atLeast, atMost, type Figure, inParallel, note } from '../figure.ts';
import { cpuSeconds } from '../process-costs.ts';
import { compare, withBare } from './bare.ts';
import { barePath } from './bare-protocol.ts';
import { bulkRequest } from './bulk.ts';
import { LeanConnection, withApiServer } from './lean-connection.ts';
import { newestVersion } from './pod-lists.ts';
import { PodWriter } from './pod-writer.ts';
import { CountingWatchers, openStalled, TimingWatchers, WATCH, watchRequest } from './watchers.ts';

type Say = (text: string) => void;

const RATE = 1_000;
const MEASURED = 10_000;
const WARM_UP = 3_000;
const WATCHERS = 100;
const BURST_WARM_UP = 4_000;
/** Of one round. */
const BURST = 6_000;
/** A share of what the bare server does. */
const LEAST_EVENTS = 0.7;
/** Writers at once, each with a connection and one stream after the other: enough to keep the server busy. */
const WRITERS = 8;
/**
 * Pods that one stream creates: their message is smaller than what a stream may send before the server has taken some
 * of it.
 */
const ITEMS = 40;
/** What is late arrives within this, or is missing. */
const PATIENCE_MS = 20_000;

/**
 * How changes reach many watchers, each on a connection of its own with TLS: events in a second while streams create
 * typical pods as fast as they go, and how long after its acknowledgement a write reaches the watchers at 1,000 writes
 * a second, on one clock, as writer and watchers are one process.
 */
export async function benchFanOut(say: Say): Promise<Figure[]> {
  return [
    ...(await eventsPerSecond(say)),
    ...(await lateness(say, { watchers: 100, stalled: 0, mostWrites: 3 })),
    ...(await lateness(say, { watchers: 10, stalled: 0, mostWrites: 2 })),
    ...(await lateness(say, { watchers: 10, stalled: 5, mostWrites: undefined })),
  ];
}

/**
 * Events of both servers in turn: Berth's, which creates the pods, and the bare one's,
 * which plays the messages that Berth's watchers got.
 */
function eventsPerSecond(say: Say): Promise<Figure[]> {
  return withApiServer(async (berth, target) => {
    const { server } = berth;
    return await withBare(berth, Buffer.alloc(0), async (bare) => {
      const own = new CountingWatchers();
      await own.open(target, WATCHERS, WATCH, watchRequest(await newestVersion(target)));
      const others = new CountingWatchers();
      await others.open(bare.target, WATCHERS, barePath.watch, Buffer.alloc(0));
      const writers = await Promise.all(Array.from({ length: WRITERS }, () => LeanConnection.open(target)));
      const delivered = async (watchers: CountingWatchers, count: number, task: () => Promise<void>): Promise<number> => {
        const expected = watchers.events + count * WATCHERS;
        const begin = performance.now();
        await task();
        await until(() => watchers.events >= expected, 'all events');
        return (count * WATCHERS) / ((performance.now() - begin) / 1000);
      };
      const burst = (count: number) => {
        own.heard = [];
        return delivered(own, count, () => createMany(writers, count));
      };
      await burst(BURST_WARM_UP);
      await delivered(others, BURST_WARM_UP, () => bare.play(own.heard!));
      const { events, messages } = own;
      let spent = 0;
      const measured = async (): Promise<number> => {
        const before = cpuSeconds([server.pid!]);
        const rate = await burst(BURST);
        spent += cpuSeconds([server.pid!]) - before;
        return rate;
      };
      // Each round plays what the last burst sent, after a warm-up too small to count.
      const compared = await compare(measured, () => {
        const heard = own.heard!;
        return delivered(others, BURST, () => bare.play(heard));
      });
      const measuredEvents = own.events - events;
      say(`events to ${WATCHERS} watchers: ${compared.own.toFixed(0)}/s, of the bare server ${compared.bare.toFixed(0)}/s`);
      own.close();
      others.close();
      for (const writer of writers) writer.close();
      return [
        atLeast(`events to ${WATCHERS} watchers, against bare writes of the same messages`, compared.ratio, 'x', LEAST_EVENTS),
        note(`events to ${WATCHERS} watchers`, compared.own, '1/s'),
        note('bare writes of the same messages', compared.bare, '1/s'),
        note('events in a message', (own.events - events) / (own.messages - messages), 'events'),
        note("server's processor for an event, its share of the write included", (spent / measuredEvents) * 1e6, 'microseconds'),
      ];
    });
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
  /** How many times as long as nine of ten writes take nine of ten events may take to reach the watchers. */
  readonly mostWrites: number | undefined;
}

function lateness(say: Say, { watchers, stalled, mostWrites }: Lateness): Promise<Figure[]> {
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
    const title = `${RATE} writes/s reach ${name}`;
    const write = writeTimes(writer)[Math.floor(MEASURED * 0.9)]!;
    const ratio = `${title}, 90 % within, in such times of a write`;
    return [
      mostWrites === undefined ? note(ratio, at(0.9) / write, 'x') : atMost(ratio, at(0.9) / write, 'x', mostWrites),
      note(`${title}, 99 % within`, at(0.99), 'ms'),
      note(`${title}, 90 % within`, at(0.9), 'ms'),
      note('nine of ten writes are acknowledged within', write, 'ms'),
    ];
  });
}

/**
 * Every measured pod at every watcher: how long after its acknowledgement it came (less than nothing: before it),
 * in order.
 */
function latenesses({ arrivals }: TimingWatchers, { acknowledgedAt }: PodWriter): Float64Array {
  const late = new Float64Array(arrivals.length * MEASURED);
  let next = 0;
  for (const each of arrivals) {
    for (let number = WARM_UP; number < WARM_UP + MEASURED; number++) late[next++] = each[number]! - acknowledgedAt[number]!;
  }
  return late.sort();
}

/** How long the acknowledgement of each measured write took, in order. */
function writeTimes({ sentAt, acknowledgedAt }: PodWriter): Float64Array {
  return acknowledgedAt
    .map((at, number) => at - sentAt[number]!)
    .slice(WARM_UP, WARM_UP + MEASURED)
    .sort();
}

async function until(isDone: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!isDone()) {
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${PATIENCE_MS / 1000} s`);
    await delay(2);
  }
}
