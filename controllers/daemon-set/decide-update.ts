import type { Pod } from '../../api/generated/types.ts';
import {
  boundsOf,
  type DaemonPlan,
  type DaemonView,
  isLeaving,
  isServing,
  isUpdated,
  type Place,
  placesOf,
  withinBurst,
} from './decide.ts';

/** The pods of a node that stay; there is at most one of each, otherwise the surplus goes first. */
interface Pair {
  readonly fresh: Pod | undefined;
  readonly old: Pod | undefined;
}

/**
 * The next step of a rolling update, once every node has the pods that it should. Old pods that are not available go
 * first, and do not count: nothing is lost by them. Kubernetes' rules (update.go).
 */
export function decideUpdate(view: DaemonView): DaemonPlan {
  const plan: DaemonPlan = { create: [], delete: [], ended: [] };
  if (view.set.spec?.updateStrategy?.type === 'OnDelete') return plan;
  const all = placesOf(view).places;
  // A pod that leaves a node for good, as one that is lost does, holds the update up no longer.
  const places = all.filter(({ eligibility, pods }) => eligibility === 'run' || pods.some((pod) => !isLeaving(pod)));
  const bounds = boundsOf(view.set, all.filter(({ eligibility }) => eligibility === 'run').length);
  if (bounds.maxSurge === 0) replaceInPlace(plan, view, places, bounds.maxUnavailable);
  else surge(plan, view, places, bounds.maxSurge);
  return withinBurst(plan);
}

function pairOf({ pods }: Place, view: DaemonView): Pair | undefined {
  const staying = pods.filter((pod) => !isLeaving(pod));
  const fresh = staying.filter((pod) => isUpdated(pod, view));
  const old = staying.filter((pod) => !isUpdated(pod, view));
  return fresh.length > 1 || old.length > 1 ? undefined : { fresh: fresh[0], old: old[0] };
}

/** Deletes old pods, as many as may be unavailable; the next look makes new ones in their place. */
function replaceInPlace(plan: DaemonPlan, view: DaemonView, places: readonly Place[], maxUnavailable: number): void {
  let unavailable = 0;
  const candidates: Pod[] = [];
  for (const place of places) {
    const { fresh, old } = pairOf(place, view) ?? {};
    const only = fresh && old ? undefined : (fresh ?? old);
    const serves = only !== undefined && isServing(only, view);
    if (!serves) unavailable++;
    if (only === undefined || only !== old) continue;
    if (serves) candidates.push(old);
    else plan.delete.push(old);
  }
  plan.delete.push(...candidates.slice(0, Math.max(0, maxUnavailable - unavailable)));
}

/** Makes new pods beside old ones, as many as the surge allows; old ones go when the new ones are available. */
function surge(plan: DaemonPlan, view: DaemonView, places: readonly Place[], maxSurge: number): void {
  let surging = 0;
  let available = 0;
  const candidates: string[] = [];
  /** Old pods that serve on nodes that are not to have one any more. */
  const retiring: Pod[] = [];
  for (const place of places) {
    const pair = pairOf(place, view);
    if (!pair) {
      surging++;
      continue;
    }
    const { fresh, old } = pair;
    const first = old ?? fresh;
    if (first && isServing(first, view)) available++;
    if (!old) continue;
    if (fresh) {
      if (isServing(fresh, view)) plan.delete.push(old);
      else surging++;
    } else if (!isServing(old, view)) {
      if (place.eligibility === 'run') plan.create.push(place.node);
      else plan.delete.push(old);
    } else if (place.eligibility === 'run') candidates.push(place.node);
    else retiring.push(old);
  }
  const wanted = places.filter(({ eligibility }) => eligibility === 'run').length;
  plan.delete.push(...retiring.slice(0, Math.max(0, available - wanted)));
  plan.create.push(...candidates.slice(0, Math.max(0, maxSurge - surging)));
}
