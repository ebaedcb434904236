import { exhausted } from '../../api/errors/index.ts';
import type { Counter, MetricsRegistry } from '../../api/metrics/index.ts';
import { apiserverMetrics } from '../metrics.ts';
import { type Flow, type Level, levels, perLevel } from './levels.ts';

export interface AnswerLimits {
  /** Bytes of answers on their way, of all clients; each level has its part. */
  readonly bytes: number;
  /** One flow's part of them. */
  readonly userBytes: number;
  /** Answers of one flow that are too small to be counted in bytes. */
  readonly userSmall: number;
  /** An answer that was not taken after so long is cut off. */
  readonly takeMs: number;
}

/**
 * 64 of the largest objects for one user: more at once is no faster, as all go over one line. 4,000 small ones are at
 * most as much again.
 */
export const defaultAnswerLimits: AnswerLimits = {
  bytes: 256 * 1024 * 1024,
  userBytes: 64 * 1024 * 1024,
  userSmall: 4_000,
  takeMs: 30_000,
};

/** Smaller answers are counted by their number, which costs less. */
const COUNTED_FROM = 16 * 1024;
const RETRY_AFTER_MS = 1_000;

interface Room {
  readonly bytes: number;
  total: number;
  readonly byFlow: Map<string, number>;
  readonly smallByFlow: Map<string, number>;
}

/**
 * Bounds the answers of unary calls that their clients do not take: they lie in this process, and a call counts as over
 * when its answer was given. Lists have a bound of their own before they are made. A change is never refused after it
 * was made; so that this bounds changes too, a flow that has its part may begin nothing. A flow that holds nothing is
 * never refused: a full level refuses the flows that hold more than an equal share of it.
 */
export class AnswerRoom {
  readonly limits: AnswerLimits;
  readonly #rejected: Readonly<Record<Level, Counter>>;
  readonly #rooms: Readonly<Record<Level, Room>>;

  constructor(limits: AnswerLimits, metrics: MetricsRegistry) {
    this.limits = limits;
    const rejected = metrics.counter(apiserverMetrics.rejected);
    this.#rejected = perLevel((_, level) => rejected.with(level, 'answers'));
    this.#rooms = perLevel((shares) => ({
      bytes: limits.bytes * shares.answers,
      total: 0,
      byFlow: new Map(),
      smallByFlow: new Map(),
    }));
    metrics.read(apiserverMetrics.answerBytes, () =>
      levels.map((level) => ({ labels: [level], value: this.#rooms[level].total })),
    );
  }

  /** Throws RESOURCE_EXHAUSTED when the flow has no room for an answer of so many bytes. */
  assert({ level, key, name, isExempt }: Flow, bytes: number): void {
    const room = this.#rooms[level];
    const small = room.smallByFlow.get(key) ?? 0;
    const held = room.byFlow.get(key) ?? 0;
    if (small < this.limits.userSmall && (held === 0 || this.#hasRoom(room, held, bytes))) return;
    if (isExempt) return;
    this.#rejected[level].inc();
    const what = small < this.limits.userSmall ? `answers of ${held} bytes` : `${small} answers`;
    throw exhausted(
      `${name} has ${what} on their way that were not taken yet (priority level "${level}"): read them, then try again`,
      RETRY_AFTER_MS,
    );
  }

  #hasRoom(room: Room, held: number, bytes: number): boolean {
    if (held + bytes > this.limits.userBytes) return false;
    return room.total + bytes <= room.bytes || held + bytes <= room.bytes / room.byFlow.size;
  }

  isCounted(bytes: number): boolean {
    return bytes >= COUNTED_FROM;
  }

  /** Counts an answer until the function is called that comes back. */
  hold({ level, key }: Flow, bytes: number): () => void {
    const room = this.#rooms[level];
    room.total += bytes;
    add(room.byFlow, key, bytes);
    return () => {
      room.total -= bytes;
      add(room.byFlow, key, -bytes);
    };
  }

  /** The same for an answer that is not counted in bytes. */
  holdSmall({ level, key }: Flow): () => void {
    const { smallByFlow } = this.#rooms[level];
    add(smallByFlow, key, 1);
    return () => add(smallByFlow, key, -1);
  }
}

function add(sums: Map<string, number>, key: string, value: number): void {
  const sum = (sums.get(key) ?? 0) + value;
  if (sum > 0) sums.set(key, sum);
  else sums.delete(key);
}
