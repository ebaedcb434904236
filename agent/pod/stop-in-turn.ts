import { onAbort } from '../../client/abort.ts';
import type { Clock } from '../../client/clock.ts';
import type { ContainerRuntime, ObservedContainer } from '../runtime/runtime.ts';
import type { StopInTurn } from './plan.ts';
import type { PodRecord } from './pod-record.ts';

export interface StopInTurnOptions {
  readonly runtime: Pick<ContainerRuntime, 'stop'>;
  readonly clock: Clock;
  /** Runs what a container is to do before it stops, and says how many seconds are left to it. */
  readonly preStop: (record: PodRecord, container: ObservedContainer, gracePeriodSeconds: number) => Promise<number>;
}

export interface Stop extends StopInTurn {
  /** For all turns together. */
  readonly gracePeriodSeconds: number;
}

/** What the stop of a container waits for, and since when. */
interface Waits {
  readonly before: readonly Promise<void>[];
  readonly held: Promise<void> | undefined;
  readonly sinceMs: number;
}

/** The grace of a container whose turn comes after the grace period; Kubernetes' value. */
const lastMomentSeconds = 2;

/** Stops containers of one pod, those of a turn together. */
export class TurnStopper {
  readonly #options: StopInTurnOptions;

  constructor(options: StopInTurnOptions) {
    this.#options = options;
  }

  /**
   * False when a newer wish interrupted the wait. Nothing is stopped before `held` has resolved; preStop hooks run
   * meanwhile. Throws RuntimeError.
   */
  async stopAll(record: PodRecord, wanted: readonly Stop[], held?: Promise<void>): Promise<boolean> {
    if (wanted.length === 0) return true;
    const { signal } = record.interrupt;
    if (signal.aborted) return false;
    const stops = this.#stopInTurn(record, wanted, held).then(() => true);
    let unlink = () => {};
    const interrupted = new Promise<false>((resolve) => {
      unlink = onAbort(signal, () => resolve(false));
    });
    try {
      return await Promise.race([stops, interrupted]);
    } finally {
      unlink();
      // After an interruption it is not awaited; the next step stops again and sees what came of it.
      stops.catch(() => {});
    }
  }

  /**
   * A turn begins when all of the turns before have ended, or when the grace period has; preStop hooks do not wait for
   * their turn.
   */
  async #stopInTurn(record: PodRecord, wanted: readonly Stop[], held?: Promise<void>): Promise<void> {
    const sinceMs = this.#options.clock.now();
    const ends = new Map<Stop, Promise<void>>();
    const turns = [...wanted].sort((a, b) => a.turn - b.turn);
    for (const stop of turns) {
      const before = [...ends].filter(([{ turn }]) => turn < stop.turn).map(([, end]) => end);
      ends.set(stop, this.#stopOne(record, stop, { before, held, sinceMs }));
    }
    await Promise.all(ends.values());
  }

  async #stopOne(record: PodRecord, stop: Stop, { before, held, sinceMs }: Waits): Promise<void> {
    const { runtime, clock, preStop } = this.#options;
    const { container, gracePeriodSeconds } = stop;
    const [left] = await Promise.all([preStop(record, container, gracePeriodSeconds), held]);
    const mayWait = before.length > 0 && gracePeriodSeconds > 0;
    if (!mayWait && held === undefined) return runtime.stop(container.id, left);
    if (mayWait) await this.#within(left * 1000, Promise.allSettled(before));
    const rest = Math.ceil(gracePeriodSeconds - (clock.now() - sinceMs) / 1000);
    await runtime.stop(container.id, Math.max(Math.min(gracePeriodSeconds, lastMomentSeconds), rest));
  }

  /** Waits for something, but no longer than this. */
  async #within(ms: number, wait: Promise<unknown>): Promise<void> {
    let cancel = () => {};
    const over = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(ms, resolve);
    });
    await Promise.race([wait, over]);
    cancel();
  }
}
