import type { Namespace } from '../../generated/types.ts';
import type { Lifecycle } from '../kind.ts';

export const namespaceLifecycle: Lifecycle<Namespace> = {
  prepareForCreate(namespace) {
    const finalizers = namespace.spec?.finalizers ?? [];
    namespace.spec = {
      ...namespace.spec,
      finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'],
    };
    namespace.status = { phase: 'Active' };
  },
  /** Finalizers of a namespace are removed by whoever empties it, not by an update of the object. */
  prepareForUpdate(next, previous) {
    if (previous.spec) next.spec = previous.spec;
  },
};
