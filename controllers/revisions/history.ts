import type { ControllerRevision, PodTemplateSpec } from '../../api/generated/types.ts';
import { computeTemplateHash } from '../../api/kinds/pod-template/hash.ts';
import { controllerReference } from '../../api/meta/owner.ts';
import { compareTimestamps } from '../../api/meta/time.ts';
import { annotations as wellKnown } from '../../api/meta/well-known.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import type { Revised, RevisedKind } from './revised.ts';
import { dataOfTemplate, isRevisionOf } from './revision-data.ts';

export const numberOf = ({ revision }: ControllerRevision): number => revision ?? 0;
export const nameOfRevision = ({ metadata }: ControllerRevision): string => metadata?.name ?? '';

/** Oldest first: by their numbers, then by age. */
export function inOrder(revisions: readonly ControllerRevision[]): ControllerRevision[] {
  return revisions.toSorted(
    (a, b) =>
      numberOf(a) - numberOf(b) ||
      compareTimestamps(a.metadata?.creationTimestamp, b.metadata?.creationTimestamp) ||
      (nameOfRevision(a) < nameOfRevision(b) ? -1 : 1),
  );
}

/** The step that makes the revision of the present template the newest. */
export type RevisionStep =
  | { readonly do: 'nothing'; readonly update: ControllerRevision }
  /** The template is new. */
  | { readonly do: 'create'; readonly number: number }
  /** The template is one of before. */
  | { readonly do: 'renumber'; readonly revision: ControllerRevision; readonly number: number };

/** `revisions` are in order. Templates are compared by meaning. */
export function decideRevision(revisions: readonly ControllerRevision[], template: PodTemplateSpec): RevisionStep {
  const newest = revisions.at(-1);
  if (newest && isRevisionOf(newest, template)) return { do: 'nothing', update: newest };
  const number = newest ? numberOf(newest) + 1 : 1;
  const known = revisions.findLast((revision) => isRevisionOf(revision, template));
  return known ? { do: 'renumber', revision: known, number } : { do: 'create', number };
}

/** The oldest revisions beyond the limit of the history. Those that live are kept, and do not count. */
export function decideTruncation(
  revisions: readonly ControllerRevision[],
  { isLive, limit }: { readonly isLive: (revision: ControllerRevision) => boolean; readonly limit: number },
): ControllerRevision[] {
  const past = revisions.filter((revision) => !isLive(revision) && !revision.metadata?.deletionTimestamp);
  return past.slice(0, Math.max(0, past.length - limit));
}

/**
 * The revision of an object's present template. Its name follows from the template, so that two controllers, or a
 * request that is repeated, make the same one. It has the annotations of the object: `rollout history` shows the cause
 * of the change that stands there.
 */
export function newRevision({ kind, hashLabel, longestName }: RevisedKind, object: Revised, number: number): ControllerRevision {
  const { metadata = {}, spec = {}, status } = object;
  const template = spec.template ?? {};
  const hash = computeTemplateHash(template, status?.collisionCount || undefined);
  const { [wellKnown.lastApplied]: _, ...annotations } = metadata.annotations ?? {};
  const prefix = (metadata.name ?? '').slice(0, longestName - hash.length - 1).replace(/[-.]+$/, '');
  return {
    metadata: {
      name: `${prefix}-${hash}`,
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: { ...template.metadata?.labels, [hashLabel]: hash },
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ownerReferences: [controllerReference(kind, object)],
    },
    data: dataOfTemplate(template),
    revision: number,
  };
}

/** Whether a pod of the revision has ever been ready. */
export function hasBeenReady({ metadata }: ControllerRevision): boolean {
  return metadata?.annotations?.[workloadAnnotations.hasBeenReady] === 'true';
}
