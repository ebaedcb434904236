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
  /** Whether this pod has had it before: who deletes a claim keeps new pods from it, not those that have it. */
  readonly isUsed?: boolean | undefined;
}

/** A folder of this machine that a claim stands for. */
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
 * The folder that a pod's claim stands for on this node. The last line: the scheduler may have known less than this. Pure.
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
