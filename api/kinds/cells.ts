import type { ObjectMeta, Timestamp } from '../generated/types.ts';
import { toRfc3339 } from '../meta/time.ts';
import type { ApiObject, Column } from './kind.ts';

/** What a cell shows when there is nothing to show. */
export const NONE = '<none>';
export const UNKNOWN = '<unknown>';

/** A time as a `date` cell. */
export function dateCell(time: Timestamp | undefined): string {
  return time ? toRfc3339(time) : UNKNOWN;
}

export function nameOf(object: { metadata?: ObjectMeta }): string {
  return object.metadata?.name ?? '';
}

/** A column of text; of priority 1 only in wide tables. */
export function textColumn<T extends ApiObject>(name: string, cell: Column<T>['cell'], priority: 0 | 1 = 0): Column<T> {
  return { name, type: 'string', priority, cell };
}

/** The first column of every table. */
export const nameColumn: Column<ApiObject> = {
  ...textColumn<ApiObject>('NAME', nameOf),
  description: "The object's name, once in its namespace and kind; never changes.",
};

/** The AGE column of every table. */
export const ageColumn: Column<ApiObject> = {
  name: 'AGE',
  type: 'date',
  priority: 0,
  description: 'When the object was made.',
  cell: (object) => dateCell(object.metadata?.creationTimestamp),
};

/** A time span as kubectl prints it: "45s", "3m10s", "5h", "2d3h", "400d", "2y30d". */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  if (days < 2920) return days % 365 === 0 ? `${years}y` : `${years}y${days % 365}d`;
  return `${years}y`;
}

const MOST_SHOWN = 3;

/** "a,b,c + 2 more...": the first three of a list; "" for an empty one. */
export function firstOf(list: readonly string[]): string {
  const shown = list.slice(0, MOST_SHOWN).join(',');
  return list.length > MOST_SHOWN ? `${shown} + ${list.length - MOST_SHOWN} more...` : shown;
}
