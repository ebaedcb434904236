import type { Clock } from '../../client/index.ts';
import type { Source, Wake } from '../controller.ts';

/**
 * Which nodes have been silent for the whole grace period. A sign of life is a *change* of what a node writes, seen
 * here; what the node's clock says does not matter, and neither does this machine's wall clock: only timers count.
 *
 *     heard --half the period--> in doubt --confirm--> heard once --half the period--> in doubt --confirm--> silent
 *       ^______________________________________ observe(another sign), restart ______________________________|
 *
 * The period is counted in two halves, each of which ends with a question to the API server (the caller's, before
 * `confirm`). So a process that stood still for an hour has counted one half at most, a watch that went quiet is found
 * out, and an API server that is away is noticed before any node is judged.
 */
export interface Silence extends Source {
  /** Notes what the node last wrote. A sign that is the first or differs from the last restarts the period: true. */
  observe(name: string, sign: string): boolean;
  /**
   * Whether half a period has passed without a change: ask the server what the node last wrote, `observe` that,
   * then `confirm`.
   */
  isInDoubt(name: string): boolean;
  /** The server was asked: counts the half that has passed. Does nothing when `observe` saw another sign meanwhile. */
  confirm(name: string): void;
  isSilent(name: string): boolean;
  /** When the last change was seen, in milliseconds since 1970: for people. */
  heardAt(name: string): number | undefined;
  /** Starts the period of this node afresh, or of every node: they could not have been heard. */
  restart(name?: string): void;
  /** All nodes that are watched. */
  names(): Iterable<string>;
  /** The node is gone. */
  forget(name: string): void;
}

export interface SilenceOptions {
  readonly clock: Clock;
  /** How long a node may say nothing. */
  readonly graceMs: number;
}

const halves = 2;

interface Watched {
  readonly name: string;
  readonly sign: string;
  readonly heardAt: number;
  /** Halves of the period that are over and confirmed. */
  confirmed: number;
  inDoubt: boolean;
  cancel(): void;
}

export function createSilence({ clock, graceMs }: SilenceOptions): Silence {
  const nodes = new Map<string, Watched>();
  let wake: Wake = () => {};

  function start(name: string, sign: string, heardAt: number): void {
    const watched: Watched = { name, sign, heardAt, confirmed: 0, inDoubt: false, cancel: () => {} };
    nodes.set(name, watched);
    wait(watched);
  }

  function wait(watched: Watched): void {
    watched.inDoubt = false;
    watched.cancel = clock.after(graceMs / halves, () => {
      watched.inDoubt = true;
      wake(watched.name);
    });
  }

  return {
    waitForSync: async () => {},
    connect(to) {
      wake = to;
      return () => {
        for (const { cancel } of nodes.values()) cancel();
        nodes.clear();
        wake = () => {};
      };
    },
    observe(name, sign) {
      const known = nodes.get(name);
      if (known?.sign === sign) return false;
      known?.cancel();
      start(name, sign, clock.now());
      return true;
    },
    isInDoubt: (name) => nodes.get(name)?.inDoubt === true,
    confirm(name) {
      const watched = nodes.get(name);
      if (!watched?.inDoubt) return;
      watched.inDoubt = false;
      watched.confirmed++;
      if (watched.confirmed < halves) wait(watched);
    },
    isSilent: (name) => nodes.get(name)?.confirmed === halves,
    heardAt: (name) => nodes.get(name)?.heardAt,
    restart(only) {
      const chosen = only === undefined ? [...nodes.values()] : [nodes.get(only)].filter((known) => known !== undefined);
      for (const { name, sign, heardAt, cancel } of chosen) {
        cancel();
        start(name, sign, heardAt);
      }
    },
    names: () => nodes.keys(),
    forget(name) {
      nodes.get(name)?.cancel();
      nodes.delete(name);
    },
  };
}
