import type { PersistentVolume } from '../api/generated/types.ts';

/** Keys of loops over claims and volumes at once: one queue holds both. */
const claimPrefix = 'claim/';
const volumePrefix = 'volume/';

/** Of a claim by its namespace/name. */
export const keyOfClaim = (key: string): string => claimPrefix + key;
export const keyOfVolumeNamed = (name: string): string => volumePrefix + name;
export const keyOfVolume = ({ metadata }: PersistentVolume): string => keyOfVolumeNamed(metadata?.name ?? '');

export function readStorageKey(key: string): { readonly claim: string } | { readonly volume: string } {
  return key.startsWith(claimPrefix) ? { claim: key.slice(claimPrefix.length) } : { volume: key.slice(volumePrefix.length) };
}
