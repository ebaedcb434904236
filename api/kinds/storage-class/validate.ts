import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, forbidden, invalidValue, required, tooLong } from '../../errors/violations.ts';
import type { StorageClass, TopologySelectorTerm } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { labelValueError, qualifiedNameError } from '../../meta/names.ts';
import { checkOneOf, checkRequired, checkRule, type Violations } from '../checks.ts';
import { checkFieldSupport, lazyFieldSupport } from '../field-support.ts';
import { storageClassFields } from './fields.ts';

const support = lazyFieldSupport('berth.storage.v1.StorageClass', storageClassFields);
/** Kubernetes' bounds. */
const mostParameters = 512;
const mostParameterBytes = 256 * 1024;

export function validateStorageClass(storageClass: StorageClass): FieldViolation[] {
  const out: Violations = [];
  const { provisioner = '', parameters = {}, reclaimPolicy, volumeBindingMode, allowedTopologies = [] } = storageClass;
  checkRequired(out, '', 'provisioner', provisioner);
  if (provisioner) checkRule(out, '', 'provisioner', provisioner, qualifiedNameError(provisioner.toLowerCase()));
  checkParameters(out, parameters);
  checkOneOf(out, '', 'reclaimPolicy', reclaimPolicy, ['Delete', 'Retain']);
  checkOneOf(out, '', 'volumeBindingMode', volumeBindingMode, ['Immediate', 'WaitForFirstConsumer']);
  allowedTopologies.forEach((term, i) => {
    checkTerm(out, `allowedTopologies[${i}]`, term);
    if (allowedTopologies.slice(0, i).some((other) => equalValues(other, term)))
      out.push(duplicate(`allowedTopologies[${i}].matchLabelExpressions`, ''));
  });
  return [...out, ...checkFieldSupport(support(), storageClass).violations];
}

function checkParameters(out: Violations, parameters: Readonly<Record<string, string>>): void {
  const entries = Object.entries(parameters);
  if (entries.length > mostParameters)
    out.push(invalidValue('parameters', entries.length, `must have at most ${mostParameters} entries`));
  if (entries.some(([name]) => name === '')) out.push(invalidValue('parameters', '', 'a parameter must have a name'));
  const bytes = entries.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  if (bytes > mostParameterBytes) out.push(tooLong('parameters', mostParameterBytes, 'bytes'));
}

function checkTerm(out: Violations, at: string, { matchLabelExpressions = [] }: TopologySelectorTerm): void {
  const seen = new Set<string>();
  matchLabelExpressions.forEach(({ key = '', values = [] }, i) => {
    const item = `${at}.matchLabelExpressions[${i}]`;
    checkRule(out, item, '.key', key, qualifiedNameError(key));
    if (seen.has(key)) out.push(duplicate(`${item}.key`, key));
    seen.add(key);
    if (values.length === 0) out.push(required(`${item}.values`, 'at least one'));
    values.forEach((value, j) => {
      checkRule(out, item, `.values[${j}]`, value, labelValueError(value));
      if (values.indexOf(value) < j) out.push(duplicate(`${item}.values[${j}]`, value));
    });
  });
}

/** Volumes were made by what stood here. */
export function validateStorageClassUpdate(next: StorageClass, previous: StorageClass): FieldViolation[] {
  const out: Violations = [];
  const why = 'cannot change; make another class';
  for (const field of ['provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode'] as const)
    if (!equalValues(next[field] ?? {}, previous[field] ?? {})) out.push(forbidden(field, why));
  return out;
}
