import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { LabelSelector, PodDisruptionBudget } from '../../../generated/types.ts';
import { podDisruptionBudgetV1beta1 } from './v1beta1.ts';

const { toStored, fromStored } = podDisruptionBudgetV1beta1.conversion!;
const key = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match';
const budget = (selector: LabelSelector | undefined): PodDisruptionBudget => ({
  metadata: { name: 'b' },
  spec: { minAvailable: { type: 0, intVal: 1 }, ...(selector && { selector }) },
});

it.each<[string, LabelSelector | undefined, LabelSelector | undefined]>([
  ['no pods', {}, { matchExpressions: [{ key, operator: 'Exists' }] }],
  ['all pods', { matchExpressions: [{ key, operator: 'DoesNotExist' }] }, {}],
  ['some pods', { matchLabels: { app: 'web' } }, { matchLabels: { app: 'web' } }],
  ['nothing', undefined, undefined],
])('a selector of %s means the same in both versions', (_title, older, newest) => {
  expect(toStored(budget(older))).toEqual(budget(newest));
  expect(fromStored(budget(newest))).toEqual(budget(older));
});

it('loses nothing there and back, in either direction', () => {
  const requirement = fc.record({ key: fc.constantFrom('app', 'tier'), operator: fc.constantFrom('Exists', 'DoesNotExist') });
  const selector = fc.record(
    {
      matchLabels: fc.dictionary(fc.constantFrom('app', 'tier'), fc.string({ maxLength: 3 }), {
        minKeys: 1,
        noNullPrototype: true,
      }),
      matchExpressions: fc.array(requirement, { minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: [], noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.option(selector, { nil: undefined }), (any) => {
      expect(fromStored(toStored(budget(any)))).toEqual(budget(any));
      expect(toStored(fromStored(budget(any)))).toEqual(budget(any));
    }),
    { seed: 18 },
  );
});
