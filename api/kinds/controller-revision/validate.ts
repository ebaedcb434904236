import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue, required } from '../../errors/violations.ts';
import type { ControllerRevision } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { checkRange, type Violations } from '../checks.ts';

export function validateControllerRevision({ data, revision }: ControllerRevision): FieldViolation[] {
  const out: Violations = [];
  if (!data?.raw?.length) out.push(required('data', 'data is mandatory'));
  checkRange(out, '', 'revision', revision, 0);
  return out;
}

/** The data stays as it is, however it is written; which revision is the newest may change. */
export function validateControllerRevisionUpdate(next: ControllerRevision, previous: ControllerRevision): FieldViolation[] {
  return isSameData(next, previous) ? [] : [invalidValue('data', textOf(next), 'field is immutable')];
}

/** The same value may be written in other bytes: they stay as they were. */
export function keepData(next: ControllerRevision, previous: ControllerRevision): void {
  if (previous.data && isSameData(next, previous)) next.data = previous.data;
}

function isSameData(next: ControllerRevision, previous: ControllerRevision): boolean {
  return equalValues(parsed(next), parsed(previous));
}

const textOf = ({ data }: ControllerRevision): string => Buffer.from(data?.raw ?? []).toString();

/** The codec lets in nothing but JSON. */
function parsed(revision: ControllerRevision): unknown {
  const text = textOf(revision);
  return text === '' ? undefined : JSON.parse(text);
}
