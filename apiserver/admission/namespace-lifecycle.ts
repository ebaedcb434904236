import { failedPrecondition, notFound } from '../../api/errors/index.ts';
import type { Namespace } from '../../api/generated/types.ts';
import type { Admission } from './admission.ts';

/** Reads a namespace, never older than the last acknowledged write. */
export type NamespaceReader = (name: string) => Promise<Namespace | undefined>;

/** Nothing is created in a namespace that does not exist or is being deleted. */
export function namespaceLifecycle(readNamespace: NamespaceReader): Admission {
  return {
    async create(kind, object) {
      const name = object.metadata?.namespace;
      if (!kind.namespaced || !name) return;
      const namespace = await readNamespace(name);
      if (!namespace) throw notFound({ kind: 'Namespace', name });
      if (!namespace.metadata?.deletionTimestamp) return;
      const why = `cannot create ${kind.singular} "${object.metadata?.name ?? ''}": namespace "${name}" is being deleted`;
      throw failedPrecondition('NamespaceTerminating', why, { kind: 'Namespace', name });
    },
  };
}
