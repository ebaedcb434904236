import type { Container, Pod } from '../../api/generated/types.ts';
import type { TokenSource } from '../config/account-tokens.ts';
import type { ClaimSource } from '../config/claims.ts';
import { ContainerConfigError } from '../config/config-error.ts';
import type { Allocatable } from '../config/downward.ts';
import type { PodObjects } from '../config/env.ts';
import type { ObjectSource } from '../config/objects.ts';
import { computeSubPaths, type ReadyVolumes } from '../config/volume-mounts.ts';
import { ownershipOf } from './ownership.ts';
import type { Volumes, VolumesReady } from './volumes.ts';

/** A pod's volumes, made from what the API says of them. */
export interface PodVolumes {
  /** All of them, for containers that are about to start. Throws ApiError when the server is away. */
  prepare(pod: Pod, objects: PodObjects): Promise<VolumesReady>;
  /**
   * The parts of volumes that a container mounts, by the index of the mount.
   * Throws ContainerConfigError for what leads out of a volume.
   */
  prepareSubPaths(
    pod: Pod,
    container: Container,
    volumes: ReadyVolumes,
    env: () => ReadonlyMap<string, string>,
  ): Promise<SubPaths>;
  /**
   * Brings changed objects, at most so old, and what the pod says of itself, into the volumes of a pod that runs.
   * `isWanted` is asked last, when nothing can come in between: a pod that went meanwhile must not get a folder again.
   * Throws ApiError when the server is away.
   */
  refresh(pod: Pod, maxAgeMs: number, isWanted: () => boolean): Promise<void>;
  /** The pod is gone from this node: its tokens are forgotten. */
  forget(podUid: string): void;
}

export type SubPaths = ReadonlyMap<number, string>;

export interface PodVolumesOptions {
  readonly volumes: Pick<Volumes, 'ensureVolumes' | 'refreshVolumes' | 'ensureSubPath' | 'podDir' | 'sharedDir'>;
  readonly objects: ObjectSource;
  readonly claims: ClaimSource;
  readonly tokens: TokenSource;
  readonly allocatable: Allocatable;
}

export function createPodVolumes({ volumes, objects, claims, tokens, allocatable }: PodVolumesOptions): PodVolumes {
  const base = (pod: Pod) => ({
    podDir: volumes.podDir(pod.metadata?.uid ?? ''),
    sharedDir: volumes.sharedDir(pod.metadata?.uid ?? ''),
    pod,
    allocatable,
    ownership: ownershipOf(pod),
  });

  return {
    async prepare(pod, found) {
      if ((pod.spec?.volumes ?? []).length === 0) return { volumes: new Map(), problems: [] };
      const [claimed, shown] = await Promise.all([claims.forPod(pod), tokens.forPod(pod)]);
      return volumes.ensureVolumes({ ...base(pod), ...found, ...claimed, tokens: shown });
    },
    async prepareSubPaths(pod, container, ready, env) {
      const paths = new Map<number, string>();
      if (!(container.volumeMounts ?? []).some(({ subPath, subPathExpr }) => subPath || subPathExpr)) return paths;
      const { podDir } = base(pod);
      const containerName = container.name ?? '';
      for (const { index, ...wanted } of computeSubPaths(container, ready, env())) {
        try {
          paths.set(index, await volumes.ensureSubPath({ podDir, containerName, index, ...wanted }));
        } catch (error) {
          const what = `failed to prepare subPath for volumeMount "${wanted.volumeName}" of container "${containerName}"`;
          throw new ContainerConfigError(`${what}: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
      return paths;
    },
    async refresh(pod, maxAgeMs, isWanted) {
      const [found, shown] = await Promise.all([objects.forPod(pod, maxAgeMs), tokens.forPod(pod)]);
      if (isWanted()) await volumes.refreshVolumes({ ...base(pod), ...found, claims: new Map(), node: undefined, tokens: shown });
    },
    forget: tokens.forget,
  };
}
