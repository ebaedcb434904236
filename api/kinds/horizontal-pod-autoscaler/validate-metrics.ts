import { forbidden, invalidValue, notSupported, required } from '../../errors/violations.ts';
import type { MetricIdentifier, MetricSpec, MetricTarget, Quantity } from '../../generated/types.ts';
import { pathNameError } from '../../meta/names.ts';
import { compareQuantity, isQuantity } from '../../meta/quantity.ts';
import { checkOneOf, checkRange, checkRule, setMembers, type Violations } from '../checks.ts';
import { checkLabelSelector } from '../selectors.ts';
import { checkReference } from './reference.ts';

/** The field that each type of metric has. */
const fieldOf: Readonly<Record<string, keyof MetricSpec>> = {
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
  External: 'external',
};
const TARGETS = ['Utilization', 'Value', 'AverageValue'];

/** A metric has the one field that its type names, and a target that the type knows. */
export function checkMetric(out: Violations, at: string, metric: MetricSpec): void {
  const { type = '' } = metric;
  const wanted = Object.hasOwn(fieldOf, type) ? fieldOf[type] : undefined;
  if (!wanted) {
    out.push(type === '' ? required(`${at}.type`) : notSupported(`${at}.type`, type, Object.keys(fieldOf)));
    return;
  }
  if (!metric[wanted]) out.push(required(`${at}.${wanted}`, `the type is ${type}`));
  for (const name of setMembers(metric))
    if (name !== 'type' && name !== wanted) out.push(forbidden(`${at}.${name}`, `may not be set when the type is ${type}`));
  checkSource(out, at, metric);
}

function checkSource(
  out: Violations,
  at: string,
  { type, object, pods, resource, containerResource, external }: MetricSpec,
): void {
  if (type === 'Object' && object) {
    checkReference(out, `${at}.object.describedObject`, object.describedObject ?? {});
    checkIdentifier(out, `${at}.object.metric`, object.metric);
    checkTarget(out, `${at}.object.target`, object.target, ['value', 'averageValue']);
  }
  if (type === 'Pods' && pods) {
    checkIdentifier(out, `${at}.pods.metric`, pods.metric);
    checkTarget(out, `${at}.pods.target`, pods.target, ['averageValue']);
  }
  if (type === 'External' && external) {
    checkIdentifier(out, `${at}.external.metric`, external.metric);
    checkTarget(out, `${at}.external.target`, external.target, ['value', 'averageValue']);
    if (external.target?.value && external.target.averageValue)
      out.push(forbidden(`${at}.external.target.value`, 'value and averageValue cannot both be set'));
  }
  if (type === 'Resource' && resource) checkResource(out, `${at}.resource`, resource);
  if (type === 'ContainerResource' && containerResource) {
    if (!containerResource.container) out.push(required(`${at}.containerResource.container`));
    checkResource(out, `${at}.containerResource`, containerResource);
  }
}

function checkResource(out: Violations, at: string, { name, target }: { name?: string; target?: MetricTarget }): void {
  if (!name) out.push(required(`${at}.name`));
  checkTarget(out, `${at}.target`, target, ['averageUtilization', 'averageValue']);
  if (target?.averageUtilization !== undefined && target.averageValue)
    out.push(forbidden(`${at}.target.averageValue`, 'averageUtilization and averageValue cannot both be set'));
}

function checkIdentifier(out: Violations, at: string, { name = '', selector }: MetricIdentifier = {}): void {
  if (name === '') out.push(required(`${at}.name`));
  else checkRule(out, at, '.name', name, pathNameError(name));
  checkLabelSelector(out, `${at}.selector`, selector);
}

/** `wanted` are the fields of which one says what the value should be. */
function checkTarget(out: Violations, at: string, target: MetricTarget = {}, wanted: readonly (keyof MetricTarget)[]): void {
  if (!target.type) out.push(required(`${at}.type`));
  checkOneOf(out, at, '.type', target.type, TARGETS);
  if (!wanted.some((name) => target[name] !== undefined)) out.push(required(`${at}.${wanted.at(-1)}`, wanted.join(' or ')));
  for (const name of ['value', 'averageValue'] as const) checkPositive(out, `${at}.${name}`, target[name]);
  checkRange(out, at, '.averageUtilization', target.averageUtilization, 1);
}

function checkPositive(out: Violations, field: string, amount: Quantity | undefined): void {
  if (!amount) return;
  const { string: text = '0' } = amount;
  if (!isQuantity(text)) out.push(invalidValue(field, text, 'must be a quantity such as "100m", "1.5" or "2Gi"'));
  else if (compareQuantity(text, '0') <= 0) out.push(invalidValue(field, text, 'must be more than 0'));
}
