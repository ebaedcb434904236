import { performance } from 'node:perf_hooks';
import { encodeMessage } from '../../api/codec/message.ts';
import { inParallel } from '../figure.ts';
import { countEvents, eachEvent, NAME, textOf } from './event-reader.ts';
import { LeanConnection, type LeanTarget } from './lean-connection.ts';
import { numberOf } from './pod-writer.ts';

export const WATCH = '/berth.core.v1.Pods/Watch';

/** A request to watch the pods of the namespace "default" after a version. */
export function watchRequest(resourceVersion: string, bookmarks = false): Buffer {
  const options = { resourceVersion, ...(bookmarks ? { allowWatchBookmarks: true } : {}) };
  return encodeMessage('berth.meta.v1.WatchRequest', { namespace: 'default', options });
}

/** Watchers of pods on connections of their own that count what they get. */
export class CountingWatchers {
  /** Events of all watchers together. */
  events = 0;
  bytes = 0;
  messages = 0;
  ended = 0;
  /** What the first of them got; kept only while it is set. */
  heard: Buffer[] | undefined;
  readonly #connections: LeanConnection[] = [];

  async open(target: LeanTarget, count: number, path: string, request: Buffer): Promise<void> {
    await inParallel(count, 10, async (index) => {
      const connection = await LeanConnection.open(target);
      this.#connections.push(connection);
      const message = (bytes: Buffer): void => {
        this.messages++;
        this.bytes += bytes.length;
        this.events += countEvents(bytes);
        if (index === 0) this.heard?.push(Buffer.from(bytes));
      };
      connection.call(path, request, { message, end: () => this.ended++ });
    });
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

/** Watchers of pods on connections of their own that note when each pod reached each of them. */
export class TimingWatchers {
  /** By watcher and number of the pod, on this process's clock; 0: not yet. */
  readonly arrivals: readonly Float64Array[];
  events = 0;
  readonly #connections: LeanConnection[] = [];

  constructor(count: number, mostPods: number) {
    this.arrivals = Array.from({ length: count }, () => new Float64Array(mostPods));
  }

  async open(target: LeanTarget, resourceVersion: string): Promise<void> {
    const request = watchRequest(resourceVersion);
    await inParallel(this.arrivals.length, 10, async (index) => {
      const connection = await LeanConnection.open(target);
      this.#connections.push(connection);
      const arrivals = this.arrivals[index]!;
      const message = (bytes: Buffer): void => {
        const now = performance.now();
        eachEvent(bytes, (metadata) => {
          arrivals[numberOf(textOf(metadata, NAME))] = now;
          this.events++;
        });
      };
      connection.call(WATCH, request, { message, end: () => {} });
    });
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

/** Opens watches on connections of their own that are then not read any more. */
export async function openStalled(target: LeanTarget, count: number, resourceVersion: string): Promise<() => void> {
  const request = watchRequest(resourceVersion);
  const connections: LeanConnection[] = [];
  await inParallel(count, 10, async () => {
    const connection = await LeanConnection.open(target);
    connections.push(connection);
    connection.call(WATCH, request, { message: () => {}, end: () => {} });
    connection.pause();
  });
  return () => {
    for (const connection of connections) connection.close();
  };
}
