import { setFlagsFromString } from 'node:v8';

/** V8's name for how much a heap may grow, in percent of what lived after the last full collection. */
export const growthFlag = '--heap-growing-percent=100';

/**
 * Lets garbage take as much memory as what lives before the heap is collected, and no more: by itself V8 lets a heap of
 * some 100 MB grow up to fourfold while memory is plentiful. For processes whose heap follows the size of the cluster;
 * collecting more often takes some percent of the processor while they are busy. From the next full collection on.
 */
export function boundHeapGrowth(): void {
  usualFlag = growthFlag;
  setFlagsFromString(growthFlag);
}

/** V8 decides. */
let usualFlag = '--heap-growing-percent=0';

/** At rest garbage is made slowly, and V8 collects a third of the heap's worth of it beside what runs. */
export const restFlag = '--heap-growing-percent=30';

/**
 * How often over the room for young objects may become that large, once what has survived in it is as much. At rest it
 * stays as it is: however slowly a process works, what survives adds up, and would take it to 32 MB.
 */
export const youngFlags = { rest: '--semi-space-growth-factor=1', usual: '--semi-space-growth-factor=2' } as const;

/**
 * How much the heap may grow at rest, and otherwise; from the next full collection on, for young objects at once.
 */
export function letHeapGrow(isAtRest: boolean): void {
  setFlagsFromString(isAtRest ? restFlag : usualFlag);
  setFlagsFromString(isAtRest ? youngFlags.rest : youngFlags.usual);
}
