import type { PodDisruptionBudget } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { startsWith } from '../first-status.ts';
import { defineKind } from '../kind.ts';
import { podDisruptionBudgetColumns } from './columns.ts';
import { podDisruptionBudgetFields } from './fields.ts';
import { validatePodDisruptionBudget, validatePodDisruptionBudgetStatus } from './validate.ts';

export const podDisruptionBudget = defineKind<PodDisruptionBudget>()({
  kind: 'PodDisruptionBudget',
  apiVersion: 'policy/v1',
  plural: 'poddisruptionbudgets',
  singular: 'poddisruptionbudget',
  shortNames: ['pdb'],
  namespaced: true,
  message: 'berth.policy.v1.PodDisruptionBudget',
  service: 'berth.policy.v1.PodDisruptionBudgets',
  durability: 'synced',
  hasStatus: true,
  conditionsNeed: ['type', 'status', 'once'],
  updateNeedsVersion: true,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validatePodDisruptionBudget,
  validateUpdate: () => [],
  validateStatusUpdate: validatePodDisruptionBudgetStatus,
  warnings: fieldWarnings('berth.policy.v1.PodDisruptionBudget', podDisruptionBudgetFields),
  fields: podDisruptionBudgetFields,
  selectableFields: {},
  columns: podDisruptionBudgetColumns,
  lifecycle: {
    prepareForCreate: startsWith<PodDisruptionBudget>({
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 0,
      expectedPods: 0,
    }),
  },
});
