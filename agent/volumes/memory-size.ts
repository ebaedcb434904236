import type { Pod } from '../../api/generated/types.ts';
import { podLimits } from '../../api/kinds/pod/resources.ts';

/**
 * How large a volume in memory may get: what is left after the node's, the pod's and its own limit, as Kubernetes sizes
 * them. A volume that could outgrow its pod's limit would only get the pod's containers killed.
 */
export function memoryVolumeBytes(sizeLimit: number | undefined, pod: Pod, allocatableBytes: number): number | undefined {
  const bounds = [sizeLimit ?? 0, podLimits(pod).memory ?? 0, allocatableBytes].filter((bytes) => bytes > 0);
  return bounds.length === 0 ? undefined : Math.min(...bounds);
}
