import { describe, expect, it } from 'vitest';
import type { NamespaceCondition } from '../../api/generated/types.ts';
import { computeConditions as compute, isEmpty, type Remains } from './decide.ts';

const now = { seconds: 100 };
const remains = (plural: string, count: number, finalizers: Record<string, number> = {}, failure?: string): Remains => ({
  plural,
  count,
  finalizers: new Map(Object.entries(finalizers)),
  failure,
});
const all = (...remains: Remains[]) => ({ remains, undiscovered: [] });
const computeConditions = (remains: Remains[], ...rest: [NamespaceCondition[] | undefined, { seconds: number }]) =>
  compute(all(...remains), ...rest);
const inShort = (conditions: readonly NamespaceCondition[] | undefined) =>
  conditions?.map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`);

describe('a namespace that is being deleted', () => {
  it('is empty when nothing is there and nothing failed', () => {
    expect(isEmpty(all(remains('pods', 0), remains('secrets', 0)))).toBe(true);
    expect(isEmpty(all(remains('pods', 0), remains('secrets', 1)))).toBe(false);
    expect(isEmpty(all(remains('pods', 0, {}, 'denied')))).toBe(false);
  });

  it('waits for servers that did not tell what they serve, and says which', () => {
    const found = { remains: [remains('pods', 0)], undiscovered: ['a.example.com/v1: no answer', 'b.example.com/v1: gone'] };
    expect(isEmpty(found)).toBe(false);
    expect(inShort(compute(found, undefined, now))?.[0]).toBe(
      'NamespaceDeletionDiscoveryFailure=True DiscoveryFailed: a.example.com/v1: no answer; b.example.com/v1: gone',
    );
  });

  it('has nothing said of it when it is empty at once', () => {
    expect(computeConditions([remains('pods', 0)], undefined, now)).toBeUndefined();
  });

  it('says what is left, what waits for whom, and what could not be deleted', () => {
    const found = [
      remains('pods', 3, { 'example.com/b': 1, 'example.com/a': 2 }),
      remains('configmaps', 1, { 'example.com/a': 1 }),
      remains('secrets', 0, {}, 'you may not'),
    ];
    expect(inShort(computeConditions(found, undefined, now))).toEqual([
      'NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: all servers told what they serve',
      'NamespaceDeletionContentFailure=True ContentDeletionFailed: secrets: you may not',
      'NamespaceContentRemaining=True SomeResourcesRemain: still there: pods (3), configmaps (1)',
      'NamespaceFinalizersRemaining=True SomeFinalizersRemain: waited for by so many objects: example.com/a (3), example.com/b (1)',
    ]);
  });

  it('keeps the time of what is as it was, says nothing twice, and leaves the conditions of others to them', () => {
    const foreign: NamespaceCondition = { type: 'example.com/Mine', status: 'True', lastTransitionTime: { seconds: 1 } };
    const first = computeConditions([remains('pods', 2)], [foreign], now)!;
    expect(first.map(({ type }) => type)).not.toContain('example.com/Mine');
    expect(computeConditions([remains('pods', 2)], [foreign, ...first], { seconds: 200 })).toBeUndefined();
    const fewer = computeConditions([remains('pods', 1)], [foreign, ...first], { seconds: 200 })!;
    expect(fewer.map(({ lastTransitionTime }) => lastTransitionTime?.seconds)).toEqual([100, 100, 100, 100]);
    const none = computeConditions([remains('pods', 0)], [foreign, ...fewer], { seconds: 300 })!;
    expect(inShort(none)).toEqual([
      'NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: all servers told what they serve',
      'NamespaceDeletionContentFailure=False ContentDeleted: everything was told to go',
      'NamespaceContentRemaining=False ContentRemoved: nothing is left',
      'NamespaceFinalizersRemaining=False ContentHasNoFinalizers: nothing waits for a finalizer',
    ]);
  });
});
