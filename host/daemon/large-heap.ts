import { setFlagsFromString } from 'node:v8';
import { letHeapGrow } from './heap-growth.ts';

/**
 * V8's memory reducer collects in steps beside what runs, moves objects together and gives pages back, but by itself
 * only where less than 1 MB/s is allocated, which heartbeats of a hundred nodes exceed. With this flag it does so
 * whatever is allocated; the room for young objects shrinks as well.
 */
export const memoryFlags = { reduce: '--optimize-for-size', usual: '--no-optimize-for-size' } as const;

/** What is done about the heap of a process, and what it is like. */
export interface HeapReducer {
  /** Bytes that V8 holds for the heap. */
  committedBytes(): number;
  /** Lets V8 reduce the memory from now on, until `end`. */
  begin(): void;
  end(): void;
  /** The process works again: its heap may grow as usual. */
  work(): void;
  /** Collects the whole heap at once. */
  collect(): void;
}

/** V8 collects three times, 8 s after each other's beginning at the most. */
const reducingChecks = 6;

/**
 * Reduces the memory of a heap that is too large to be collected in one pause, once after work has ended: a full
 * collection of 150 MB that live stops a process for half a second, and shrinking it for a whole one; V8's reducer, for
 * some 100 ms a few times.
 */
export class LargeHeap {
  readonly #reducer: HeapReducer;
  #hasWorked = true;
  #isAtRest = false;
  #checksLeft = 0;
  #committedBefore = 0;

  constructor(reducer: HeapReducer) {
    this.#reducer = reducer;
  }

  /**
   * Called every 10 s. `isQuiet`: whether the process did little since; `isBusy`: whether it did much, also for one
   * that reduces its memory. Whether memory is being reduced.
   */
  check({ isLarge, isQuiet, isBusy }: { isLarge: boolean; isQuiet: boolean; isBusy: boolean }): boolean {
    if (this.#checksLeft > 0) return this.#goOn(isBusy);
    if (!isQuiet) {
      this.#hasWorked = true;
      this.#leaveRest();
      return false;
    }
    if (!isLarge || !this.#hasWorked) return false;
    this.#hasWorked = false;
    this.#isAtRest = true;
    this.#checksLeft = reducingChecks;
    this.#committedBefore = this.#reducer.committedBytes();
    this.#reducer.begin();
    return true;
  }

  #goOn(isBusy: boolean): boolean {
    this.#checksLeft = isBusy ? 0 : this.#checksLeft - 1;
    if (this.#checksLeft > 0) return true;
    this.#reducer.end();
    if (isBusy) {
      this.#hasWorked = true;
      this.#leaveRest();
      return false;
    }
    // V8 had collected the heap three times already, before it was told.
    if (this.#reducer.committedBytes() >= this.#committedBefore) this.#reducer.collect();
    return true;
  }

  #leaveRest(): void {
    if (this.#isAtRest) this.#reducer.work();
    this.#isAtRest = false;
  }
}

/** Of this process; how it is collected at once says the caller. */
export function v8Reducer(parts: Pick<HeapReducer, 'collect' | 'committedBytes'>): HeapReducer {
  return {
    ...parts,
    begin() {
      letHeapGrow(true);
      setFlagsFromString(memoryFlags.reduce);
    },
    end: () => setFlagsFromString(memoryFlags.usual),
    work: () => letHeapGrow(false),
  };
}
