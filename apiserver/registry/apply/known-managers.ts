import { speltEntries } from '../../../api/apply/creator-fields.ts';
import type { ManagedFieldsEntry } from '../../../api/generated/types.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import type { AnyObject } from '../any-object.ts';

/**
 * A version that a client sends, without entries that are those of the version before: a client that has read the
 * object over HTTP sends back the fields of its creator as it was shown them, spelt out, and means no change.
 */
export function withKnownManagers(kind: Kind, sent: AnyObject, previous: AnyObject): AnyObject {
  const [written = [], before = []] = [sent.metadata?.managedFields, previous.metadata?.managedFields];
  const isSpeltOut = written.length === before.length && written.some((entry, i) => entry.fieldsV1 && !before[i]!.fieldsV1);
  if (!isSpeltOut || !written.every((entry, i) => equalValues(withoutSet(entry), withoutSet(before[i]!)))) return sent;
  const known = speltEntries(kind, previous);
  const isSame = known.length === written.length && known.every((entry, i) => equalValues(setOf(entry), setOf(written[i]!)));
  if (!isSame) return sent;
  const { managedFields: _, ...metadata } = sent.metadata ?? {};
  return { ...sent, metadata };
}

const withoutSet = ({ fieldsV1: _, ...entry }: ManagedFieldsEntry): object => entry;

/** The set as a value: its steps may stand in any order. */
function setOf({ fieldsV1 }: ManagedFieldsEntry): unknown {
  try {
    return JSON.parse(Buffer.from(fieldsV1?.Raw ?? []).toString('utf8'));
  } catch {
    return undefined;
  }
}
