import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue } from '../../errors/violations.ts';
import type { CustomResourceDefinition } from '../../generated/types.ts';
import { approvalOf, validateApproval } from './approval.ts';
import { isEstablished, storageVersionOf } from './meaning.ts';

/** Objects are stored by what stood here. */
export function validateCustomResourceDefinitionUpdate(
  next: CustomResourceDefinition,
  previous: CustomResourceDefinition,
): FieldViolation[] {
  const out: FieldViolation[] = [];
  const why = 'never changes; delete the definition with its objects and make another';
  if (next.spec?.group !== previous.spec?.group) out.push(forbidden('spec.group', why));
  if (next.spec?.names?.plural !== previous.spec?.names?.plural) out.push(forbidden('spec.names.plural', why));
  if (isEstablished(previous)) {
    if (next.spec?.scope !== previous.spec?.scope) out.push(forbidden('spec.scope', why));
    if (next.spec?.names?.kind !== previous.spec?.names?.kind) out.push(forbidden('spec.names.kind', why));
  }
  if (approvalOf(next) !== approvalOf(previous)) out.push(...validateApproval(next));
  const names = new Set((next.spec?.versions ?? []).map(({ name }) => name));
  for (const stored of previous.status?.storedVersions ?? [])
    if (!names.has(stored))
      out.push(
        invalidValue(
          'spec.versions',
          [...names].join(', '),
          `must have "${stored}", which objects may be stored in: write them all again, then remove it from status.storedVersions`,
        ),
      );
  return out;
}

/** A client removes a version from the status when it has written all objects again. */
export function validateCustomResourceDefinitionStatus({ spec, status }: CustomResourceDefinition): FieldViolation[] {
  const stored = status?.storedVersions ?? [];
  const storage = storageVersionOf(spec)?.name;
  const known = new Set((spec?.versions ?? []).map(({ name }) => name));
  const out = stored
    .filter((name) => !known.has(name))
    .map((name) => invalidValue('status.storedVersions', name, 'must be one of spec.versions'));
  if (stored.length > 0 && storage !== undefined && !stored.includes(storage))
    out.push(invalidValue('status.storedVersions', stored.join(', '), `must have the storage version "${storage}"`));
  return out;
}
