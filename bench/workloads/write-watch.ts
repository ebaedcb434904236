import { performance } from 'node:perf_hooks';
import { encodeMessage } from '../../api/codec/message.ts';
import { type KindName, kindNamed } from '../../api/kinds/index.ts';
import { countEvents } from '../api/event-reader.ts';
import { LeanConnection } from '../api/lean-connection.ts';
import type { BenchServer } from '../berth.ts';

/** What workloads write besides events: of a kind that is kept on the disk each write is one event of a watch. */
const counted = ['Pod', 'ReplicaSet', 'Deployment', 'Job', 'Node', 'ResourceQuota'] as const satisfies readonly KindName[];
type Counted = (typeof counted)[number];

/** Counts the writes of all that workloads consist of, without decoding any. */
export class WriteWatch {
  readonly #counts = new Map<Counted, number>();
  readonly #connection: LeanConnection;
  #ended = false;
  #lastAt = 0;

  private constructor(connection: LeanConnection) {
    this.#connection = connection;
  }

  static async open({ admin, client, token }: BenchServer): Promise<WriteWatch> {
    const connection = await LeanConnection.open({ address: admin.address, ca: String(admin.ca), token });
    const watch = new WriteWatch(connection);
    for (const name of counted) {
      const kind = kindNamed(name);
      const { metadata } = await client.resource(name).list({ limit: 1 });
      const options = { resourceVersion: metadata.resourceVersion ?? '' };
      const request = encodeMessage('berth.meta.v1.WatchRequest', { options });
      const message = (bytes: Buffer): void => {
        watch.#counts.set(name, (watch.#counts.get(name) ?? 0) + countEvents(bytes));
        if (name !== 'Node') watch.#lastAt = performance.now();
      };
      connection.call(`/${kind.service}/Watch`, request, { message, end: () => (watch.#ended = true) });
    }
    return watch;
  }

  /** Writes since the last call, by kind. */
  take(): Readonly<Record<Counted, number>> {
    if (this.#ended) throw new Error('a watch that counts writes has ended');
    const counts = Object.fromEntries(counted.map((name) => [name, this.#counts.get(name) ?? 0])) as Record<Counted, number>;
    this.#counts.clear();
    return counts;
  }

  /** Resolves when nothing but nodes has been written for so long. */
  async quiet(ms: number): Promise<void> {
    for (const until = performance.now() + 300_000; performance.now() < until; ) {
      const left = this.#lastAt + ms - performance.now();
      if (left <= 0) return;
      await new Promise((resolve) => setTimeout(resolve, left));
    }
    throw new Error('there was no rest within 5 minutes');
  }

  close(): void {
    this.#connection.close();
  }
}

export type Writes = ReturnType<WriteWatch['take']>;

/** Nodes report by themselves, whatever runs on them. */
export const totalOf = ({ Node: _, ...writes }: Writes): number => Object.values(writes).reduce((sum, count) => sum + count, 0);
