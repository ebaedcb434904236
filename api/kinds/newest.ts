import { compareTimestamps } from '../meta/time.ts';
import type { ApiObject } from './kind.ts';

/** Of several objects the one that was made last, of those the first by name. */
export function newestOf<T extends ApiObject>(objects: readonly T[]): T | undefined {
  let found: T | undefined;
  for (const each of objects) if (found === undefined || comesBefore(each, found)) found = each;
  return found;
}

function comesBefore({ metadata: a = {} }: ApiObject, { metadata: b = {} }: ApiObject): boolean {
  const order = compareTimestamps(b.creationTimestamp, a.creationTimestamp);
  return order === 0 ? (a.name ?? '') < (b.name ?? '') : order < 0;
}
