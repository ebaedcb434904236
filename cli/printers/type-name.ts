import { groupKindOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';

/** How messages, `-o name` and `get all` name a kind, as kubectl does: "pod", "deployment.apps". */
export function typeName(kind: Pick<Kind, 'kind' | 'apiVersion'>): string {
  return groupKindOf(kind).toLowerCase();
}
