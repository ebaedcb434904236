import { performance } from 'node:perf_hooks';
import { WireReader } from '../../api/codec/wire-reader.ts';
import { LeanConnection } from '../api/lean-connection.ts';
import { WATCH, watchRequest } from '../api/watchers.ts';
import type { BenchServer } from '../berth.ts';

/** Field numbers of the messages that are looked into. */
const event = { object: 2 };
const pod = { metadata: 1, spec: 2 };
const metadata = { name: 1 };
const spec = { nodeName: 10 };

/** Hears of every pod, and notes where it was bound and when. */
export class PodWatch {
  /** The node of each pod that was bound, by the pod's name. */
  readonly nodeOf = new Map<string, string>();
  /** How often each pod that is not bound was heard of. */
  readonly heard = new Map<string, number>();
  /** When the last of the bindings was heard of, on this process's clock. */
  lastBoundAt = 0;
  /** Milliseconds from the first event of each pod to its binding. */
  readonly waits: number[] = [];
  readonly #seenAt = new Map<string, number>();
  readonly #connection: LeanConnection;
  #ended = false;
  #wake: () => void = () => {};

  private constructor(connection: LeanConnection) {
    this.#connection = connection;
  }

  static async open({ admin, client, token }: BenchServer): Promise<PodWatch> {
    const { metadata: list } = await client.pods.list({ namespace: 'default', limit: 1 });
    const connection = await LeanConnection.open({ address: admin.address, ca: String(admin.ca), token });
    const watch = new PodWatch(connection);
    const end = (): void => {
      watch.#ended = true;
      watch.#wake();
    };
    connection.call(WATCH, watchRequest(list.resourceVersion ?? ''), { message: (bytes) => watch.#take(bytes), end });
    return watch;
  }

  close(): void {
    this.#connection.close();
  }

  /**
   * Resolves once `isDone`, which is called after every message; calls `say` every two seconds.
   * Throws after a minute without a message.
   */
  async until(isDone: () => boolean, say: () => void): Promise<void> {
    let [toldAt, knownAt, known] = [performance.now(), performance.now(), this.nodeOf.size];
    while (!isDone()) {
      const now = performance.now();
      if (known !== this.nodeOf.size) [known, knownAt] = [this.nodeOf.size, now];
      if (this.#ended) throw new Error('the watch of pods has ended');
      if (now - knownAt > 60_000) throw new Error(`no pod was bound for a minute, ${known} in all`);
      if (now - toldAt > 2_000) {
        say();
        toldAt = now;
      }
      await this.#next();
    }
  }

  async #next(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = setTimeout(resolve, 1_000);
    });
    clearTimeout(timer);
  }

  #take(bytes: Buffer): void {
    const now = performance.now();
    const events = new WireReader(bytes);
    while (events.next()) {
      const parts = new WireReader(bytes, events.valueStart, events.valueEnd);
      while (parts.next()) if (parts.number === event.object) this.#takePod(bytes, parts, now);
    }
    this.#wake();
  }

  #takePod(bytes: Buffer, { valueStart, valueEnd }: WireReader, now: number): void {
    let name = '';
    let node = '';
    const parts = new WireReader(bytes, valueStart, valueEnd);
    while (parts.next()) {
      if (parts.number === pod.metadata) name = textOf(bytes, parts, metadata.name);
      if (parts.number === pod.spec) node = textOf(bytes, parts, spec.nodeName);
    }
    if (node === '') {
      this.heard.set(name, (this.heard.get(name) ?? 0) + 1);
      if (!this.#seenAt.has(name)) this.#seenAt.set(name, now);
      return;
    }
    if (this.nodeOf.has(name)) return;
    this.nodeOf.set(name, node);
    this.waits.push(now - (this.#seenAt.get(name) ?? now));
    this.lastBoundAt = now;
  }
}

function textOf(bytes: Buffer, { valueStart, valueEnd }: WireReader, number: number): string {
  const fields = new WireReader(bytes, valueStart, valueEnd);
  while (fields.next()) if (fields.number === number) return bytes.toString('latin1', fields.valueStart, fields.valueEnd);
  return '';
}
