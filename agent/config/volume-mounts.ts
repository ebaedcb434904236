import { posix } from 'node:path';
import type { Container, VolumeMount } from '../../api/generated/types.ts';
import type { Mount } from '../runtime/runtime.ts';
import type { ReadyVolume } from '../volumes/volumes.ts';
import { ContainerConfigError } from './config-error.ts';
import { expand } from './expand.ts';

/** A mount that wants only a part of its volume. */
export interface WantedSubPath {
  /** Which of the container's volumeMounts. */
  readonly index: number;
  readonly volumeName: string;
  readonly volumePath: string;
  readonly subPath: string;
}

export type ReadyVolumes = ReadonlyMap<string, ReadyVolume>;

/** The parts of volumes that a container mounts, with variables filled in. Pure; throws ContainerConfigError. */
export function computeSubPaths(container: Container, volumes: ReadyVolumes, env: ReadonlyMap<string, string>): WantedSubPath[] {
  return (container.volumeMounts ?? []).flatMap((mount, index) => {
    const subPath = subPathOf(mount, container, env);
    if (subPath === '') return [];
    const volumeName = mount.name ?? '';
    return [{ index, volumeName, volumePath: volumeOf(mount, volumes).hostPath, subPath }];
  });
}

function subPathOf(
  { subPath = '', subPathExpr = '' }: VolumeMount,
  container: Container,
  env: ReadonlyMap<string, string>,
): string {
  if (subPathExpr === '') return subPath;
  const expanded = expand(subPathExpr, env);
  const unknown = namesIn(subPathExpr).find((name) => !env.has(name));
  if (unknown !== undefined)
    throw new ContainerConfigError(`subPathExpr "${subPathExpr}" of container "${container.name}": no variable "${unknown}"`);
  if (expanded.startsWith('/') || expanded.split('/').includes('..')) {
    const what = `subPathExpr "${subPathExpr}" of container "${container.name}" becomes "${expanded}"`;
    throw new ContainerConfigError(`${what}, which is not a path inside of the volume`);
  }
  return expanded;
}

/** The variables that an expression refers to; "$$(NAME)" refers to none. */
function namesIn(expression: string): string[] {
  return [...expression.matchAll(/\$(\$|\(([^()]*)\))/g)].flatMap(([, , name]) => (name === undefined ? [] : [name]));
}

const propagations: Readonly<Record<string, Mount['propagation']>> = { HostToContainer: 'rslave', Bidirectional: 'rshared' };

/**
 * What the engine mounts; `subPaths` says where the parts are, by the index of their mount. Pure;
 * throws ContainerConfigError.
 */
export function computeMounts(container: Container, volumes: ReadyVolumes, subPaths: ReadonlyMap<number, string>): Mount[] {
  return (container.volumeMounts ?? []).map((mount, index) => {
    const volume = volumeOf(mount, volumes);
    return {
      hostPath: subPaths.get(index) ?? volume.hostPath,
      containerPath: posix.resolve('/', mount.mountPath ?? ''),
      readOnly: mount.readOnly === true || volume.readOnly,
      recursive: recursionOf(mount),
      propagation: propagations[mount.mountPropagation ?? ''] ?? 'rprivate',
    };
  });
}

function recursionOf({ recursiveReadOnly }: VolumeMount): Mount['recursive'] {
  if (recursiveReadOnly === 'Enabled') return 'required';
  return recursiveReadOnly === 'IfPossible' ? 'preferred' : 'no';
}

function volumeOf(mount: VolumeMount, volumes: ReadyVolumes): ReadyVolume {
  const volume = volumes.get(mount.name ?? '');
  if (volume === undefined) throw new ContainerConfigError(`volume "${mount.name ?? ''}" is not in the pod`);
  return volume;
}
