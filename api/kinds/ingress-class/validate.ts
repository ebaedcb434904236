import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, required, tooLong } from '../../errors/violations.ts';
import type { IngressClass, IngressClassParametersReference } from '../../generated/types.ts';
import { labelNameError, subdomainNameError } from '../../meta/names.ts';
import { checkOneOf, checkRequired, checkRule, type Violations } from '../checks.ts';
import { checkTypedReference } from '../references.ts';

const MOST_BYTES = 250;
const PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

/** Kubernetes' rules. */
export function validateIngressClass({ spec = {} }: IngressClass): FieldViolation[] {
  const out: Violations = [];
  const { controller = '', parameters } = spec;
  checkRequired(out, 'spec', '.controller', controller);
  if (Buffer.byteLength(controller) > MOST_BYTES) out.push(tooLong('spec.controller', MOST_BYTES, 'bytes'));
  if (controller) checkRule(out, 'spec', '.controller', controller, domainPathError(controller));
  if (parameters) checkParameters(out, 'spec.parameters', parameters);
  return out;
}

/** "example.com/controller". */
function domainPathError(text: string): string | undefined {
  const slash = text.indexOf('/');
  if (slash <= 0 || slash === text.length - 1) return 'must be a domain, "/" and a path, as in "example.com/controller"';
  const rule = subdomainNameError(text.slice(0, slash));
  if (rule !== undefined) return `the part before "/" ${rule}`;
  return PATH.test(text.slice(slash + 1)) ? undefined : 'the part after "/" must consist of characters of a URL\'s path';
}

function checkParameters(out: Violations, at: string, parameters: IngressClassParametersReference): void {
  const { scope, namespace } = parameters;
  checkTypedReference(out, at, parameters);
  checkRequired(out, at, '.scope', scope);
  checkOneOf(out, at, '.scope', scope, ['Cluster', 'Namespace']);
  if (scope === 'Namespace' && namespace === undefined) out.push(required(`${at}.namespace`, 'scope is "Namespace"'));
  else if (scope === 'Namespace') checkRule(out, at, '.namespace', namespace, labelNameError(namespace ?? ''));
  if (scope === 'Cluster' && namespace !== undefined)
    out.push(forbidden(`${at}.namespace`, 'may not be set when scope is "Cluster"'));
}

export function validateIngressClassUpdate({ spec: next }: IngressClass, { spec: previous }: IngressClass): FieldViolation[] {
  if (next?.controller === previous?.controller) return [];
  return [invalidValue('spec.controller', next?.controller, `cannot change, it is "${previous?.controller}"`)];
}
