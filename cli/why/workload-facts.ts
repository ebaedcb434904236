import type { Explanation } from '../../api/generated/types.ts';
import type { Tree } from '../describe/json.ts';
import type { ExplainedTrouble } from '../workload/trouble-tails.ts';

/** Everything that an answer to "why is it not up" is made of. */
export interface WorkloadFacts {
  readonly kind: string;
  readonly object: Tree;
  /** What is wrong with pods of the present template. */
  readonly troubles: readonly ExplainedTrouble[];
  /** The same of pods of earlier templates. */
  readonly oldTroubles: readonly ExplainedTrouble[];
  /** The pods of the present template. */
  readonly pods: readonly Tree[];
  /** Events about the workload, and about the ReplicaSet of its present template. */
  readonly events: readonly Tree[];
  /** Warnings about one pod of each trouble, by the trouble's key. */
  readonly podEvents: ReadonlyMap<string, readonly Tree[]>;
  /** What the scheduler says of one pod that has no node, or why it says nothing. */
  readonly scheduling?: Explanation | { readonly silent: string } | undefined;
  /** The disruption budgets of the pods. */
  readonly budgets: readonly Tree[];
  /** Of a CronJob: its last job. */
  readonly lastJob?: WorkloadFacts | undefined;
  readonly now: number;
}

/** How far a workload is, as its status says. */
export interface Progress {
  /** Whether everything is there that is wanted. */
  readonly complete: boolean;
  /** Whether as many pods as wanted are available, maybe of an earlier revision. */
  readonly serves?: boolean;
  /** Whether it cannot get further by itself. */
  readonly stuck: boolean;
  /** "3 of 3 replicas are available, all of revision 2". */
  readonly counts: string;
  /** What replaces "is up" and the like: "failed, BackoffLimitExceeded: ...". */
  readonly verdict?: string;
}

/** up: all that is wanted; progressing: on its way, nothing known to be wrong; stuck: something is in the way. */
export type WorkloadState = 'up' | 'progressing' | 'stuck';

/** One thing that is in the way. */
export interface WhyObstacle {
  readonly what: string;
  readonly pods: readonly string[];
  /** It passes by itself: pods that are only starting. */
  readonly isPassing?: boolean;
  /** Lines that say more: remedies, warnings, the last lines of a log. */
  readonly details: readonly string[];
}

export interface WhyAnswer {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: WorkloadState;
  readonly headline: string;
  readonly obstacles: readonly WhyObstacle[];
  /** What is worth knowing and is not in the way. */
  readonly notes: readonly string[];
}
