import type { Turns } from '../watch/turns.ts';
import type { Flow } from './levels.ts';

/**
 * What the clients of a flow may leave unread of their watches together: some objects of the largest size at once. A
 * watcher may leave two messages unread for half a minute, and a flow may have tens of thousands.
 */
const mostBytes = 32 * 1024 * 1024;
/** In bytes: smaller ones are not counted. */
const smallFrame = 1024;

/** What of its messages a watcher has on their way, as its flow counts them. */
export interface FrameRoom {
  /** Whether another message may be made. If not, `wake` is called once, in a turn of its own, when there is room. */
  hasRoom(wake: () => void): boolean;
  /** Counts a message until `give`. One that several watchers share counts once. */
  take(frame: Buffer): void;
  give(frame: Buffer): void;
  /** The watcher is over, and has given back what it took. */
  forget(wake: () => void): void;
}

/** Bounds the memory of messages that clients do not read: the watchers of a flow that has no room wait. */
export class WatchRoom {
  readonly #flows = new Map<string, FlowRoom>();
  readonly #turns: Pick<Turns, 'add'>;
  readonly #most: number;

  constructor(turns: Pick<Turns, 'add'>, most = mostBytes) {
    this.#turns = turns;
    this.#most = most;
  }

  /** The room of a flow, for one watcher. */
  of({ key, isExempt }: Pick<Flow, 'key' | 'isExempt'>): FrameRoom {
    const known = this.#flows.get(key);
    const room = known ?? new FlowRoom(isExempt ? Number.POSITIVE_INFINITY : this.#most, this.#turns);
    if (!known) this.#flows.set(key, room);
    room.watchers++;
    return {
      hasRoom: (wake) => room.hasRoom(wake),
      take: (frame) => room.take(frame),
      give: (frame) => room.give(frame),
      forget: (wake) => {
        room.forget(wake);
        if (--room.watchers === 0) this.#flows.delete(key);
      },
    };
  }
}

class FlowRoom {
  watchers = 0;
  readonly #most: number;
  readonly #turns: Pick<Turns, 'add'>;
  /** By how many watchers each is held. */
  readonly #held = new Map<Buffer, number>();
  readonly #waiting = new Set<() => void>();
  #bytes = 0;

  constructor(most: number, turns: Pick<Turns, 'add'>) {
    this.#most = most;
    this.#turns = turns;
  }

  hasRoom(wake: () => void): boolean {
    const hasRoom = this.#bytes < this.#most;
    if (hasRoom) this.#waiting.delete(wake);
    else this.#waiting.add(wake);
    return hasRoom;
  }

  take(frame: Buffer): void {
    if (frame.length < smallFrame) return;
    const holders = this.#held.get(frame) ?? 0;
    if (holders === 0) this.#bytes += frame.length;
    this.#held.set(frame, holders + 1);
  }

  give(frame: Buffer): void {
    const holders = this.#held.get(frame);
    if (holders === undefined) return;
    if (holders > 1) this.#held.set(frame, holders - 1);
    else {
      this.#held.delete(frame);
      this.#bytes -= frame.length;
    }
    this.#wakeNext();
  }

  forget(wake: () => void): void {
    this.#waiting.delete(wake);
    this.#wakeNext();
  }

  /** One after another: the first may take all the room. */
  #wakeNext(): void {
    const [first] = this.#waiting;
    if (!first || this.#bytes >= this.#most) return;
    this.#waiting.delete(first);
    this.#turns.add(() => {
      first();
      this.#wakeNext();
    });
  }
}
