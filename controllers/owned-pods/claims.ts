import type { LabelSelector, ObjectMeta } from '../../api/generated/types.ts';
import { compileLabelSelector } from '../../api/meta/labels.ts';
import { controllerOf } from '../../api/meta/owner.ts';

export interface Claimable {
  metadata?: ObjectMeta;
}

/** What an owner does about objects that it may claim. */
export interface Claims<T> {
  /** Those that are its own, and match. */
  readonly owned: readonly T[];
  /** Those that match and have no controller: to be made its own. */
  readonly adopt: readonly T[];
  /** Its own that do not match any more: to be let go. */
  readonly release: readonly T[];
}

/**
 * Which objects an owner owns, adopts and releases. An object that is being deleted is never adopted; an owner that is
 * being deleted neither adopts nor releases, since its objects are the garbage collector's. Kubernetes' rules
 * (controller_ref_manager.go).
 */
export function decideClaims<T extends Claimable>(
  owner: Claimable,
  selector: LabelSelector | undefined,
  candidates: Iterable<T>,
): Claims<T> {
  const { uid, deletionTimestamp } = owner.metadata ?? {};
  const owned: T[] = [];
  const adopt: T[] = [];
  const release: T[] = [];
  const matcher = selector && compileLabelSelector(selector);
  for (const candidate of candidates) {
    const controller = controllerOf(candidate);
    const isMatch = matcher?.matches(candidate.metadata?.labels) === true;
    if (controller) {
      if (controller.uid !== uid) continue;
      if (isMatch) owned.push(candidate);
      else if (!deletionTimestamp) release.push(candidate);
    } else if (isMatch && !deletionTimestamp && !candidate.metadata?.deletionTimestamp) adopt.push(candidate);
  }
  return { owned, adopt, release };
}
