import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue } from '../../errors/violations.ts';
import type { RuntimeClass } from '../../generated/types.ts';
import { labelNameError } from '../../meta/names.ts';
import { checkRequired, checkRule, type Violations } from '../checks.ts';
import { validateLabels } from '../metadata.ts';
import { checkAmounts } from '../pod/validate-resources.ts';
import { validateTolerations } from '../taints.ts';

export function validateRuntimeClass({ handler, overhead, scheduling }: RuntimeClass): FieldViolation[] {
  const out: Violations = [];
  checkRequired(out, '', 'handler', handler);
  if (handler) checkRule(out, '', 'handler', handler, labelNameError(handler));
  checkAmounts(out, 'overhead.podFixed', overhead?.podFixed);
  out.push(...validateLabels('scheduling.nodeSelector', scheduling?.nodeSelector ?? {}));
  out.push(...validateTolerations('scheduling.tolerations', scheduling?.tolerations ?? []));
  return out;
}

/** Pods that run were started with it. */
export function validateRuntimeClassUpdate(next: RuntimeClass, previous: RuntimeClass): FieldViolation[] {
  return next.handler === previous.handler
    ? []
    : [invalidValue('handler', next.handler, `cannot change; it is "${previous.handler}"`)];
}
