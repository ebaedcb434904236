import type { ControllerRevision, OwnerReference, PersistentVolumeClaim, Pod, StatefulSet } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { claimNames, identityLabels, newClaims, podName } from '../../api/kinds/stateful-set/new-pod.ts';
import { decideClaimOwners, goesWithEarlierPod, hasConflict } from './claim-owners.ts';
import { isLeaving, isOfRevision, isRunningAndReady, isServing, ordinalOf, type Wishes, wishesOf } from './replicas.ts';

/** What is decided on. */
export interface SetView {
  readonly set: StatefulSet;
  /** The set's pods, ended and ending ones included. */
  readonly pods: readonly Pod[];
  /** The revision that pods are replaced from, and that of the present template. They may be the same. */
  readonly current: ControllerRevision;
  readonly update: ControllerRevision;
  /** Whether a pod of the current revision has ever been ready. */
  readonly isCurrentProven: boolean;
  /** By name, in the set's namespace. */
  readonly claim: (name: string) => PersistentVolumeClaim | undefined;
  /** How long a pod that has ended is still to stay, in ms. */
  readonly replaceableInMs: (pod: Pod) => number;
  readonly now: number;
}

/** What is to be made for an ordinal: claims, and then the pod, if it is not there. */
export interface NewReplica {
  readonly ordinal: number;
  readonly claims: readonly PersistentVolumeClaim[];
  readonly revision?: ControllerRevision | undefined;
}

export interface SetPlan {
  /** Claims that are to have other owners; before anything is deleted. */
  readonly owners: { readonly claim: PersistentVolumeClaim; readonly references: readonly OwnerReference[] }[];
  /** Claims that should go with the set or a pod, and that another object controls. */
  readonly conflicts: PersistentVolumeClaim[];
  /** Pods without the labels that say which they are. */
  readonly relabel: { readonly pod: Pod; readonly labels: Readonly<Record<string, string>> }[];
  readonly make: NewReplica[];
  readonly delete: Pod[];
  /** Pods that cannot be made yet, and why. */
  readonly blocked: { readonly pod: string; readonly why: string }[];
  /** When a pod that has ended may be replaced. */
  againInMs?: number | undefined;
}

/** So many pods are made at a time; then the outcome is looked at. */
const burst = 500;

/** An ordinal of the set, and its pod. */
interface Slot {
  readonly ordinal: number;
  readonly pod: Pod | undefined;
}

interface Decision extends SetView {
  readonly wishes: Wishes;
  /** The ordinals that have a pod, and of those that lack one the first, as many as are made at a time. */
  readonly slots: readonly Slot[];
  /** How many ordinals lack a pod besides. */
  readonly lacking: number;
  /** Pods beyond the ordinals, the highest first. */
  readonly surplus: readonly Slot[];
  readonly plan: SetPlan;
}

export const emptyPlan = (): SetPlan => ({ owners: [], conflicts: [], relabel: [], make: [], delete: [], blocked: [] });

/**
 * The next step from the pods that there are to those that are wanted:
 *
 *     fill the ordinals --all available--> take away what is too many --none left--> replace what is outdated
 *
 * Ordered, each arrow waits for all before it, and a step is about one pod. Parallel, all is done at once, and only the
 * replacement of pods that are available waits, for `maxUnavailable`.
 */
export function decideReplicas(view: SetView): SetPlan {
  const plan = emptyPlan();
  if (view.set.metadata?.deletionTimestamp) return plan;
  const decision: Decision = { ...view, ...slotsOf(view), plan };
  keepUp(decision);
  if (decision.wishes.isOrdered) decideInOrder(decision);
  else decideAtOnce(decision);
  return plan;
}

/** Costs what there is, and a burst, however many replicas are wanted: there may be two thousand million. */
function slotsOf({ set, pods }: SetView): Pick<Decision, 'wishes' | 'slots' | 'lacking' | 'surplus'> {
  const wishes = wishesOf(set);
  const byOrdinal = new Map<number, Pod>();
  for (const pod of pods) {
    const ordinal = ordinalOf(set, pod);
    if (ordinal !== undefined) byOrdinal.set(ordinal, pod);
  }
  const slots: Slot[] = [];
  const surplus: Slot[] = [];
  for (const [ordinal, pod] of byOrdinal)
    (ordinal < wishes.start || ordinal >= wishes.end ? surplus : slots).push({ ordinal, pod });
  const lacking = wishes.end - wishes.start - slots.length;
  const shown = Math.min(lacking, burst);
  for (let ordinal = wishes.start, left = shown; left > 0; ordinal++) {
    if (byOrdinal.has(ordinal)) continue;
    slots.push({ ordinal, pod: undefined });
    left--;
  }
  slots.sort((a, b) => a.ordinal - b.ordinal);
  return { wishes, slots, lacking: lacking - shown, surplus: surplus.sort((a, b) => b.ordinal - a.ordinal) };
}

/** What waits for nothing: labels of pods, claims of pods that do not run yet, and owners of claims. */
function keepUp(decision: Decision): void {
  const { slots, surplus, set, claim, plan } = decision;
  for (const slot of slots) {
    const { pod, ordinal } = slot;
    if (!pod) continue;
    keepClaims(decision, pod, slot);
    if (isLeaving(pod) || isFinished(pod)) continue;
    const labels = identityLabels(set, ordinal);
    if (Object.entries(labels).some(([key, value]) => pod.metadata?.labels?.[key] !== value)) plan.relabel.push({ pod, labels });
    const claims = pod.status?.phase === 'Pending' ? missingClaims(set, ordinal, claim) : [];
    if (claims.length > 0) plan.make.push({ ordinal, claims });
  }
  for (const slot of surplus) if (slot.pod) keepClaims(decision, slot.pod, slot);
}

function keepClaims({ set, claim, wishes, plan }: Decision, pod: Pod, { ordinal }: Slot): void {
  const isSurplus = ordinal < wishes.start || ordinal >= wishes.end;
  // A surplus pod that is being deleted takes its claims with it, even if the set has grown again meanwhile.
  if (isLeaving(pod) && !isSurplus && wishes.isOrdered) return;
  for (const name of claimNames(set, ordinal)) {
    const found = claim(name);
    if (!found) continue;
    const of = { set, claim: found, pod, isSurplus };
    const references = decideClaimOwners(of);
    if (references) plan.owners.push({ claim: found, references });
    if ((references || pod.status?.phase === 'Pending') && hasConflict(of)) plan.conflicts.push(found);
  }
}

const missingClaims = (set: StatefulSet, ordinal: number, claim: SetView['claim']): PersistentVolumeClaim[] =>
  newClaims(set, ordinal).filter(({ metadata }) => !claim(metadata?.name ?? ''));

function decideInOrder(decision: Decision): void {
  const { slots, surplus, plan, wishes, now } = decision;
  for (const slot of slots) {
    if (slot.pod && isServing(slot.pod, wishes, now)) continue;
    if (!slot.pod) decideCreation(decision, slot);
    else if (isFinished(slot.pod)) decideReplacement(decision, slot.pod);
    else if (isBroken(decision, slot)) plan.delete.push(slot.pod);
    return;
  }
  const [last] = surplus;
  if (!last) decideUpdate(decision, wishes.maxUnavailable);
  else if (last.pod && !isLeaving(last.pod) && mayLeave(decision, last.pod)) plan.delete.push(last.pod);
}

/**
 * Whether the highest pod that is too many may go now. As in Kubernetes, one that is not available waits until it is,
 * or until it alone is not: a member that is taken away while others are out, too, may be the one that they need to
 * come back. Not waited for is what has ended, or is of a revision that has never worked, as in `isBroken`.
 */
function mayLeave({ surplus, wishes, now, current, isCurrentProven }: Decision, last: Pod): boolean {
  if (isServing(last, wishes, now) || isFinished(last)) return true;
  if (!isOfRevision(last, current) || !isCurrentProven) return true;
  return surplus.every(({ pod }) => !pod || pod === last || (isRunningAndReady(pod) && !isLeaving(pod)));
}

function decideAtOnce(decision: Decision): void {
  const { slots, lacking, surplus, plan, wishes, now } = decision;
  let unavailable = lacking;
  for (const slot of slots) {
    if (slot.pod && isServing(slot.pod, wishes, now)) continue;
    unavailable++;
    if (!slot.pod) decideCreation(decision, slot);
    else if (isFinished(slot.pod)) decideReplacement(decision, slot.pod);
    else if (isOutdated(decision, slot) && !isRunningAndReady(slot.pod) && !isLeaving(slot.pod)) plan.delete.push(slot.pod);
  }
  for (const { pod } of surplus) if (pod && !isLeaving(pod)) plan.delete.push(pod);
  decideUpdate(decision, wishes.maxUnavailable - unavailable);
  plan.make.splice(burst);
}

function decideCreation(decision: Decision, { ordinal }: Slot): void {
  const { set, claim, plan } = decision;
  const pod = podName(set, ordinal);
  for (const name of claimNames(set, ordinal)) {
    const found = claim(name);
    const isLeaving = found?.metadata?.deletionTimestamp || (found && goesWithEarlierPod(set, found, pod));
    if (isLeaving) return void plan.blocked.push({ pod, why: `pvc ${name} is being deleted` });
  }
  plan.make.push({ ordinal, claims: missingClaims(set, ordinal, claim), revision: revisionOfNew(decision, ordinal) });
}

/**
 * The revision of a pod that is made. Below the partition it is the current one. Without a partition, a pod that is
 * lost during an update comes back as what its neighbours still are (Kubernetes' rule), if that has ever worked; but
 * not in parallel, where pods that are not ready are replaced at once: one that came back outdated would be replaced
 * for ever.
 */
function revisionOfNew({ set, slots, wishes, current, update, isCurrentProven }: Decision, ordinal: number): ControllerRevision {
  if (!wishes.isRolling) return update;
  if (set.spec?.updateStrategy?.rollingUpdate) return ordinal < wishes.updatedFrom ? current : update;
  if (!wishes.isOrdered || !isCurrentProven) return update;
  const neighbours = slots.filter(({ pod }) => pod && isOfRevision(pod, current) && !isLeaving(pod)).length;
  return ordinal < wishes.start + neighbours ? current : update;
}

/** A pod that has ended is deleted, and made anew when it is gone. */
function decideReplacement({ replaceableInMs, plan }: Decision, pod: Pod): void {
  if (isLeaving(pod)) return;
  const inMs = replaceableInMs(pod);
  if (inMs <= 0) plan.delete.push(pod);
  else plan.againInMs = Math.min(inMs, plan.againInMs ?? inMs);
}

/** Whether an update is to replace the pod, sooner or later. */
function isOutdated({ wishes, current, update }: Decision, { ordinal, pod }: Slot): boolean {
  if (!pod || !wishes.isRolling) return false;
  // Below the partition, pods of the present template stay where they are (Kubernetes' rule).
  return !isOfRevision(pod, update) && (ordinal >= wishes.updatedFrom || !isOfRevision(pod, current));
}

/**
 * Whether an outdated pod that is not ready need not be waited for: its revision was on its way when the template
 * changed again, or has never had a pod that was ready. So a broken update is rolled back, or corrected, without a
 * deletion by hand; Kubernetes waits for such a pod. A pod of the current revision that has worked before is waited
 * for.
 */
function isBroken(decision: Decision, slot: Slot): boolean {
  const { pod } = slot;
  if (!pod || isLeaving(pod) || isRunningAndReady(pod) || !isOutdated(decision, slot)) return false;
  return !isOfRevision(pod, decision.current) || !decision.isCurrentProven;
}

/** Replaces pods that serve and are of another revision, from the highest ordinal, as many as may be missing. */
function decideUpdate(decision: Decision, budget: number): void {
  const { slots, wishes, update, now, plan } = decision;
  if (!wishes.isRolling) return;
  const outdated = slots.filter(
    ({ ordinal, pod }) => pod && ordinal >= wishes.updatedFrom && isServing(pod, wishes, now) && !isOfRevision(pod, update),
  );
  for (const { pod } of outdated.reverse().slice(0, Math.max(0, budget))) plan.delete.push(pod!);
}

/** Whether the plan makes or deletes pods: what is there is counted when that shows. */
export const isActing = ({ make, delete: deleted }: SetPlan): boolean => make.length + deleted.length > 0;
