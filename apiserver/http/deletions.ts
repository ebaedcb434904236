import { decodeMessage } from '../../api/codec/message.ts';
import type { DeleteOptions } from '../../api/generated/types.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { KindStore } from '../registry/kind-store.ts';
import type { ObjectForm } from '../verbs/object-format.ts';
import type { AnswerForm } from './answers/object-forms.ts';
import { successOf } from './errors/status-object.ts';

/** The kinds of which Kubernetes answers a deletion with the object; with a Status for all others. */
const shown: ReadonlySet<string> = new Set([
  ...['Pod', 'Service', 'PersistentVolumeClaim', 'PersistentVolume', 'PodTemplate', 'ResourceQuota', 'ServiceAccount'],
  ...['StorageClass', 'CSIDriver', 'CSINode', 'VolumeAttachment'],
]);

/** How a deletion is answered: with the object while it is still there, with a Status when it is gone at once. */
export function deletionForm(form: AnswerForm, { id, kind }: KindStore): ObjectForm {
  const group = groupOf(kind.apiVersion);
  return {
    encode(served, bytes, isRemoved) {
      if (!isRemoved || shown.has(id)) return form.encode(served, bytes);
      const { name = '', uid = '' } = decodeMessage<ApiObject>(served.message, bytes).metadata ?? {};
      return form.status(successOf({ details: { name, ...(group && { group }), kind: kind.plural, uid } }));
    },
  };
}

/** What Kubernetes warns of when a client of these kinds does not say what happens to pods; "" says nothing. */
const orphaning: Readonly<Record<string, string>> = {
  Job: 'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  ReplicationController: '',
};

export interface Deletion {
  readonly options: DeleteOptions;
  readonly warnings: readonly string[];
}

/**
 * Where a request does not say what happens to dependents: Kubernetes' oldest kinds leave their pods, for clients that
 * were written before there was a garbage collector. kubectl and helm always say it.
 */
export function completeDeletion(options: DeleteOptions, { id }: KindStore): Deletion {
  const isSaid = Boolean(options.propagationPolicy) || options.orphanDependents !== undefined;
  if (isSaid || !Object.hasOwn(orphaning, id)) return { options, warnings: [] };
  return { options: { ...options, propagationPolicy: 'Orphan' }, warnings: [orphaning[id]!].filter(Boolean) };
}
