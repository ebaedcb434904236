/** What a claim is to get when its pod goes where it was placed. */
export interface Promised {
  /** namespace/name. */
  readonly claim: string;
  readonly claimUid: string;
  readonly nodeName: string;
  /** A volume that is there; absent: one that is made on the node. */
  readonly volume?: string | undefined;
}

/**
 * What was promised to claims by placements that are not written yet, so that two pods do not count on one volume, and
 * two pods with one claim go where its volume will be. A promise stands from the placement until the informers show
 * what became of it, or the placement is taken back; as many at once as bindings.
 */
export interface VolumePromises {
  /** By the claim's uid. */
  toClaim(claimUid: string): Promised | undefined;
  /** The uid of the claim that the volume is promised to, by the volume's name. */
  holderOf(volume: string): string | undefined;
  toPod(podUid: string): readonly Promised[];
  make(podUid: string, promised: readonly Promised[]): void;
  /** Kept or taken back; what another pod counts on as well stands. Of a pod without promises it does nothing. */
  end(podUid: string): void;
}

export function createVolumePromises(): VolumePromises {
  const byPod = new Map<string, readonly Promised[]>();
  const byClaim = new Map<string, { readonly promised: Promised; readonly pods: Set<string> }>();
  const holders = new Map<string, string>();

  function endOne({ claimUid, volume }: Promised, podUid: string): void {
    const known = byClaim.get(claimUid);
    known?.pods.delete(podUid);
    if (!known || known.pods.size > 0) return;
    byClaim.delete(claimUid);
    if (volume !== undefined) holders.delete(volume);
  }

  return {
    toClaim: (claimUid) => byClaim.get(claimUid)?.promised,
    holderOf: (volume) => holders.get(volume),
    toPod: (podUid) => byPod.get(podUid) ?? [],
    make(podUid, all) {
      byPod.set(podUid, all);
      for (const promised of all) {
        const known = byClaim.get(promised.claimUid) ?? { promised, pods: new Set() };
        known.pods.add(podUid);
        byClaim.set(promised.claimUid, known);
        if (promised.volume !== undefined) holders.set(promised.volume, promised.claimUid);
      }
    },
    end(podUid) {
      for (const promised of byPod.get(podUid) ?? []) endOne(promised, podUid);
      byPod.delete(podUid);
    },
  };
}
