import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, required } from '../../errors/violations.ts';
import type {
  FlowcontrolSubject,
  FlowSchema,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
} from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { labelNameError, subdomainNameError } from '../../meta/names.ts';
import { checkOneOf, checkRange, checkRequired, checkRule, type Violations } from '../checks.ts';
import { fixedFlowSchema } from './mandatory.ts';

const ALL = '*';
const EXEMPT = 'exempt';
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];
/** The kinds of subjects and the field that each has. */
const SUBJECTS = { User: 'user', Group: 'group', ServiceAccount: 'serviceAccount' } as const;

/** Kubernetes' rules. */
export function validateFlowSchema(schema: FlowSchema): FieldViolation[] {
  const { metadata, spec = {} } = schema;
  const out: Violations = [];
  const { matchingPrecedence = 0, priorityLevelConfiguration: { name = '' } = {}, distinguisherMethod, rules = [] } = spec;
  checkRange(out, 'spec', '.matchingPrecedence', matchingPrecedence, 1, 10_000);
  if (matchingPrecedence === 1 && metadata?.name !== EXEMPT)
    out.push(invalidValue('spec.matchingPrecedence', 1, `only the schema "${EXEMPT}" may have it`));
  checkRequired(out, 'spec', '.priorityLevelConfiguration.name', name);
  if (name) checkRule(out, 'spec', '.priorityLevelConfiguration.name', name, subdomainNameError(name));
  if (distinguisherMethod) {
    checkRequired(out, 'spec', '.distinguisherMethod.type', distinguisherMethod.type);
    checkOneOf(out, 'spec', '.distinguisherMethod.type', distinguisherMethod.type, ['ByNamespace', 'ByUser']);
  }
  rules.forEach((each, i) => {
    checkRules(out, `spec.rules[${i}]`, each);
  });
  const fixed = fixedFlowSchema(schema);
  if (fixed && !equalValues(spec, fixed))
    out.push(invalidValue('spec', spec, `the spec of "${metadata?.name}" is fixed: it is the server's own`));
  return out;
}

function checkRules(out: Violations, at: string, rules: PolicyRulesWithSubjects): void {
  const { subjects = [], resourceRules = [], nonResourceRules = [] } = rules;
  if (subjects.length === 0) out.push(required(`${at}.subjects`, 'at least one'));
  subjects.forEach((each, i) => {
    checkSubject(out, `${at}.subjects[${i}]`, each);
  });
  if (resourceRules.length + nonResourceRules.length === 0)
    out.push(required(at, 'at least one of resourceRules and nonResourceRules'));
  resourceRules.forEach((each, i) => {
    checkResourceRule(out, `${at}.resourceRules[${i}]`, each);
  });
  nonResourceRules.forEach((each, i) => {
    checkNonResourceRule(out, `${at}.nonResourceRules[${i}]`, each);
  });
}

function checkSubject(out: Violations, at: string, subject: FlowcontrolSubject): void {
  const { kind = '' } = subject;
  checkRequired(out, at, '.kind', kind);
  checkOneOf(out, at, '.kind', kind, Object.keys(SUBJECTS));
  if (!(kind in SUBJECTS)) return;
  for (const [name, field] of Object.entries(SUBJECTS)) {
    if (name !== kind && subject[field] !== undefined)
      out.push(forbidden(`${at}.${field}`, `may not be set when kind is "${kind}"`));
    if (name !== kind) continue;
    if (subject[field] === undefined) out.push(required(`${at}.${field}`, `kind is "${kind}"`));
    else checkRequired(out, `${at}.${field}`, '.name', subject[field].name);
  }
  if (kind === 'ServiceAccount' && subject.serviceAccount) {
    const { name = '', namespace = '' } = subject.serviceAccount;
    if (name !== '' && name !== ALL) checkRule(out, at, '.serviceAccount.name', name, subdomainNameError(name));
    checkRequired(out, at, '.serviceAccount.namespace', namespace);
    if (namespace) checkRule(out, at, '.serviceAccount.namespace', namespace, labelNameError(namespace));
  }
}

function checkResourceRule(out: Violations, at: string, rule: ResourcePolicyRule): void {
  const { verbs = [], apiGroups = [], resources = [], namespaces = [], clusterScope = false } = rule;
  checkVerbs(out, at, verbs);
  checkAlone(out, `${at}.apiGroups`, apiGroups);
  checkAlone(out, `${at}.resources`, resources);
  if (namespaces.length > 0 || !clusterScope) checkAlone(out, `${at}.namespaces`, namespaces);
  namespaces.forEach((each, i) => {
    if (each !== ALL) checkRule(out, at, `.namespaces[${i}]`, each, labelNameError(each));
  });
}

function checkNonResourceRule(out: Violations, at: string, { verbs = [], nonResourceURLs = [] }: NonResourcePolicyRule): void {
  checkVerbs(out, at, verbs);
  checkAlone(out, `${at}.nonResourceURLs`, nonResourceURLs);
  nonResourceURLs.forEach((each, i) => {
    if (each !== ALL) checkRule(out, at, `.nonResourceURLs[${i}]`, each, urlError(each));
  });
}

function checkVerbs(out: Violations, at: string, verbs: readonly string[]): void {
  checkAlone(out, `${at}.verbs`, verbs);
  verbs.forEach((verb, i) => {
    checkOneOf(out, at, `.verbs[${i}]`, verb || ' ', [...VERBS, ALL]);
  });
}

/** A list has something, and "*" stands alone. */
function checkAlone(out: Violations, at: string, list: readonly string[]): void {
  if (list.length === 0) out.push(required(at, 'at least one, or "*" for all'));
  else if (list.length > 1 && list.includes(ALL)) out.push(invalidValue(at, list.join(), '"*" must be the only one'));
}

function urlError(path: string): string | undefined {
  if (!path.startsWith('/')) return 'must begin with "/"';
  if (/ |\/\//.test(path)) return 'must not contain spaces or "//"';
  return path.replace(/\/\*$/, '').includes(ALL) ? '"*" may only stand at the end, as in "/healthz/*"' : undefined;
}
