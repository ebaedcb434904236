import { type Client, type ConnectOptions, isNotFound } from '../../../client/index.ts';
import type { Chance } from '../random.ts';
import { createRawWatcher } from './raw-watcher.ts';
import { createReflectingWatcher } from './reflecting-watcher.ts';
import { namespace, revisionOf, type Watcher } from './watcher.ts';
import { WriteHistory } from './write-record.ts';
import { endOf, Writers } from './writers.ts';

const writers = 12;
const leaseWriters = 2;

/** All participants, over all lives of the server. */
export class Cast {
  readonly history = new WriteHistory();
  /** The newest version at the beginning of each life of the server. */
  readonly starts: number[] = [];
  /** The revisions that relaxed writes got. */
  readonly relaxed: number[] = [];
  readonly watchers: readonly Watcher[];
  readonly reflector: ReturnType<typeof createReflectingWatcher>;
  readonly #writers: Writers;
  readonly #stop = new AbortController();
  #running: Promise<void>[] = [];
  /** Opened in some rounds only: who waits for it was away for a few lives. */
  #gate = gate();
  #isOpen = false;

  constructor(target: ConnectOptions, chance: Chance, from: number) {
    this.#writers = new Writers(this.history, chance);
    this.reflector = createReflectingWatcher(target);
    this.watchers = [
      this.reflector,
      createRawWatcher(target, { name: 'raw watch', from, bookmarks: false }),
      createRawWatcher(target, { name: 'selecting watch', from, bookmarks: true, labelSelector: 'odd=true' }),
      createRawWatcher(target, { name: 'sleeper', from, bookmarks: true, mayOpen: () => this.#gate.promise }),
    ];
  }

  start(): void {
    this.#running = this.watchers.map((watcher) => watcher.run(this.#stop.signal));
  }

  async end(): Promise<void> {
    this.openGate();
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  openGate(): void {
    this.#gate.resolve();
    this.#isOpen = true;
  }

  closeGate(): void {
    if (this.#isOpen) this.#gate = gate();
    this.#isOpen = false;
  }

  /** Waits for `work`, and throws what a watcher fails with meanwhile. */
  unlessItFails<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, ...this.#running.map((each) => each.then(() => work))]);
  }

  /** All write until the server is gone. `isKilled`: whether this life of it is over. */
  write(client: Client, round: number, isKilled: () => boolean): Promise<unknown> {
    return Promise.all([
      ...Array.from({ length: writers }, () => this.#writers.run(client, round, isKilled)),
      ...Array.from({ length: leaseWriters }, (_, i) => this.#writeLeases(client, `lease-${i}`, round, isKilled)),
    ]);
  }

  /** Writes without a sync of their own: a kill may lose them, but their revisions are not reused. */
  async #writeLeases({ leases }: Client, name: string, round: number, isKilled: () => boolean): Promise<void> {
    try {
      for (let i = 0; ; i++) {
        // Equal versions would write nothing.
        const spec = { holderIdentity: `${round}.${i}` };
        const write = await leases.patch({ namespace, name }, { spec }).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
          return leases.create({ metadata: { namespace, name }, spec });
        });
        this.relaxed.push(Number(write.metadata?.resourceVersion));
      }
    } catch (error) {
      endOf(error, isKilled());
    }
  }

  /** A write that tells how far the watchers are. */
  async mark({ configMaps }: Client, round: number): Promise<number> {
    const name = `marker-${round}`;
    const write = { type: 'create', name, step: `marker.${round}.1`, base: undefined, round } as const;
    const object = { metadata: { namespace, name, labels: { odd: 'true' } }, data: { step: write.step } };
    const { answer, error } = await this.history.record(write, () => configMaps.create(object), revisionOf);
    if (!answer) throw error;
    return revisionOf(answer);
  }
}

function gate(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
