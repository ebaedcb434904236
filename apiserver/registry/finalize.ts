import { invalid, otherUid } from '../../api/errors/index.ts';
import type { Namespace } from '../../api/generated/types.ts';
import { validateFinalizers } from '../../api/kinds/metadata.ts';
import type { AnyObject } from './any-object.ts';
import type { KindStore } from './kind-store.ts';
import type { StoreResult } from './store-values.ts';
import { requireName } from './update.ts';
import type { WriteContext } from './write-context.ts';

/**
 * Replaces what keeps a namespace that is being deleted: spec.finalizers. The last to leave lets it go, unless its
 * metadata has finalizers too. With a resourceVersion or uid only that very one.
 */
export async function finalizeNamespace(store: KindStore, sent: Namespace, context: WriteContext): Promise<StoreResult> {
  const at = requireName(store, sent);
  const finalizers = sent.spec?.finalizers ?? [];
  const violations = validateFinalizers('spec.finalizers', finalizers);
  if (violations.length > 0) throw invalid(store.subject(at), violations);
  const { uid, resourceVersion } = sent.metadata ?? {};
  const compute = (previous: AnyObject): AnyObject => {
    const now = previous.metadata?.uid;
    if (uid && uid !== now) throw otherUid(store.subject(at), now, uid);
    const { finalizers: _, ...spec } = (previous as Namespace).spec ?? {};
    return { ...previous, spec: finalizers.length > 0 ? { ...spec, finalizers } : spec };
  };
  return { bytes: await store.change(at, { context, verb: 'finalize', resourceVersion, compute }), warnings: [] };
}
