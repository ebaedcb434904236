import { invalid } from '../../api/errors/index.ts';
import { unknownField } from '../../api/errors/violations.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { AnyObject } from './any-object.ts';
import type { KindStore } from './kind-store.ts';
import type { WriteContext } from './write-context.ts';

/** More would not fit into the answer. */
const mostWarnings = 20;

/**
 * Removes the fields that the kind does not have from what was sent, in place, where the codec has not refused them
 * already. Gives a warning for each; throws INVALID_ARGUMENT for a strict writer.
 */
export function pruneSent(
  store: KindStore,
  sent: AnyObject,
  { fieldValidation = 'Warn', unknownFields = [] }: Pick<WriteContext, 'fieldValidation' | 'unknownFields'>,
): string[] {
  const removed = [...unknownFields, ...(store.kind.prune?.(sent) ?? [])];
  if (removed.length === 0 || fieldValidation === 'Ignore') return [];
  if (fieldValidation === 'Warn') return removed.slice(0, mostWarnings).map((path) => `unknown field "${path}"`);
  const { name = '', namespace = '' } = sent.metadata ?? {};
  throw invalid(
    store.subject({ name, namespace }),
    removed.map((path) => unknownField(path)),
  );
}

/** Whether the codec leaves out the fields that a kind does not have, instead of refusing them. */
export function isLenient({ fieldValidation }: { readonly fieldValidation?: string | undefined }, kind: Kind): boolean {
  return !isCustom(kind) && (fieldValidation === 'Warn' || fieldValidation === 'Ignore');
}
