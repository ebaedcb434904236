import type { FieldDifference } from '../../../api/codec/field-differences.ts';
import type { FieldChange, Revision } from '../../../api/generated/types.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { Json } from '../../../api/meta/merge-patch.ts';

/** The most differences reported for one change. */
const MAX_CHANGES = 500;
const SHORT_VALUE = 256;
const WHOLE_VALUE = 64 * 1024;
/** What the values of one version may take together when they are asked for whole. */
const WHOLE_VALUES = 512 * 1024;

/** Differences for the client: bounded, without values of confidential kinds. Pure. */
export function describeChanges(
  kind: Pick<Kind, 'confidential'>,
  differences: readonly FieldDifference[],
  wholeValues: boolean,
): Pick<Revision, 'changes' | 'omittedChanges'> {
  let left = wholeValues ? WHOLE_VALUES : 0;
  const changes = differences.slice(0, MAX_CHANGES).map((difference) => {
    const hidden = kind.confidential === true && !difference.path.startsWith('metadata.');
    const change = describeChange(difference, hidden, Math.max(SHORT_VALUE, Math.min(WHOLE_VALUE, left)));
    left -= (change.before?.length ?? 0) + (change.after?.length ?? 0);
    return change;
  });
  const omitted = differences.length - changes.length;
  return { changes, ...(omitted > 0 && { omittedChanges: omitted }) };
}

function describeChange({ path, before, after }: FieldDifference, hidden: boolean, atMost: number): FieldChange {
  const operation = before === undefined ? 'add' : after === undefined ? 'remove' : 'replace';
  if (hidden) return { path, operation, hidden };
  const [old, now] = [textOf(before, atMost), textOf(after, atMost)];
  return {
    path,
    operation,
    ...(old && { before: old.text }),
    ...(now && { after: now.text }),
    ...((old?.cut || now?.cut) && { cut: true }),
  };
}

function textOf(value: Json | undefined, atMost: number): { text: string; cut: boolean } | undefined {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value);
  return text.length <= atMost ? { text, cut: false } : { text: text.slice(0, atMost), cut: true };
}
