import type { FieldChange, Revision } from '../../api/generated/types.ts';
import { toMillis, toRfc3339 } from '../../api/meta/time.ts';
import { formatAge } from '../printers/age.ts';
import { visible } from '../printers/visible.ts';

export interface RowOptions {
  readonly now: Date;
  /** With the time itself and the uid. */
  readonly wide: boolean;
  /** Every change, and values as they came. */
  readonly full: boolean;
}

/** Of a longer value the beginning is shown. */
const shownValue = 48;
const shownChanges = 10;

export function historyHeadings(wide: boolean): string[] {
  return ['REVISION', 'AGE', ...(wide ? ['TIME', 'UID'] : []), 'USER', 'MANAGER', 'VERB', 'CHANGES'];
}

/** One version: its row, with a further one for each change behind the first. */
export function historyRows(revision: Revision, { now, wide, full }: RowOptions): string[][] {
  const { resourceVersion = '', time, uid = '', user = '', manager = '', verb = '' } = revision;
  const age = time ? formatAge(Math.max(0, now.getTime() - toMillis(time))) : '<unknown>';
  const head = [resourceVersion, age, ...(wide ? [time ? toRfc3339(time) : '', uid] : []), user, manager, verb].map(visible);
  const [first = '', ...more] = changeLines(revision, full);
  const blank = head.map(() => '');
  return [[...head, first], ...more.map((line) => [...blank, line])];
}

function changeLines({ type, changes = [], omittedChanges = 0, beforeUnknown }: Revision, full: boolean): string[] {
  const shown = changes.slice(0, full ? undefined : shownChanges).map((change) => changeLine(change, full));
  const left = changes.length - shown.length + omittedChanges;
  if (left > 0) shown.push(`... and ${left} more${changes.length > shown.length ? ' (--full)' : ''}`);
  if (type === 'ADDED') return ['(created)'];
  if (type === 'DELETED') return ['(deleted)', ...shown];
  if (beforeUnknown) return ['(unknown: the version before is no longer kept)'];
  return shown.length > 0 ? shown : ['(none that shows)'];
}

const hiddenTexts: Readonly<Record<string, string>> = { add: 'added', remove: 'removed', replace: 'changed' };

function changeLine({ path = '', operation = '', before, after, hidden, cut }: FieldChange, full: boolean): string {
  if (hidden) return `${visible(path)}: ${hiddenTexts[operation] ?? operation} (not shown)`;
  const value = (json: string | undefined): string => {
    if (json === undefined) return '<none>';
    const isShort = full ? !cut : json.length <= shownValue;
    return visible(isShort ? json : `${full ? json : json.slice(0, shownValue)}...`);
  };
  return `${visible(path)}: ${value(before)} -> ${value(after)}`;
}
