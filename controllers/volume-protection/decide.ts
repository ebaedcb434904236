import type { PersistentVolume } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';

/** The finalizers that an object should have; undefined when it has them. Pure. */
export function decideFinalizers({ metadata }: ApiObject, finalizer: string, isInUse: () => boolean): string[] | undefined {
  const present = metadata?.finalizers ?? [];
  const isProtected = present.includes(finalizer);
  if (!metadata?.deletionTimestamp) return isProtected ? undefined : [...present, finalizer];
  return isProtected && !isInUse() ? present.filter((each) => each !== finalizer) : undefined;
}

/** Whether a claim has the volume, or is about to get it. */
export function isVolumeInUse({ spec, status }: PersistentVolume): boolean {
  const isLetGo = status?.phase === 'Released' || status?.phase === 'Failed';
  return status?.phase === 'Bound' || (Boolean(spec?.claimRef?.uid) && !isLetGo);
}
