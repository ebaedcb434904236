import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue } from '../../errors/violations.ts';
import type { PriorityClass } from '../../generated/types.ts';
import { checkOneOf, type Violations } from '../checks.ts';
import { highestUserPriority, systemPrefix, systemPriorityClasses } from './system.ts';

export function validatePriorityClass(priorityClass: PriorityClass): FieldViolation[] {
  const out: Violations = [];
  const { metadata, value = 0, preemptionPolicy } = priorityClass;
  if (metadata?.name?.startsWith(systemPrefix)) checkSystem(out, priorityClass);
  else if (value > highestUserPriority)
    out.push(forbidden('value', `the highest priority that users may define is ${highestUserPriority}`));
  checkOneOf(out, '', 'preemptionPolicy', preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  return out;
}

/** The names of the system are for its own classes, which are as they are. */
function checkSystem(out: Violations, { metadata, value, globalDefault }: PriorityClass): void {
  const own = systemPriorityClasses.find((each) => each.metadata.name === metadata?.name);
  if (!own) out.push(forbidden('metadata.name', `names that begin with "${systemPrefix}" are for the system's own classes`));
  else if (own.value !== value) out.push(forbidden('value', `the value of ${own.metadata.name} is ${own.value}`));
  else if (globalDefault) out.push(forbidden('globalDefault', `${own.metadata.name} cannot be the default of all pods`));
}

/** Pods were given what stood here. */
export function validatePriorityClassUpdate(next: PriorityClass, previous: PriorityClass): FieldViolation[] {
  const out: Violations = [];
  if (next.value !== previous.value) out.push(forbidden('value', `cannot change; it is ${previous.value}`));
  if (next.preemptionPolicy !== previous.preemptionPolicy)
    out.push(invalidValue('preemptionPolicy', next.preemptionPolicy, `cannot change; it is "${previous.preemptionPolicy}"`));
  return out;
}
