import { badRequest } from '../../api/errors/index.ts';
import { type LabelRequirement, parseLabelSelector } from '../../api/meta/labels.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';

// What `create priorityclass` and `create poddisruptionbudget` make, in JSON form.

export interface PriorityClassFlags {
  readonly value?: string;
  readonly globalDefault?: boolean;
  readonly description?: string;
  readonly preemptionPolicy?: string;
}

export function priorityClassObject(name: string, flags: PriorityClassFlags): JsonObject {
  const { value = '0', globalDefault = false, description, preemptionPolicy } = flags;
  if (!/^-?\d+$/.test(value)) throw badRequest(`--value takes a whole number, not "${value}"`);
  return {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name },
    value: Number(value),
    globalDefault,
    ...(description !== undefined && { description }),
    ...(preemptionPolicy !== undefined && { preemptionPolicy }),
  };
}

export interface BudgetFlags {
  readonly selector?: string;
  readonly minAvailable?: string;
  readonly maxUnavailable?: string;
}

export function budgetObject(name: string, { selector, minAvailable, maxUnavailable }: BudgetFlags): JsonObject {
  if (!selector) throw badRequest('say which pods: --selector KEY=VALUE');
  if ((minAvailable === undefined) === (maxUnavailable === undefined))
    throw badRequest('say how many pods: either --min-available or --max-unavailable, a number or a percentage');
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: {
      ...(minAvailable !== undefined && { minAvailable: numberOrText(minAvailable) }),
      ...(maxUnavailable !== undefined && { maxUnavailable: numberOrText(maxUnavailable) }),
      selector: selectorObject(parseLabelSelector(selector).requirements),
    },
  };
}

const numberOrText = (value: string): number | string => (/^\d+$/.test(value) ? Number(value) : value);

const OPERATORS = { in: 'In', notin: 'NotIn', exists: 'Exists', '!exists': 'DoesNotExist' } as const;

function selectorObject(requirements: readonly LabelRequirement[]): JsonObject {
  const matchLabels: JsonObject = {};
  const matchExpressions: JsonObject[] = [];
  for (const { key, operator, values } of requirements) {
    if (operator === 'gt' || operator === 'lt') throw badRequest(`--selector: budgets cannot compare "${key}" by size`);
    if (operator === 'in' && values.length === 1) matchLabels[key] = values[0]!;
    else matchExpressions.push({ key, operator: OPERATORS[operator], ...(values.length > 0 && { values: [...values] }) });
  }
  return {
    ...(Object.keys(matchLabels).length > 0 && { matchLabels }),
    ...(matchExpressions.length > 0 && { matchExpressions }),
  };
}
