import type { PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { isKind } from '../../api/kinds/index.ts';
import { defaultClassOf, namesNoClass } from '../../api/kinds/storage-class/default-class.ts';
import type { Eventually } from '../eventually.ts';
import type { Admission } from './admission.ts';

/** All classes, never older than the last acknowledged write. */
export type StorageClassesReader = () => Eventually<readonly StorageClass[]>;

/**
 * As in Kubernetes: a new claim that says nothing of its class gets the default one, if there is one. "" says: none.
 */
export function defaultStorageClassRules(listClasses: StorageClassesReader): Admission {
  const complete = async (claim: PersistentVolumeClaim): Promise<void> => {
    if (!claim.spec || !namesNoClass(claim)) return;
    const name = defaultClassOf(await listClasses())?.metadata?.name;
    if (name) claim.spec.storageClassName = name;
  };
  return {
    reads: { PersistentVolumeClaim: ['StorageClass'] },
    create: (kind, object) => (isKind(kind, 'PersistentVolumeClaim') ? complete(object as PersistentVolumeClaim) : undefined),
  };
}
