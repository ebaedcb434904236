import type { NamespaceCondition, Timestamp } from '../../api/generated/types.ts';
import { setConditions } from '../../api/meta/conditions.ts';
import { equalValues } from '../../api/meta/equal.ts';

/** What of one kind was found in a namespace after everything there was told to go. */
export interface Remains {
  /** e.g. "pods". */
  readonly plural: string;
  readonly count: number;
  /** How many of the objects that were looked at wait for each finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Why some of them could not even be told to go. */
  readonly failure?: string | undefined;
}

/** What was found in a namespace. */
export interface Found {
  readonly remains: readonly Remains[];
  /** The versions of groups whose servers did not tell what they serve, and why. */
  readonly undiscovered: readonly string[];
}

/** Reasons, in Kubernetes' words, by what they say; the first is for True. */
const reasons = {
  NamespaceDeletionDiscoveryFailure: ['DiscoveryFailed', 'ResourcesDiscovered'],
  NamespaceDeletionContentFailure: ['ContentDeletionFailed', 'ContentDeleted'],
  NamespaceContentRemaining: ['SomeResourcesRemain', 'ContentRemoved'],
  NamespaceFinalizersRemaining: ['SomeFinalizersRemain', 'ContentHasNoFinalizers'],
} as const;

type ConditionType = keyof typeof reasons;

/** Where a server did not tell what it serves, there may be more. */
export function isEmpty({ remains, undiscovered }: Found): boolean {
  return undiscovered.length === 0 && remains.every(({ count, failure }) => count === 0 && failure === undefined);
}

/**
 * The conditions that say what delays the deletion of a namespace; undefined when its status has them already. Of a
 * namespace that is empty at once nothing is reported: the namespace is gone before a reader could see it.
 */
export function computeConditions(
  found: Found,
  present: readonly NamespaceCondition[] | undefined,
  now: Timestamp,
): NamespaceCondition[] | undefined {
  const said = present?.some(({ type }) => Object.hasOwn(reasons, type ?? '')) === true;
  if (isEmpty(found) && !said) return undefined;
  const { remains, undiscovered } = found;
  const next = [
    condition('NamespaceDeletionDiscoveryFailure', undiscovered.join('; '), 'all servers told what they serve'),
    condition('NamespaceDeletionContentFailure', failuresOf(remains), 'everything was told to go'),
    condition('NamespaceContentRemaining', contentOf(remains), 'nothing is left'),
    condition('NamespaceFinalizersRemaining', finalizersOf(remains), 'nothing waits for a finalizer'),
  ];
  const merged = setConditions(present, next, now);
  return equalValues(merged, present) ? undefined : merged.filter(({ type }) => isOurs(type));
}

const isOurs = (type: string | undefined): boolean => Object.hasOwn(reasons, type ?? '');

function condition(type: ConditionType, problem: string, otherwise: string): NamespaceCondition {
  const [yes, no] = reasons[type];
  return problem === ''
    ? { type, status: 'False', reason: no, message: otherwise }
    : { type, status: 'True', reason: yes, message: problem };
}

function failuresOf(remains: readonly Remains[]): string {
  return remains.flatMap(({ plural, failure }) => (failure === undefined ? [] : [`${plural}: ${failure}`])).join('; ');
}

function contentOf(remains: readonly Remains[]): string {
  const left = remains.filter(({ count }) => count > 0).map(({ plural, count }) => `${plural} (${count})`);
  return left.length === 0 ? '' : `still there: ${left.join(', ')}`;
}

function finalizersOf(remains: readonly Remains[]): string {
  const total = new Map<string, number>();
  for (const { finalizers } of remains) for (const [name, count] of finalizers) total.set(name, (total.get(name) ?? 0) + count);
  if (total.size === 0) return '';
  const each = [...total].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => `${name} (${count})`);
  return `waited for by so many objects: ${each.join(', ')}`;
}
