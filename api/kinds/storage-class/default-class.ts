import type { PersistentVolumeClaim, StorageClass } from '../../generated/types.ts';
import { annotations } from '../../meta/well-known.ts';
import { newestOf } from '../newest.ts';

/** Whether claims that name no class get this one. */
export function isDefaultClass({ metadata }: StorageClass): boolean {
  const { [annotations.defaultClass]: is, [annotations.betaDefaultClass]: was } = metadata?.annotations ?? {};
  return is === 'true' || was === 'true';
}

/** Of several, as in Kubernetes, the one that was made last; of those the first by name. */
export function defaultClassOf(classes: readonly StorageClass[]): StorageClass | undefined {
  return newestOf(classes.filter(isDefaultClass));
}

/** Whether a claim leaves its class out. "" is not left out: it asks for an existing volume without a class. */
export function namesNoClass({ metadata, spec }: PersistentVolumeClaim): boolean {
  return spec?.storageClassName === undefined && metadata?.annotations?.[annotations.betaStorageClass] === undefined;
}
