import type { PodInfo } from '../framework/pod-info.ts';

/** A pod that was bound, and how much choice there was. */
export interface PlacementRecord {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly nodeCount: number;
  readonly fitting: number;
}

/** What a scheduler did last. Bounded: the oldest is forgotten first. */
export interface PlacementLog {
  add(pod: PodInfo, placement: Pick<PlacementRecord, 'nodeName' | 'at' | 'nodeCount' | 'fitting'>): void;
  of(uid: string): PlacementRecord | undefined;
  /** The newest first. */
  last(limit: number): PlacementRecord[];
}

/** For people who look back a little; 0.2 MB. */
export const rememberedPlacements = 1_000;

export function createPlacementLog(): PlacementLog {
  const records = new Map<string, PlacementRecord>();
  return {
    add({ pod, uid }, { nodeName, at, nodeCount, fitting }) {
      const { namespace = '', name = '' } = pod.metadata ?? {};
      records.delete(uid);
      records.set(uid, { namespace, name, uid, nodeName, at, nodeCount, fitting });
      if (records.size <= rememberedPlacements) return;
      for (const oldest of records.keys()) {
        records.delete(oldest);
        break;
      }
    },
    of: (uid) => records.get(uid),
    last: (limit) => [...records.values()].reverse().slice(0, limit),
  };
}
