import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** What workloads write; nodes report by themselves, whatever runs on them. */
const resources = {
  Pod: 'pods',
  Event: 'events',
  ReplicaSet: 'replicasets.apps',
  Deployment: 'deployments.apps',
  Job: 'jobs.batch',
} as const;

export type Writes = Readonly<Record<keyof typeof resources, number>>;

const pollMs = 250;

/** Counts the writes of all that workloads consist of, as the server's watch cache takes them in: from its metrics. */
export class WriteCounts {
  readonly #url: string;
  #before: Writes;

  private constructor(url: string, before: Writes) {
    this.#url = url;
    this.#before = before;
  }

  /** `address` is the server's `--metrics-address`. */
  static async open(address: string): Promise<WriteCounts> {
    const url = `http://${address}/metrics`;
    return new WriteCounts(url, await readCounts(url));
  }

  /** Writes since the last call, by kind. */
  async take(): Promise<Writes> {
    const now = await readCounts(this.#url);
    const names = Object.keys(resources) as (keyof Writes)[];
    const counts = Object.fromEntries(names.map((name) => [name, now[name] - this.#before[name]]));
    this.#before = now;
    return counts as Writes;
  }

  /** Resolves when nothing has been written for so long. */
  async quiet(ms: number): Promise<void> {
    let last = totalOf(await readCounts(this.#url));
    let lastAt = performance.now();
    for (const until = performance.now() + 300_000; performance.now() < until; ) {
      await delay(pollMs);
      const total = totalOf(await readCounts(this.#url));
      if (total === last && performance.now() - lastAt >= ms) return;
      if (total !== last) lastAt = performance.now();
      last = total;
    }
    throw new Error('there was no rest within 5 minutes');
  }
}

async function readCounts(url: string): Promise<Writes> {
  const text = await (await fetch(url)).text();
  const countOf = (resource: string): number => {
    const name = `apiserver_watch_cache_events_received_total{resource="${resource}"} `;
    const line = text.split('\n').find((each) => each.startsWith(name));
    return line === undefined ? 0 : Number(line.slice(name.length));
  };
  const entries = Object.entries(resources).map(([name, resource]) => [name, countOf(resource)]);
  return Object.fromEntries(entries) as Writes;
}

export const totalOf = (writes: Writes): number => Object.values(writes).reduce((sum, count) => sum + count, 0);
