import { duplicate, invalidSize, invalidValue, notSupported, required, tooLong } from '../../errors/violations.ts';
import type {
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyOnPodConditionsPattern,
  PodFailurePolicyRule,
  SuccessPolicyRule,
} from '../../generated/types.ts';
import { qualifiedNameError } from '../../meta/names.ts';
import { checkRange, checkRule, type Violations } from '../checks.ts';
import { parseIndexes } from './indexes.ts';

const RULES_MAX = 20;
const EXIT_CODES_MAX = 255;
const PATTERNS_MAX = 20;
const INDEXES_MAX_CHARACTERS = 64 * 1024;

const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const OPERATORS = ['In', 'NotIn'];
const STATUSES = ['False', 'True', 'Unknown'];

/** What the failure of a pod means. */
export function checkPodFailurePolicy(out: Violations, at: string, spec: JobSpec): void {
  if (!spec.podFailurePolicy) return;
  const { rules = [] } = spec.podFailurePolicy;
  if (rules.length > RULES_MAX) out.push(invalidSize(`${at}.rules`, RULES_MAX, 'rules'));
  rules.forEach((rule, i) => {
    checkFailureRule(out, `${at}.rules[${i}]`, rule, spec);
  });
}

function checkFailureRule(out: Violations, at: string, rule: PodFailurePolicyRule, spec: JobSpec): void {
  const { action = '', onExitCodes, onPodConditions = [] } = rule;
  checkWord(out, `${at}.action`, action, ACTIONS);
  if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined)
    out.push(invalidValue(`${at}.action`, action, 'needs backoffLimitPerIndex'));
  if (onExitCodes) checkExitCodes(out, `${at}.onExitCodes`, onExitCodes, spec);
  if (onPodConditions.length > 0) checkPatterns(out, `${at}.onPodConditions`, onPodConditions);
  if (onExitCodes && onPodConditions.length > 0)
    out.push(invalidValue(at, 'onExitCodes, onPodConditions', 'must have only one of onExitCodes and onPodConditions'));
  if (!onExitCodes && onPodConditions.length === 0) out.push(required(at, 'onExitCodes or onPodConditions'));
}

/** A word that must be there and be known. */
function checkWord(out: Violations, field: string, value: string, known: readonly string[]): void {
  if (value === '') out.push(required(field, `one of ${known.join(', ')}`));
  else if (!known.includes(value)) out.push(notSupported(field, value, known));
}

function checkExitCodes(
  out: Violations,
  at: string,
  { operator = '', containerName, values = [] }: PodFailurePolicyOnExitCodesRequirement,
  { template }: JobSpec,
): void {
  checkWord(out, `${at}.operator`, operator, OPERATORS);
  const containers = [...(template?.spec?.containers ?? []), ...(template?.spec?.initContainers ?? [])];
  if (containerName !== undefined && !containers.some(({ name }) => name === containerName))
    out.push(invalidValue(`${at}.containerName`, containerName, 'must be a container or init container of the template'));
  if (values.length === 0) out.push(required(`${at}.values`, 'at least one exit code'));
  if (values.length > EXIT_CODES_MAX) out.push(invalidSize(`${at}.values`, EXIT_CODES_MAX, 'exit codes'));
  const seen = new Set<number>();
  values.forEach((value, i) => {
    if (operator === 'In' && value === 0) out.push(invalidValue(`${at}.values[${i}]`, value, 'must not be 0 with operator In'));
    if (seen.has(value)) out.push(duplicate(`${at}.values[${i}]`, value));
    seen.add(value);
  });
  if (values.some((value, i) => i > 0 && values[i - 1]! > value))
    out.push(invalidValue(`${at}.values`, values.join(), 'must be in ascending order'));
}

function checkPatterns(out: Violations, at: string, patterns: readonly PodFailurePolicyOnPodConditionsPattern[]): void {
  if (patterns.length > PATTERNS_MAX) out.push(invalidSize(at, PATTERNS_MAX, 'patterns'));
  patterns.forEach(({ type = '', status = '' }, i) => {
    checkRule(out, at, `[${i}].type`, type, qualifiedNameError(type));
    checkWord(out, `${at}[${i}].status`, status, STATUSES);
  });
}

/** When a job with indexes has succeeded before all of them have. */
export function checkSuccessPolicy(out: Violations, at: string, spec: JobSpec): void {
  if (!spec.successPolicy) return;
  const { rules = [] } = spec.successPolicy;
  if (rules.length === 0) out.push(required(`${at}.rules`, 'at least one rule'));
  if (rules.length > RULES_MAX) out.push(invalidSize(`${at}.rules`, RULES_MAX, 'rules'));
  rules.forEach((rule, i) => {
    checkSuccessRule(out, `${at}.rules[${i}]`, rule, spec.completions ?? 0);
  });
}

function checkSuccessRule(out: Violations, at: string, rule: SuccessPolicyRule, completions: number): void {
  const { succeededIndexes: text, succeededCount } = rule;
  if (text === undefined && succeededCount === undefined) out.push(required(at, 'succeededIndexes or succeededCount'));
  const bounds: [most: number, what: string][] = [[completions, 'completions']];
  if (text !== undefined) {
    if (text.length > INDEXES_MAX_CHARACTERS) out.push(tooLong(`${at}.succeededIndexes`, INDEXES_MAX_CHARACTERS, 'characters'));
    const indexes = parseIndexes(text, completions);
    if (typeof indexes === 'string') out.push(invalidValue(`${at}.succeededIndexes`, text, indexes));
    else bounds.push([indexes.count, 'the number of succeededIndexes']);
  }
  checkRange(out, at, '.succeededCount', succeededCount, 0);
  for (const [most, what] of bounds)
    if ((succeededCount ?? 0) > most)
      out.push(invalidValue(`${at}.succeededCount`, succeededCount, `must be at most ${most}, which is ${what}`));
}
