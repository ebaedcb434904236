import type { Deployment, ReplicaSet } from '../../api/generated/types.ts';
import { toMillis } from '../../api/meta/time.ts';
import { annotations } from '../../api/meta/well-known.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import { meanSame } from '../template-digests.ts';
import { boundsOf, replicasOf } from './sizes.ts';

const createdAt = ({ metadata }: ReplicaSet): number => (metadata?.creationTimestamp ? toMillis(metadata.creationTimestamp) : 0);

/** The oldest first; of one second by name. */
export const byAge = (a: ReplicaSet, b: ReplicaSet): number =>
  createdAt(a) - createdAt(b) || ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1);

/** Kubernetes counts revisions in 64 bits, and clients may name any of them. */
const lastRevision = 2n ** 63n - 1n;

/** The revision that a Deployment or ReplicaSet is of; 0 where it says none. */
export function revisionOf({ metadata }: Deployment | ReplicaSet): bigint {
  const text = metadata?.annotations?.[workloadAnnotations.revision] ?? '';
  const revision = /^\d{1,19}$/.test(text) ? BigInt(text) : 0n;
  return revision <= lastRevision ? revision : 0n;
}

/** The lowest revision first. */
export function byRevision(a: ReplicaSet, b: ReplicaSet): number {
  const [first, second] = [revisionOf(a), revisionOf(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** A Deployment's ReplicaSets: that of its present template, where it has one, and all others, the oldest first. */
export interface Family {
  readonly current: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
}

/** Of several ReplicaSets with the present template the oldest counts: every look chooses the same. */
export function familyOf({ spec }: Deployment, sets: readonly ReplicaSet[]): Family {
  const sorted = sets.toSorted(byAge);
  const current = sorted.find((set) => meanSame(set.spec?.template, spec?.template));
  return { current, old: sorted.filter((set) => set !== current) };
}

/** The most characters that a ReplicaSet's earlier revisions take. Kubernetes' figure. */
const longestHistory = 2_000;

/** Annotations of a Deployment that are its own, or are set on each ReplicaSet by itself. */
const notCopied: ReadonlySet<string> = new Set([
  annotations.lastApplied,
  workloadAnnotations.revision,
  workloadAnnotations.revisionHistory,
  workloadAnnotations.desiredReplicas,
  workloadAnnotations.maxReplicas,
  workloadAnnotations.rolledBackTo,
  'deprecated.deployment.rollback.to',
]);

/** The annotations of the ReplicaSet of the present template: the Deployment's, the revision, and revisions before. */
export function annotationsOfCurrent(
  deployment: Deployment,
  set: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): Record<string, string> {
  const copied = Object.entries(deployment.metadata?.annotations ?? {}).filter(([name]) => !notCopied.has(name));
  const next: Record<string, string> = { ...set?.metadata?.annotations, ...Object.fromEntries(copied) };
  const before = set ? revisionOf(set) : 0n;
  const newest = old.toSorted(byRevision).at(-1);
  const revision = (newest ? revisionOf(newest) : 0n) + 1n;
  if (before < revision && revision <= lastRevision) {
    next[workloadAnnotations.revision] = String(revision);
    if (before > 0n) next[workloadAnnotations.revisionHistory] = withHistory(next[workloadAnnotations.revisionHistory], before);
  }
  return next;
}

function withHistory(history: string | undefined, revision: bigint): string {
  const all = [...(history ? history.split(',') : []), String(revision)];
  while (all.length > 1 && all.join(',').length > longestHistory) all.shift();
  return all.join(',');
}

/** How a ReplicaSet notes what the Deployment wants in all, for proportional scaling. */
export function sizeAnnotations(deployment: Deployment): Record<string, string> {
  const replicas = replicasOf(deployment);
  return {
    [workloadAnnotations.desiredReplicas]: String(replicas),
    [workloadAnnotations.maxReplicas]: String(replicas + boundsOf(deployment).maxSurge),
  };
}

/** The number in such an annotation; undefined where there is none. */
export function sizeIn({ metadata }: ReplicaSet, annotation: string): number | undefined {
  const text = metadata?.annotations?.[annotation] ?? '';
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}
