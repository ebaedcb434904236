import type { Entry } from './entry.ts';
import type { EventRing } from './event-ring.ts';

export interface PastRange {
  readonly prefix: string;
  readonly revision: number;
  /** Only what stands behind this key. */
  readonly after: string;
}

/**
 * The objects of a range as they were at a revision, made from the present ones and the changes since, without the
 * store; undefined when the ring does not reach back so far. The first change of a key after the revision holds the
 * state before it.
 */
export function pastRange(
  ring: EventRing,
  present: readonly Entry[],
  { prefix, revision, after }: PastRange,
): readonly Entry[] | undefined {
  const first = ring.sequenceAfter(revision);
  if (first === undefined) return undefined;
  const before = new Map<string, Entry | undefined>();
  for (let sequence = first; sequence < ring.endSequence; sequence++) {
    const { entry, previous } = ring.at(sequence)!;
    if (entry.key.startsWith(prefix) && entry.key > after && !before.has(entry.key)) before.set(entry.key, previous);
  }
  if (before.size === 0) return present;
  const past: Entry[] = [];
  for (const entry of present) {
    const old = before.has(entry.key) ? before.get(entry.key) : entry;
    if (old) past.push(old);
    before.delete(entry.key);
  }
  // What is left has been deleted since.
  const gone = [...before.values()].filter((entry) => entry !== undefined);
  return gone.length > 0 ? [...past, ...gone].sort((a, b) => (a.key < b.key ? -1 : 1)) : past;
}
