import { expect, it } from 'vitest';
import { budgetObject, priorityClassObject } from './priority.ts';

it('makes priority classes', () => {
  expect(
    priorityClassObject('high', { value: '1000', globalDefault: true, description: 'first', preemptionPolicy: 'Never' }),
  ).toEqual({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'high' },
    value: 1000,
    globalDefault: true,
    description: 'first',
    preemptionPolicy: 'Never',
  });
  expect(priorityClassObject('plain', {})).toMatchObject({ value: 0, globalDefault: false });
  expect(() => priorityClassObject('high', { value: 'much' })).toThrow('--value takes a whole number, not "much"');
});

it('makes budgets with the pods that a selector chooses', () => {
  expect(budgetObject('web', { selector: 'app=web,tier in (a,b),!old', minAvailable: '50%' })).toMatchObject({
    kind: 'PodDisruptionBudget',
    spec: {
      minAvailable: '50%',
      selector: {
        matchLabels: { app: 'web' },
        matchExpressions: [
          { key: 'tier', operator: 'In', values: ['a', 'b'] },
          { key: 'old', operator: 'DoesNotExist' },
        ],
      },
    },
  });
  expect(budgetObject('web', { selector: 'app=web', maxUnavailable: '1' })).toMatchObject({ spec: { maxUnavailable: 1 } });
});

it.each([
  ['no pods', { minAvailable: '1' }, 'say which pods'],
  ['no number', { selector: 'a=b' }, 'either --min-available or --max-unavailable'],
  ['two numbers', { selector: 'a=b', minAvailable: '1', maxUnavailable: '1' }, 'either --min-available or --max-unavailable'],
  ['a comparison', { selector: 'a>1', minAvailable: '1' }, 'cannot compare "a" by size'],
])('refuses a budget that names %s', (_title, flags, words) => {
  expect(() => budgetObject('web', flags)).toThrow(words);
});
