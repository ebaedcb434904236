import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { bulkRequest } from '../api/bulk.ts';
import { LeanConnection } from '../api/lean-connection.ts';
import { newestVersion } from '../api/pod-lists.ts';
import { CountingWatchers, WATCH, watchRequest } from '../api/watchers.ts';
import { atLeast, type Figure, inParallel, median, note } from '../figure.ts';
import { type BothDoors, withBothDoors } from './both-doors.ts';

const watchers = 100;
const rounds = 5;
const warmUp = 1_000;
const burst = 2_000;
/** Writers at once, each with a connection: enough to keep the server busy. */
const writers = 8;
const items = 40;
/** A share of gRPC's in the same run. */
const leastEvents = 0.35;
/** What is late arrives within this, or is missing. */
const patienceMs = 120_000;

/** Watchers on connections of their own. */
interface Watching {
  count(): number;
  close(): void;
}

/** Events in a second to 100 watchers over either door, in turns, while streams create pods as fast as they go. */
export function benchFanOut(say: (text: string) => void): Promise<Figure[]> {
  return withBothDoors(async (doors) => {
    const connections = await Promise.all(Array.from({ length: writers }, () => LeanConnection.open(doors.grpc)));
    const [json, grpc]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      grpc.push(await delivered(connections, await openGrpc(doors)));
      json.push(await delivered(connections, await openJson(doors)));
      say(`events to ${watchers} watchers: JSON ${json.at(-1)!.toFixed(0)}/s, gRPC ${grpc.at(-1)!.toFixed(0)}/s`);
    }
    for (const connection of connections) connection.close();
    const ratio = median(json.map((rate, at) => rate / grpc[at]!));
    return [
      atLeast(`JSON events to ${watchers} watchers, to gRPC's`, ratio, 'x', leastEvents),
      note(`JSON events to ${watchers} watchers`, median(json), '1/s'),
      note(`gRPC events to ${watchers} watchers`, median(grpc), '1/s'),
    ];
  });
}

async function openGrpc({ grpc }: BothDoors): Promise<Watching> {
  const counting = new CountingWatchers();
  await counting.open(grpc, watchers, WATCH, watchRequest(await newestVersion(grpc)));
  return { count: () => counting.events, close: () => counting.close() };
}

const newline = 0x0a;

async function openJson({ grpc, http }: BothDoors): Promise<Watching> {
  const version = await newestVersion(grpc);
  const connections: LeanConnection[] = [];
  let events = 0;
  await inParallel(watchers, 10, async () => {
    const connection = await LeanConnection.open(http);
    connections.push(connection);
    connection.get(`/api/v1/namespaces/default/pods?watch=1&resourceVersion=${version}`, 'application/json', {
      data: (bytes) => {
        // One event is one line.
        for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) events++;
      },
      end: () => {},
    });
  });
  return { count: () => events, close: () => connections.forEach((connection) => void connection.close()) };
}

/** Events in a second. */
async function delivered(connections: readonly LeanConnection[], watching: Watching): Promise<number> {
  await create(connections, watching, warmUp);
  const begin = performance.now();
  await create(connections, watching, burst);
  const rate = (burst * watchers) / ((performance.now() - begin) / 1_000);
  watching.close();
  return rate;
}

/** Resolves when every watcher has heard of every pod. */
async function create(connections: readonly LeanConnection[], watching: Watching, count: number): Promise<void> {
  const expected = watching.count() + count * watchers;
  const request = bulkRequest('metadata', items);
  let left = count / items;
  await Promise.all(
    connections.map(async (connection) => {
      while (left-- > 0) await connection.unary('/berth.meta.v1.Objects/Bulk', request);
    }),
  );
  const deadline = performance.now() + patienceMs;
  while (watching.count() < expected) {
    if (performance.now() > deadline) throw new Error(`${expected - watching.count()} events did not come`);
    await delay(2);
  }
}
