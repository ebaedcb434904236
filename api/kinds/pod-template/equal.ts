import type { PodTemplateSpec } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { meaningOf } from './meaning.ts';

/**
 * Whether two templates mean the same: whether pods of the one may stay when the other takes its place. Absent values
 * count as their defaults, quantities as their amounts; the label of the hash does not count. Pure; for controllers,
 * on each look at an object.
 */
export function templatesEqual(a: PodTemplateSpec = {}, b: PodTemplateSpec = {}): boolean {
  return equalValues(a, b) || equalValues(meaningOf(a), meaningOf(b));
}
