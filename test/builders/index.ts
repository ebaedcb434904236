export { metadata, quantities, type Resources } from './metadata.ts';
export { type NodeBuilder, node } from './node.ts';
export { type PodBuilder, pod } from './pod.ts';
export {
  type ClaimBuilder,
  claim,
  type StorageClassBuilder,
  storageClass,
  type VolumeBuilder,
  volume,
} from './storage.ts';
