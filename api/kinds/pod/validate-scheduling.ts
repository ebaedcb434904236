import { duplicate, forbidden, invalidValue, required } from '../../errors/violations.ts';
import type {
  NodeAffinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  PodSpec,
  TopologySpreadConstraint,
} from '../../generated/types.ts';
import { labelNameError, labelValueError, qualifiedNameError } from '../../meta/names.ts';
import { checkOneOf, checkRange, checkRule, type Violations } from '../checks.ts';
import { validateLabels } from '../metadata.ts';
import { checkLabelSelector } from '../selectors.ts';
import { validateTolerations } from '../taints.ts';

const NODE_OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'];
const WEIGHT_MAX = 100;

/** Everything that says where the pod may run. */
export function checkScheduling(out: Violations, spec: PodSpec): void {
  if (spec.nodeSelector) out.push(...validateLabels('spec.nodeSelector', spec.nodeSelector));
  if (spec.tolerations) out.push(...validateTolerations('spec.tolerations', spec.tolerations));
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  if (nodeAffinity) checkNodeAffinity(out, 'spec.affinity.nodeAffinity', nodeAffinity);
  if (podAffinity) checkPodAffinity(out, 'spec.affinity.podAffinity', podAffinity);
  if (podAntiAffinity) checkPodAffinity(out, 'spec.affinity.podAntiAffinity', podAntiAffinity);
  checkSpreading(out, spec.topologySpreadConstraints);
  checkGates(out, spec);
}

function checkNodeAffinity(out: Violations, at: string, affinity: NodeAffinity): void {
  const need = affinity.requiredDuringSchedulingIgnoredDuringExecution;
  if (need) checkNodeSelector(out, `${at}.requiredDuringSchedulingIgnoredDuringExecution`, need);
  affinity.preferredDuringSchedulingIgnoredDuringExecution?.forEach(({ weight, preference }, i) => {
    const item = `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}]`;
    checkRange(out, item, '.weight', weight ?? 0, 1, WEIGHT_MAX);
    checkNodeTerm(out, `${item}.preference`, preference ?? {});
  });
}

/** Terms of which a node must match one. */
export function checkNodeSelector(out: Violations, at: string, { nodeSelectorTerms = [] }: NodeSelector): void {
  const field = `${at}.nodeSelectorTerms`;
  if (nodeSelectorTerms.length === 0) out.push(required(field, 'at least one term'));
  nodeSelectorTerms.forEach((term, i) => {
    checkNodeTerm(out, `${field}[${i}]`, term);
  });
}

function checkNodeTerm(out: Violations, at: string, term: NodeSelectorTerm): void {
  term.matchExpressions?.forEach((requirement, i) => {
    const item = `${at}.matchExpressions[${i}]`;
    checkRule(out, item, '.key', requirement.key ?? '', qualifiedNameError(requirement.key ?? ''));
    checkNodeOperator(out, item, requirement);
  });
  term.matchFields?.forEach(({ key = '', operator = '', values = [] }, i) => {
    const item = `${at}.matchFields[${i}]`;
    checkOneOf(out, item, '.key', key || ' ', ['metadata.name']);
    checkOneOf(out, item, '.operator', operator || ' ', ['In', 'NotIn']);
    if (values.length !== 1) out.push(required(`${item}.values`, 'exactly one value'));
  });
}

function checkNodeOperator(out: Violations, at: string, { operator = '', values = [] }: NodeSelectorRequirement): void {
  if (operator === '') out.push(required(`${at}.operator`));
  checkOneOf(out, at, '.operator', operator, NODE_OPERATORS);
  const field = `${at}.values`;
  if ((operator === 'In' || operator === 'NotIn') && values.length === 0)
    out.push(required(field, `operator ${operator} needs at least one`));
  if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0) {
    out.push(invalidValue(field, values.join(), `must be empty with operator ${operator}`));
  }
  if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1) out.push(required(field, `operator ${operator} needs exactly one`));
    else if (!/^-?\d+$/.test(values[0]!)) out.push(invalidValue(`${field}[0]`, values[0], 'must be an integer'));
  } else {
    values.forEach((value, i) => {
      checkRule(out, field, `[${i}]`, value, labelValueError(value));
    });
  }
}

function checkPodAffinity(out: Violations, at: string, affinity: PodAffinity): void {
  affinity.requiredDuringSchedulingIgnoredDuringExecution?.forEach((term, i) => {
    checkPodTerm(out, `${at}.requiredDuringSchedulingIgnoredDuringExecution[${i}]`, term);
  });
  affinity.preferredDuringSchedulingIgnoredDuringExecution?.forEach(({ weight, podAffinityTerm }, i) => {
    const item = `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}]`;
    checkRange(out, item, '.weight', weight ?? 0, 1, WEIGHT_MAX);
    checkPodTerm(out, `${item}.podAffinityTerm`, podAffinityTerm ?? {});
  });
}

function checkPodTerm(out: Violations, at: string, term: PodAffinityTerm): void {
  checkTopologyKey(out, at, term.topologyKey);
  checkLabelSelector(out, `${at}.labelSelector`, term.labelSelector);
  checkLabelKeys(out, at, term);
  checkLabelSelector(out, `${at}.namespaceSelector`, term.namespaceSelector);
  term.namespaces?.forEach((namespace, i) => {
    checkRule(out, at, `.namespaces[${i}]`, namespace, labelNameError(namespace));
  });
}

/** Labels of the pod itself that complete its selector. */
function checkLabelKeys(out: Violations, at: string, part: PodAffinityTerm | TopologySpreadConstraint): void {
  const { matchLabelKeys = [] } = part;
  const mismatchLabelKeys = 'mismatchLabelKeys' in part ? (part.mismatchLabelKeys ?? []) : [];
  for (const [name, keys] of Object.entries({ matchLabelKeys, mismatchLabelKeys })) {
    if (keys.length > 0 && !part.labelSelector)
      out.push(forbidden(`${at}.${name}`, 'must not be specified when labelSelector is not set'));
    keys.forEach((key, i) => {
      checkRule(out, at, `.${name}[${i}]`, key, qualifiedNameError(key));
    });
  }
  mismatchLabelKeys.forEach((key, i) => {
    if (matchLabelKeys.includes(key))
      out.push(invalidValue(`${at}.mismatchLabelKeys[${i}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys'));
  });
}

function checkTopologyKey(out: Violations, at: string, key = ''): void {
  if (key === '') out.push(required(`${at}.topologyKey`));
  else checkRule(out, at, '.topologyKey', key, qualifiedNameError(key));
}

function checkSpreading(out: Violations, constraints: readonly TopologySpreadConstraint[] | undefined): void {
  if (!constraints) return;
  const seen = new Set<string>();
  constraints.forEach((constraint, i) => {
    const at = `spec.topologySpreadConstraints[${i}]`;
    const { topologyKey = '', whenUnsatisfiable = '', minDomains } = constraint;
    checkRange(out, at, '.maxSkew', constraint.maxSkew ?? 0, 1);
    checkTopologyKey(out, at, topologyKey);
    checkOneOf(out, at, '.whenUnsatisfiable', whenUnsatisfiable || ' ', ['DoNotSchedule', 'ScheduleAnyway']);
    checkRange(out, at, '.minDomains', minDomains, 1);
    if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule') {
      out.push(invalidValue(`${at}.minDomains`, minDomains, 'may only be set with whenUnsatisfiable DoNotSchedule'));
    }
    checkOneOf(out, at, '.nodeAffinityPolicy', constraint.nodeAffinityPolicy, ['Honor', 'Ignore']);
    checkOneOf(out, at, '.nodeTaintsPolicy', constraint.nodeTaintsPolicy, ['Honor', 'Ignore']);
    checkLabelSelector(out, `${at}.labelSelector`, constraint.labelSelector);
    checkLabelKeys(out, at, constraint);
    const pair = `${topologyKey}, ${whenUnsatisfiable}`;
    if (seen.has(pair)) out.push(duplicate(at, pair));
    seen.add(pair);
  });
}

function checkGates(out: Violations, { schedulingGates, nodeName }: PodSpec): void {
  if (!schedulingGates) return;
  const seen = new Set<string>();
  schedulingGates.forEach(({ name = '' }, i) => {
    checkRule(out, 'spec.schedulingGates', `[${i}].name`, name, qualifiedNameError(name));
    if (seen.has(name)) out.push(duplicate(`spec.schedulingGates[${i}].name`, name));
    seen.add(name);
  });
  if (nodeName && schedulingGates.length > 0)
    out.push(invalidValue('spec.nodeName', nodeName, 'must be empty while there are schedulingGates'));
}
