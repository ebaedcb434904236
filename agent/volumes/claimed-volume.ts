import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import { compileNodeSelector } from '../../api/kinds/node/selector.ts';
import { isKeptFor } from '../../api/kinds/storage.ts';
import { isLocalPathVolume } from '../../api/kinds/storage-class/local-path.ts';

/** A claim of the pod with its volume, as far as they exist. */
export interface Claimed {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume | undefined;
  /** The pod of this node that has a claim for one pod at a time. */
  readonly holder?: string | undefined;
  /** Whether this pod has used it before: a terminating claim rejects new pods, not its current ones. */
  readonly isUsed?: boolean | undefined;
}

/** The folder of this machine behind a claim. */
export type ClaimedFolder =
  | { readonly kind: 'host-path'; readonly path: string; readonly type: string }
  | { readonly kind: 'local'; readonly path: string }
  /** Made by the agent when it is first used. */
  | { readonly kind: 'made'; readonly path: string };

/** Why a claim cannot be mounted here, now. */
export interface ClaimProblem {
  readonly reason: 'not-found' | 'invalid' | 'unsupported';
  readonly message: string;
}

/**
 * The folder behind a pod's claim on this node. Repeats the scheduler's checks, because its cache may have been stale.
 * Pure.
 */
export function decideClaimedFolder(
  name: string,
  claimed: Claimed | undefined,
  node: Node | undefined,
): ClaimedFolder | ClaimProblem {
  const waits = (message: string): ClaimProblem => ({ reason: 'not-found', message });
  if (claimed === undefined) return waits(`persistentvolumeclaim "${name}" not found`);
  const { claim, volume, holder, isUsed = false } = claimed;
  if (claim.metadata?.deletionTimestamp !== undefined && !isUsed)
    return waits(`persistentvolumeclaim "${name}" is being deleted`);
  const { volumeName } = claim.spec ?? {};
  if (claim.status?.phase !== 'Bound' || !volumeName)
    return waits(`persistentvolumeclaim "${name}" is not bound (${claim.status?.phase ?? 'Pending'})`);
  const spec = volume?.spec;
  if (spec === undefined) return waits(`persistentvolume "${volumeName}" of claim "${name}" not found`);
  if (!spec.claimRef?.uid || !isKeptFor(spec, claim))
    return waits(`persistentvolume "${volumeName}" belongs to another claim than "${name}"`);
  const { required } = spec.nodeAffinity ?? {};
  if (required && !(node !== undefined && compileNodeSelector(required)(node)))
    return {
      reason: 'invalid',
      message: `persistentvolume "${volumeName}" is not for this node: its nodeAffinity does not match`,
    };
  if (holder !== undefined)
    return waits(
      `persistentvolumeclaim "${name}" is ReadWriteOncePod, and pod "${holder}" uses it; it waits until that pod is gone`,
    );
  const { hostPath, local } = spec.persistentVolumeSource ?? {};
  if (hostPath) return { kind: 'host-path', path: hostPath.path ?? '', type: hostPath.type ?? '' };
  if (local) return { kind: volume && isLocalPathVolume(volume) ? 'made' : 'local', path: local.path ?? '' };
  return { reason: 'unsupported', message: `persistentvolume "${volumeName}" has a source that is not supported` };
}
