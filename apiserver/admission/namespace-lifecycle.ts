import { type ErrorParts, type ErrorSubject, failedPrecondition, notFound } from '../../api/errors/index.ts';
import type { Namespace } from '../../api/generated/types.ts';
import { andThen, type Eventually } from '../eventually.ts';
import type { Admission } from './admission.ts';

/** Reads a namespace, never older than the last acknowledged write. */
export type NamespaceReader = (name: string) => Eventually<Namespace | undefined>;

/** What Kubernetes says of it: controllers look for the cause. */
const terminating = (name: string, subject: ErrorSubject): ErrorParts => ({
  ...{ of: 'forbidden', why: `unable to create new content in namespace ${name} because it is being terminated` },
  ...{ reason: 'Forbidden', subject },
  causes: [
    {
      ...{ field: 'metadata.namespace', reason: 'NamespaceTerminating' },
      description: `namespace ${name} is being terminated`,
    },
  ],
});

/** Nothing is created in a namespace that does not exist or is being deleted. */
export function namespaceLifecycle(readNamespace: NamespaceReader): Admission {
  return {
    create(kind, object) {
      const name = object.metadata?.namespace;
      if (!kind.namespaced || !name) return undefined;
      return andThen(readNamespace(name), (namespace) => {
        if (!namespace) throw notFound({ kind: 'Namespace', name });
        if (!namespace.metadata?.deletionTimestamp) return;
        const subject = { kind: kind.kind, name: object.metadata?.name ?? '', namespace: name };
        const why = `cannot create ${kind.singular} "${subject.name}": namespace "${name}" is being deleted`;
        throw failedPrecondition('NamespaceTerminating', why, { kind: 'Namespace', name }, terminating(name, subject));
      });
    },
  };
}
