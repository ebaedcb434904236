import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, invalidSize, invalidValue, required, tooLong } from '../../errors/violations.ts';
import type { AuditAnnotation, ValidatingAdmissionPolicy, Validation, Variable } from '../../generated/types.ts';
import { qualifiedNameError } from '../../meta/names.ts';
import { checkMatchConditions } from '../admission-rules.ts';
import { checkOneOf, checkRequired, checkRule, type Violations } from '../checks.ts';
import { checkFailurePolicy, checkMatchResources } from '../match-resources.ts';

const REASONS = ['Unauthorized', 'Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const MOST_RULES = 64;
const MOST_ANNOTATIONS = 20;
const MOST_ANNOTATION_CHARACTERS = 5 * 1024;
/** CEL's identifiers, and the words that are none. */
const IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** Kubernetes' rules; that the expressions compile is checked by the server. */
export function validateValidatingAdmissionPolicy({ spec = {} }: ValidatingAdmissionPolicy): FieldViolation[] {
  const out: Violations = [];
  const { paramKind, matchConstraints, validations = [], auditAnnotations = [], matchConditions = [], variables = [] } = spec;
  if (paramKind) {
    checkRequired(out, 'spec', '.paramKind.apiVersion', paramKind.apiVersion);
    checkRequired(out, 'spec', '.paramKind.kind', paramKind.kind);
  }
  if (!matchConstraints) out.push(required('spec.matchConstraints'));
  else {
    checkMatchResources(out, 'spec.matchConstraints', matchConstraints);
    if ((matchConstraints.resourceRules ?? []).length === 0)
      out.push(required('spec.matchConstraints.resourceRules', 'at least one'));
  }
  checkFailurePolicy(out, 'spec', spec.failurePolicy);
  if (validations.length + auditAnnotations.length === 0)
    out.push(required('spec.validations', 'validations or auditAnnotations must be non-empty; at least one'));
  for (const [field, list] of Object.entries({ validations, variables }))
    if (list.length > MOST_RULES) out.push(invalidSize(`spec.${field}`, MOST_RULES, 'expressions'));
  validations.forEach((each, i) => {
    checkValidation(out, `spec.validations[${i}]`, each);
  });
  checkAnnotations(out, auditAnnotations);
  checkMatchConditions(out, 'spec.matchConditions', matchConditions);
  checkVariables(out, variables);
  return out;
}

function checkValidation(out: Violations, at: string, { expression = '', message = '', reason, messageExpression }: Validation) {
  if (expression.trim() === '') out.push(required(`${at}.expression`));
  if (messageExpression !== undefined && messageExpression !== '' && messageExpression.trim() === '')
    out.push(invalidValue(`${at}.messageExpression`, messageExpression, 'must be non-empty if specified'));
  if (message !== '' && message.trim() === '')
    out.push(invalidValue(`${at}.message`, message, 'message must be non-empty if specified'));
  if (/[\r\n]/.test(message)) out.push(invalidValue(`${at}.message`, message, 'message must not contain line breaks'));
  if (/[\r\n]/.test(expression.trim()) && message.trim() === '')
    out.push(required(`${at}.message`, 'message must be specified if expression contains line breaks'));
  checkOneOf(out, at, '.reason', reason, REASONS);
}

function checkAnnotations(out: Violations, annotations: readonly AuditAnnotation[]): void {
  if (annotations.length > MOST_ANNOTATIONS) out.push(invalidSize('spec.auditAnnotations', MOST_ANNOTATIONS, 'annotations'));
  const keys = new Set<string>();
  for (const [i, { key = '', valueExpression = '' }] of annotations.entries()) {
    const at = `spec.auditAnnotations[${i}]`;
    if (key === '') out.push(required(`${at}.key`));
    else if (key.includes('/'))
      out.push(invalidValue(`${at}.key`, key, 'must have no "/": the name of the policy is put before it'));
    else checkRule(out, at, '.key', key, qualifiedNameError(key));
    if (keys.has(key)) out.push(duplicate(`${at}.key`, key));
    keys.add(key);
    if (valueExpression.trim() === '') out.push(required(`${at}.valueExpression`));
    if (valueExpression.length > MOST_ANNOTATION_CHARACTERS)
      out.push(tooLong(`${at}.valueExpression`, MOST_ANNOTATION_CHARACTERS, 'characters'));
  }
}

function checkVariables(out: Violations, variables: readonly Variable[]): void {
  const names = new Set<string>();
  for (const [i, { name = '', expression = '' }] of variables.entries()) {
    const at = `spec.variables[${i}]`;
    if (name === '') out.push(required(`${at}.name`));
    else if (!IDENTIFIER.test(name) || RESERVED.has(name))
      out.push(invalidValue(`${at}.name`, name, 'name is not a valid CEL identifier'));
    if (names.has(name)) out.push(duplicate(`${at}.name`, name));
    names.add(name);
    if (expression.trim() === '') out.push(required(`${at}.expression`));
  }
}
