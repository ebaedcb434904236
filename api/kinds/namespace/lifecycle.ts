import type { Namespace } from '../../generated/types.ts';
import { finalizers } from '../../meta/well-known.ts';
import type { Lifecycle } from '../kind.ts';

export const namespaceLifecycle: Lifecycle<Namespace> = {
  prepareForCreate(namespace) {
    const present = namespace.spec?.finalizers ?? [];
    namespace.spec = {
      ...namespace.spec,
      finalizers: present.includes(finalizers.kubernetes) ? present : [...present, finalizers.kubernetes],
    };
    namespace.status = { phase: 'Active' };
  },
  /** Finalizers of a namespace are removed by the controller that empties it, not by an update of the object. */
  prepareForUpdate(next, previous) {
    if (previous.spec) next.spec = previous.spec;
  },
};
