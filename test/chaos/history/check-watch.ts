import { say } from './check-history.ts';
import type { Change } from './write-record.ts';

/** One stretch of what a watcher saw without losing its place. */
export interface Stretch {
  /** It was promised everything above this version. */
  readonly from: number;
  /** It has seen everything up to here. */
  readonly to: number;
  readonly seen: readonly Change[];
}

/**
 * Whether an object with these words in its step is selected; the watcher sees comings and goings as ADDED and DELETED.
 */
export type Selects = (step: string) => boolean;

/** Compares a watcher with the log: gaps, duplicates, disorder and changes that never were, each as a sentence. */
export function checkWatch(who: string, { from, to, seen }: Stretch, log: readonly Change[], selects?: Selects): string[] {
  const expected = (selects ? selected(log, selects) : log).filter(({ revision }) => revision > from && revision <= to);
  for (let i = 0; i < Math.max(expected.length, seen.length); i++) {
    const [want, got] = [expected[i], seen[i]];
    if (want && got && say(want) === say(got)) continue;
    return [
      `${who}, resumed from ${from}: change ${i} is "${got ? say(got) : 'missing'}", the log has "${want ? say(want) : 'nothing more'}"`,
    ];
  }
  return [];
}

/** The log as one sees it who selects some objects: what comes into the selection is ADDED, what leaves it DELETED. */
export function selected(log: readonly Change[], selects: Selects): Change[] {
  const inside = new Map<string, string>();
  const visible: Change[] = [];
  for (const change of log) {
    const { name, revision, step, type } = change;
    const before = inside.get(name);
    const after = type !== 'DELETED' && selects(step);
    if (after) visible.push({ type: before === undefined ? 'ADDED' : 'MODIFIED', name, revision, step });
    // What leaves is shown as it was.
    else if (before !== undefined) visible.push({ type: 'DELETED', name, revision, step: before });
    if (after) inside.set(name, step);
    else inside.delete(name);
  }
  return visible;
}

/** What there is after the changes up to a version: name -> version. */
export function stateAt(log: readonly Change[], revision: number): Map<string, number> {
  const state = new Map<string, number>();
  for (const change of log) {
    if (change.revision > revision) break;
    if (change.type === 'DELETED') state.delete(change.name);
    else state.set(change.name, change.revision);
  }
  return state;
}
