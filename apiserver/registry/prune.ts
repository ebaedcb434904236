import { undecodable } from '../../api/codec/json.ts';
import { FIELD_DUPLICATE, type FieldViolation, unknownField } from '../../api/errors/index.ts';
import type { AnyObject } from './any-object.ts';
import type { KindStore } from './kind-store.ts';
import type { WriteContext } from './write-context.ts';

/** More would not fit into the answer. */
const mostWarnings = 20;
const mostViolations = 100;

/**
 * Removes the fields that the kind does not have from what was sent, in place, where the codec has not refused them
 * already. Gives a warning for each, and for what the codec left out; throws INVALID_ARGUMENT for a strict writer.
 */
export function pruneSent(
  store: KindStore,
  sent: AnyObject,
  { fieldValidation = 'Warn', leftOut = [] }: Pick<WriteContext, 'fieldValidation' | 'leftOut'>,
): string[] {
  const removed = [...leftOut, ...(store.kind.prune?.(sent) ?? []).slice(0, mostViolations).map((path) => unknownField(path))];
  if (removed.length === 0 || fieldValidation !== 'Strict') return leftOutWarnings(removed, fieldValidation);
  throw undecodable(store.kind, sent, removed);
}

/** What a writer is told of what was left out. */
export function leftOutWarnings(leftOut: readonly FieldViolation[] = [], mode?: WriteContext['fieldValidation']): string[] {
  return mode === 'Warn' ? leftOut.slice(0, mostWarnings).map(strictText) : [];
}

/** A field that was left out, in Kubernetes' words. */
const strictText = ({ reason, field }: FieldViolation): string =>
  `${reason === FIELD_DUPLICATE ? 'duplicate' : 'unknown'} field "${field}"`;

/** Whether the codec leaves out the fields that a kind does not have, instead of refusing them. */
export function isLenient({ fieldValidation }: { readonly fieldValidation?: string | undefined }): boolean {
  return fieldValidation === 'Warn' || fieldValidation === 'Ignore';
}
