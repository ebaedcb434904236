import { expect, test } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { ConfigMapWatchResponse } from '../../api/generated/types.ts';
import { configMap } from '../../api/kinds/config-map/kind.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { WatchRoom } from '../limits/watch-room.ts';
import { systemBatchClock } from '../watch/event-batcher.ts';
import { protobufEvents } from '../watch/event-format.ts';
import { FRAME_HEADER_BYTES } from '../watch/event-frame.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { compileSelection } from '../watch/selection.ts';
import { Ticker } from '../watch/ticker.ts';
import { Turns } from '../watch/turns.ts';
import { WatchSource, type WatchStart } from '../watch/watch-source.ts';
import { defaultListLimits, ListGate } from './list-gate.ts';
import { WatchMeters } from './watch-meter.ts';
import { defaultWatchLimits, pumpWatch } from './watch-pump.ts';

const OBJECTS = 5_000;

/** A cache of many config maps, of which only the last one has the label that is selected. */
function filledCache(): KindCache {
  const cache = new KindCache(configMap);
  for (let revision = 1; revision <= OBJECTS; revision++) {
    const name = `c${String(revision).padStart(5, '0')}`;
    const labels = revision === OBJECTS ? { wanted: 'yes' } : { wanted: 'no' };
    const bytes = encodeMessage(configMap.message, { metadata: { name, namespace: 'default', labels } });
    cache.apply({ type: 'put', key: `configmaps/default/${name}`, revision, bytes, durability: 'synced' });
  }
  cache.advance(OBJECTS);
  return cache;
}

/** Pumps a watch, turn by turn; `looked` has how many objects were looked at in each turn. */
function pump(cache: KindCache, labelSelector: string, start: Partial<WatchStart>) {
  const turns: (() => void)[] = [];
  const looked = [0];
  const seen: string[] = [];
  const selection = compileSelection(cache, { labelSelector });
  const counting = {
    ...selection,
    matches: (entry: Parameters<typeof selection.matches>[0]) => {
      looked[looked.length - 1]!++;
      return selection.matches(entry);
    },
  };
  const whole = { revision: undefined, initialEvents: false, initialBookmark: false, ...start };
  const source = new WatchSource(cache, counting, protobufEvents(configMap.message), whole);
  const send = (frame: Buffer, taken: () => void): void => {
    const bytes = frame.subarray(FRAME_HEADER_BYTES);
    const { events = [] } = decodeMessage<ConfigMapWatchResponse>('berth.core.v1.ConfigMapWatchResponse', bytes);
    seen.push(...events.map(({ type, object }) => `${type} ${object?.metadata?.name ?? ''}`));
    taken();
  };
  const stop = new AbortController();
  let started = false;
  const ended = pumpWatch({ begin() {}, send, cutOff() {} }, source, {
    bookmarks: false,
    timeoutSeconds: undefined,
    limits: defaultWatchLimits,
    random: () => 0.5,
    signal: stop.signal,
    batcher: cache.batcher,
    ticker: new Ticker({ ...systemBatchClock, setTimeout: () => ({}) }, 1_000),
    turns: new Turns((run) => void turns.push(run)),
    meter: new WatchMeters(new MetricsRegistry(), new ListGate(defaultListLimits, Math.random)).of('configmaps'),
    room: new WatchRoom({ add: (go) => void turns.push(go) }).of({ key: 'anna', isExempt: false }),
    onStarted: () => {
      started = true;
    },
  });
  const turn = (): boolean => {
    looked.push(0);
    const run = turns.shift();
    run?.();
    return run !== undefined;
  };
  const end = (): Promise<void> => {
    stop.abort();
    return ended;
  };
  return { turn, looked, seen, started: () => started, end };
}

test.each([
  ['events', { revision: 0 }],
  ['present objects', { initialEvents: true }],
])('a watch that selects few of many %s looks at a bounded number in each turn, and finds what is for it', async (_, start) => {
  const { turn, looked, seen, end } = pump(filledCache(), 'wanted=yes', start);
  expect(seen).toEqual([]);
  while (turn());
  expect(seen).toEqual([`ADDED c0${OBJECTS}`]);
  expect(looked.length).toBeGreaterThan(9);
  // Two scans at most: the one that found something, and the one behind it.
  expect(Math.max(...looked)).toBeLessThanOrEqual(1_000);
  await end();
});

test('what was encoded for a watch is freed when it ends', async () => {
  const cache = filledCache();
  const { turn, end } = pump(cache, 'wanted=yes', { revision: 0 });
  while (turn());
  expect(cache.frames.size).toBeGreaterThan(0);
  await end();
  expect(cache.frames.size).toBe(0);
});

test('a watch that was stopped does not go on looking', async () => {
  const { turn, looked, end } = pump(filledCache(), 'wanted=yes', { revision: 0 });
  await end();
  turn();
  expect(looked.at(-1)).toBe(0);
});

test('a watch that found nothing of the present objects for it has started, and gives back its turn', async () => {
  const { turn, seen, started, end } = pump(filledCache(), 'wanted=nobody', { initialEvents: true });
  expect(started()).toBe(false);
  while (turn());
  expect([started(), seen]).toEqual([true, []]);
  await end();
});

test('a watcher waits where another of its flow leaves too much unread, and goes on when that was taken', async () => {
  const cache = filledCache();
  const turns: (() => void)[] = [];
  const later = { add: (go: () => void) => void turns.push(go) };
  const room = new WatchRoom(later, 10_000);
  const watch = (labelSelector: string) => {
    const taken: (() => void)[] = [];
    const stop = new AbortController();
    const start = { revision: undefined, initialEvents: true, initialBookmark: false };
    const source = new WatchSource(cache, compileSelection(cache, { labelSelector }), protobufEvents(configMap.message), start);
    const sink = { begin() {}, send: (_: Buffer, done: () => void) => void taken.push(done), cutOff() {} };
    const ended = pumpWatch(sink, source, {
      ...{ bookmarks: false, timeoutSeconds: undefined, limits: { ...defaultWatchLimits, inFlight: 1 }, random: () => 0.5 },
      ...{ signal: stop.signal, batcher: cache.batcher, turns: new Turns((run) => void turns.push(run)) },
      ticker: new Ticker({ ...systemBatchClock, setTimeout: () => ({}) }, 1_000),
      meter: new WatchMeters(new MetricsRegistry(), new ListGate(defaultListLimits, Math.random)).of('configmaps'),
      room: room.of({ key: 'anna', isExempt: false }),
      onStarted: () => {},
    });
    const end = (): Promise<void> => {
      stop.abort();
      return ended;
    };
    return { taken, end };
  };
  const first = watch('wanted=no');
  const second = watch('wanted!=yes');
  const turn = (): void => {
    for (const go of turns.splice(0)) go();
  };
  turn();
  expect([first.taken.length, second.taken.length]).toEqual([1, 0]);
  await first.end();
  turn();
  expect(second.taken.length).toBe(1);
  await second.end();
});
