import { createChance as createSeeded } from '../../bench/study/chance.ts';

/** Chance that can be had again: the seed is printed, and BERTH_SEED sets it. */
export interface Chance {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from 0 up to, not including, `limit`. */
  below(limit: number): number;
  pick<T>(items: readonly T[]): T;
}

export function createChance(title: string): Chance {
  const seed = Number(process.env.BERTH_SEED ?? Date.now() % 1_000_000);
  process.stdout.write(`${title}: BERTH_SEED=${seed}\n`);
  const { next, pick } = createSeeded(seed);
  return { next, below: (limit) => Math.floor(next() * limit), pick };
}
