import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, forbidden, invalidValue, required } from '../../errors/violations.ts';
import type { ParamRef, ValidatingAdmissionPolicyBinding } from '../../generated/types.ts';
import { labelNameError, subdomainNameError } from '../../meta/names.ts';
import { checkOneOf, checkRequired, checkRule, type Violations } from '../checks.ts';
import { checkMatchResources } from '../match-resources.ts';
import { checkLabelSelector } from '../selectors.ts';

const ACTIONS = ['Deny', 'Warn', 'Audit'];
const NOT_FOUND_ACTIONS = ['Allow', 'Deny'];

/** Kubernetes' rules. */
export function validateValidatingAdmissionPolicyBinding({ spec = {} }: ValidatingAdmissionPolicyBinding): FieldViolation[] {
  const out: Violations = [];
  const { policyName = '', paramRef, matchResources, validationActions = [] } = spec;
  checkRequired(out, 'spec', '.policyName', policyName);
  if (policyName) checkRule(out, 'spec', '.policyName', policyName, subdomainNameError(policyName));
  if (paramRef) checkParamRef(out, paramRef);
  if (matchResources) checkMatchResources(out, 'spec.matchResources', matchResources);
  if (validationActions.length === 0) out.push(required('spec.validationActions', 'at least one'));
  validationActions.forEach((action, i) => {
    const at = `spec.validationActions[${i}]`;
    checkOneOf(out, at, '', action || ' ', ACTIONS);
    if (validationActions.indexOf(action) < i) out.push(duplicate(at, action));
  });
  if (validationActions.includes('Deny') && validationActions.includes('Warn')) {
    const why = 'must not contain both Deny and Warn (repeating the same validation failure information is not allowed)';
    out.push(invalidValue('spec.validationActions', validationActions.join(', '), why));
  }
  return out;
}

function checkParamRef(out: Violations, { name = '', namespace = '', selector, parameterNotFoundAction }: ParamRef): void {
  const at = 'spec.paramRef';
  if (name !== '' && selector) out.push(forbidden(`${at}.name`, 'name and selector are mutually exclusive: set one of them'));
  if (name === '' && !selector) out.push(required(at, 'one of name or selector must be specified'));
  if (name !== '') checkRule(out, at, '.name', name, subdomainNameError(name));
  if (namespace !== '') checkRule(out, at, '.namespace', namespace, labelNameError(namespace));
  checkLabelSelector(out, `${at}.selector`, selector);
  checkRequired(out, at, '.parameterNotFoundAction', parameterNotFoundAction);
  checkOneOf(out, at, '.parameterNotFoundAction', parameterNotFoundAction, NOT_FOUND_ACTIONS);
}
