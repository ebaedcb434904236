import type { LabelSelector, ObjectMeta, PodTemplateSpec } from '../../api/generated/types.ts';

/** An object with templates that are kept as ControllerRevisions: a StatefulSet or DaemonSet. */
export interface Revised {
  metadata?: ObjectMeta;
  spec?: { selector?: LabelSelector; template?: PodTemplateSpec; revisionHistoryLimit?: number };
  status?: { collisionCount?: number };
}

/** How the ControllerRevisions of a kind are named. */
export interface RevisedKind {
  readonly kind: { readonly apiVersion: string; readonly kind: string };
  /** The label that has the hash of a revision's name. */
  readonly hashLabel: string;
  /** Names are cut to so many characters: 63 where the name is the value of a label. */
  readonly longestName: number;
}
