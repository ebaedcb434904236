/** Numbers that look random and are the same each time: the study must be repeatable to the last digit. */
export interface Chance {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** Mean 1: waiting times of what happens at any moment alike. */
  exponential(): number;
  /** Median 1; the larger `sigma`, the heavier the tail. */
  logNormal(sigma: number): number;
  pick<T>(items: readonly T[]): T;
}

export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const exponential = () => -Math.log(1 - next());
  return {
    next,
    exponential,
    // Box and Muller's way to a normal number.
    logNormal: (sigma) => Math.exp(sigma * Math.sqrt(2 * exponential()) * Math.cos(2 * Math.PI * next())),
    pick: (items) => items[Math.floor(next() * items.length)]!,
  };
}
