import { expect, it } from 'vitest';
import { validateApproval } from './approval.ts';
import { customResourceDefinition } from './kind.ts';

const definition = (group: string, approval?: string) => ({
  metadata: { name: `toys.${group}`, annotations: { ...(approval && { 'api-approved.kubernetes.io': approval }) } },
  spec: { group, names: { plural: 'toys' } },
});

it.each<[string, string | undefined, boolean]>([
  ['toys.k8s.io', undefined, false],
  ['k8s.io', undefined, false],
  ['batch.kubernetes.io', 'soon', false],
  ['toys.k8s.io', 'https://github.com/kubernetes/enhancements/pull/1111', true],
  ['toys.k8s.io', 'unapproved, an experiment', true],
  ['toys.example.com', undefined, true],
  ['notk8s.io', undefined, true],
])('a definition of the group %s with the approval %j: %s', (group, approval, isValid) =>
  expect(validateApproval(definition(group, approval)).length === 0).toBe(isValid),
);

it('a definition that was stored without it is updated without it, but not with a wrong one', () => {
  const { validateUpdate } = customResourceDefinition;
  const stored = definition('toys.k8s.io');
  expect(validateUpdate(stored, stored)).toEqual([]);
  expect(validateUpdate(definition('toys.k8s.io', 'soon'), stored)).toHaveLength(1);
});
