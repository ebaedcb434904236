import type { Mount } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';

/** From this API version on, the engine makes read-only mounts recursive by default, and has an option for it. */
const recursiveSince = 44;

/**
 * What the engine is sent of a container's mounts: as mounts, not as "from:to" texts, because a path may hold a colon,
 * and a source that is missing is an error instead of a new directory. Throws RuntimeError `invalid` for what this
 * engine cannot do.
 */
export function bindMounts(mounts: readonly Mount[], apiVersion: string): object[] {
  const minor = Number(apiVersion.split('.')[1] ?? 0);
  return mounts.map((mount) => ({
    Type: 'bind',
    Source: mount.hostPath,
    Target: mount.containerPath,
    ReadOnly: mount.readOnly,
    // The engine's own default is rprivate, and rslave where the source holds the engine's files, such as /:
    // there it refuses rprivate.
    BindOptions: {
      ...(mount.propagation !== 'rprivate' && { Propagation: mount.propagation }),
      ...recursion(mount, minor >= recursiveSince),
    },
  }));
}

function recursion({ readOnly, recursive = 'no', containerPath }: Mount, isKnown: boolean): object {
  if (!readOnly) return {};
  if (recursive === 'required') {
    if (isKnown) return { ReadOnlyForceRecursive: true };
    const why = 'the engine of this node cannot make what is mounted inside read-only (Docker 25 can)';
    throw new RuntimeError('invalid', `mount ${containerPath} with recursiveReadOnly Enabled: ${why}`);
  }
  return recursive === 'no' && isKnown ? { ReadOnlyNonRecursive: true } : {};
}
