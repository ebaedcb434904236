import { type FieldViolation, invalid } from '../../../api/errors/index.ts';
import { forbidden, invalidValue, notSupported, required, tooLong } from '../../../api/errors/violations.ts';
import type { DeleteOptions, WriteOptions } from '../../../api/generated/types.ts';
import { deleteOptionsOf, writeOptionsOf } from './read-query.ts';

// The options of writes, refused as Kubernetes refuses them: each verb's options are an object of their own, and what
// is wrong with them is INVALID, field by field.

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions';

const validations: readonly string[] = ['', 'Ignore', 'Strict', 'Warn'];
const propagations: readonly string[] = ['Foreground', 'Background', 'Orphan', 'nil'];
const MANAGER_MAX = 128;

/** Of a create or an update. Throws INVALID. */
export function checkedWriteOptions(query: URLSearchParams, kind: 'CreateOptions' | 'UpdateOptions'): WriteOptions {
  const options = writeOptionsOf(query);
  refuse(kind, violationsOf(options));
  return options;
}

/** Of a patch. Throws INVALID. Only a server-side apply forces conflicts, and it has to say who owns its fields. */
export function checkedPatchOptions(query: URLSearchParams, isApply: boolean): WriteOptions {
  const options = writeOptionsOf(query);
  const violations = violationsOf(options);
  if (isApply && !options.fieldManager) violations.push(required('fieldManager', 'is required for apply patch'));
  if (!isApply && options.force !== undefined) violations.push(forbidden('force', 'may not be specified for non-apply patch'));
  refuse('PatchOptions', violations);
  return options;
}

/** Throws INVALID. */
export function checkedDeleteOptions(query: URLSearchParams, body: DeleteOptions): DeleteOptions {
  const options = deleteOptionsOf(query, body);
  const { propagationPolicy, orphanDependents } = options;
  const violations = ofDryRun(options.dryRun);
  if (propagationPolicy && orphanDependents !== undefined) {
    const why = 'orphanDependents and deletionPropagation cannot be both set';
    violations.push(invalidValue('propagationPolicy', propagationPolicy, why));
  }
  if (propagationPolicy && !propagations.includes(propagationPolicy))
    violations.push(notSupported('propagationPolicy', propagationPolicy, propagations));
  refuse('DeleteOptions', violations);
  return options;
}

function violationsOf({ dryRun, fieldManager = '', fieldValidation = '' }: WriteOptions): FieldViolation[] {
  const violations = ofDryRun(dryRun);
  const unprintable = [...fieldManager].find((character) => !/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character));
  if (Buffer.byteLength(fieldManager) > MANAGER_MAX) violations.push(tooLong('fieldManager', MANAGER_MAX, 'bytes'));
  if (unprintable !== undefined)
    violations.push(invalidValue('fieldManager', fieldManager, `invalid character ${JSON.stringify(unprintable)}`));
  if (!validations.includes(fieldValidation)) violations.push(notSupported('fieldValidation', fieldValidation, validations));
  return violations;
}

const ofDryRun = (dryRun: readonly string[] = []): FieldViolation[] =>
  dryRun.filter((value) => value !== 'All').map((value) => notSupported('dryRun', value, ['All']));

function refuse(kind: OptionsKind, violations: readonly FieldViolation[]): void {
  if (violations.length === 0) return;
  throw invalid({ kind, group: 'meta.k8s.io', resource: kind.toLowerCase(), name: '' }, [...violations]);
}
