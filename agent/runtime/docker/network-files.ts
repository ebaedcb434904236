import type { Mount } from '../runtime.ts';

const containerPath = '/etc/resolv.conf';

/**
 * What a container gets from the network of its sandbox, unless it has its own:
 * the engine does this only where it knows of the network.
 */
export function networkMounts(resolvConfPath: string, mounts: readonly Mount[]): Mount[] {
  if (resolvConfPath === '' || mounts.some((mount) => mount.containerPath === containerPath)) return [];
  // The engine mounts files of its own folder with no other propagation.
  return [{ containerPath, hostPath: resolvConfPath, readOnly: false, propagation: 'rslave' }];
}
