import type { PersistentVolumeClaim, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { claimsOf } from '../../api/kinds/storage.ts';

/** Decides which pod may use a claim that is for one pod at a time (ReadWriteOncePod). */
export interface ClaimTurns {
  /**
   * The other pod of this node that has the claim; undefined when this one has it,
   * from now on until it has ended or is gone.
   */
  holderOf(claim: PersistentVolumeClaim, pod: Pod): string | undefined;
}

/**
 * The scheduler places no second pod beside the first; this is for pods that named their node themselves. First come,
 * first served; after a start of the agent the pod whose containers have started is the one that came first.
 */
export function createClaimTurns(podsHere: () => readonly Pod[]): ClaimTurns {
  const holders = new Map<string, string>();

  return {
    holderOf(claim, pod) {
      if (!claim.spec?.accessModes?.includes('ReadWriteOncePod')) return undefined;
      const { namespace, name = '', uid: claimUid = '' } = claim.metadata ?? {};
      const here = podsHere();
      const others = here.filter(
        (each) =>
          each.metadata?.uid !== pod.metadata?.uid &&
          each.metadata?.namespace === namespace &&
          !isFinished(each) &&
          claimsOf(each).includes(name),
      );
      const known = holders.get(claimUid);
      if (known === pod.metadata?.uid) return undefined;
      const holder = others.find(({ metadata }) => metadata?.uid === known) ?? others.find(hasStarted);
      if (holder !== undefined) return holder.metadata?.name;
      for (const [claimed, uid] of holders) if (!here.some(({ metadata }) => metadata?.uid === uid)) holders.delete(claimed);
      holders.set(claimUid, pod.metadata?.uid ?? '');
      return undefined;
    },
  };
}

/** Whether a container of the pod has ever started, so that its volumes were there. */
export const hasStarted = ({ status }: Pod): boolean =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].some(({ containerID }) => containerID);
