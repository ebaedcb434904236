import type { Pod } from '../../api/generated/types.ts';
import type { PodUsage, PodUsages } from './usage.ts';

/** The present of the tests, in ms. */
export const now = 1_800_000_000_000;
export const secondsAgo = (seconds: number) => ({ seconds: now / 1000 - seconds });

export interface PodParts {
  readonly requests?: Record<string, string>;
  readonly phase?: string;
  readonly startedAgo?: number;
  readonly ready?: 'True' | 'False' | 'none';
  /** Seconds since it became what `ready` says. */
  readonly changedAgo?: number;
  readonly isLeaving?: boolean;
}

/** A pod that has long been ready, unless the parts say otherwise. */
export function podOf(uid: string, parts: PodParts = {}): Pod {
  const { requests = { cpu: '1', memory: '1Gi' }, phase = 'Running', ready = 'True', isLeaving } = parts;
  const { startedAgo = 3_600, changedAgo = startedAgo - 10 } = parts;
  const amounts = Object.fromEntries(Object.entries(requests).map(([name, string]) => [name, { string }]));
  return {
    metadata: { uid, name: uid, namespace: 'default', ...(isLeaving && { deletionTimestamp: secondsAgo(1) }) },
    spec: { nodeName: 'n1', containers: [{ name: 'c', resources: { requests: amounts } }] },
    status: {
      phase,
      startTime: secondsAgo(startedAgo),
      conditions: ready === 'none' ? [] : [{ type: 'Ready', status: ready, lastTransitionTime: secondsAgo(changedAgo) }],
    },
  };
}

/** What the container "c" of each pod uses. */
export function usagesOf(amounts: Readonly<Record<string, Record<string, string>>>): PodUsages {
  return new Map(
    Object.entries(amounts).map(([uid, usage]): [string, PodUsage] => {
      const amountsOf = Object.fromEntries(Object.entries(usage).map(([name, string]) => [name, { string }]));
      return [uid, { readAtMs: now, windowMs: 15_000, containers: [{ name: 'c', usage: amountsOf }] }];
    }),
  );
}
