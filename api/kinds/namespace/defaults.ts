import type { Namespace } from '../../generated/types.ts';
import { labels } from '../../meta/well-known.ts';

/** A namespace carries its name as a label, so that selectors can choose it. */
export function defaultNamespace(namespace: Namespace): void {
  const name = namespace.metadata?.name;
  if (!name) return;
  namespace.metadata!.labels = { ...namespace.metadata!.labels, [labels.namespaceName]: name };
}
