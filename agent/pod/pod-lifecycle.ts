import type { Refusal } from './admission.ts';

/** Why the agent ends a pod; `gracePeriodSeconds` where the pod's own does not count. */
export interface Ending extends Refusal {
  readonly gracePeriodSeconds?: number;
}

/**
 * What the node decided about a pod. It is kept while the pod leaves: an admitted pod holds its room until it is
 * released, and the last status tells why a pod was refused or ended.
 *
 *     new --admit--> admitted --end--> ended     (its deadline, an eviction; not the end of its containers)
 *      \--refuse--> refused
 */
export type Decision =
  | { readonly type: 'new' }
  | { readonly type: 'admitted' }
  | { readonly type: 'refused'; readonly why: Refusal }
  | { readonly type: 'ended'; readonly why: Ending };

/**
 * How far a pod is in its life on this node. `admit`, `refuse`, `end`, `hint` and `list` change what a state carries,
 * and leave the state as it is.
 *
 *     wanted --drop-volumes--> finished                 the containers have ended and are kept for their logs
 *       |                         |
 *       +----- delete, vanish ----+--> leaving --release--> released --(deleted from the API: no record any more)
 *                                        ^
 *     (only the engine knows the pod) ---+
 */
export type PodLife = LifeFacts &
  (
    | { readonly type: 'wanted' }
    /** Its volumes are gone from the machine. */
    | { readonly type: 'finished' }
    /** Never taken back; the grace period only shrinks. */
    | ({ readonly type: 'leaving' } & Departure)
    /** Nothing of it is left on the machine; only the delete from the API remains. */
    | ({ readonly type: 'released' } & Departure)
  );

/** What every state carries. */
interface LifeFacts {
  readonly decision: Decision;
  /** The engine was changed, or may have been, since the pod's containers were listed last. */
  readonly isStale: boolean;
}

/** How a pod leaves. */
export interface Departure {
  /** Undefined for a pod that only the engine knows: its containers' labels tell. */
  readonly gracePeriodSeconds: number | undefined;
  /** Neither the API nor a file has the pod any more, so nothing is reported about it. */
  readonly isGone: boolean;
}

export type PodLifeEvent =
  /** The pod may run here. */
  | { readonly type: 'admit' }
  | { readonly type: 'refuse'; readonly why: Refusal }
  /** The agent ends an admitted pod before its containers do. The first reason counts. */
  | { readonly type: 'end'; readonly why: Ending }
  /** Nothing of the pod runs again, and its volumes were removed. */
  | { readonly type: 'drop-volumes' }
  /** The API has the pod with a deletionTimestamp. */
  | { readonly type: 'delete'; readonly gracePeriodSeconds: number }
  /** The API or the file has the pod no more. */
  | { readonly type: 'vanish'; readonly gracePeriodSeconds: number }
  /** The containers, folders and volumes of a pod that leaves were removed. */
  | { readonly type: 'release' }
  /** Something happened to a container. */
  | { readonly type: 'hint' }
  /** The engine is about to list the pod's containers. */
  | { readonly type: 'list' };

/** The life of a pod that the API or a file describes. */
export function beginLife(isStale: boolean): PodLife {
  return { type: 'wanted', decision: { type: 'new' }, isStale };
}

/** The life of a pod that only the engine knows: it has to go. */
export function orphanLife(): PodLife {
  return { type: 'leaving', decision: { type: 'new' }, isStale: false, gracePeriodSeconds: undefined, isGone: true };
}

/** The next state; the same value where the event changes nothing. Pure. */
export function computeLife(life: PodLife, event: PodLifeEvent): PodLife {
  switch (event.type) {
    case 'admit':
    case 'refuse':
    case 'end': {
      const decision = decide(life.decision, event);
      return decision === life.decision ? life : { ...life, decision };
    }
    case 'drop-volumes':
      return life.type === 'wanted' ? { ...life, type: 'finished' } : life;
    case 'delete':
      return leave(life, { gracePeriodSeconds: event.gracePeriodSeconds, isGone: false });
    case 'vanish':
      return leave(life, { gracePeriodSeconds: event.gracePeriodSeconds, isGone: true });
    case 'release':
      return life.type === 'leaving' ? { ...life, type: 'released' } : life;
    case 'hint':
    case 'list': {
      const isStale = event.type === 'hint';
      return life.isStale === isStale ? life : { ...life, isStale };
    }
  }
}

function decide(decision: Decision, event: Extract<PodLifeEvent, { type: 'admit' | 'refuse' | 'end' }>): Decision {
  switch (event.type) {
    case 'admit':
      return decision.type === 'new' ? { type: 'admitted' } : decision;
    case 'refuse':
      return decision.type === 'new' ? { type: 'refused', why: event.why } : decision;
    case 'end':
      return decision.type === 'admitted' ? { type: 'ended', why: event.why } : decision;
  }
}

function leave(life: PodLife, demand: { readonly gracePeriodSeconds: number; readonly isGone: boolean }): PodLife {
  const { decision, isStale } = life;
  if (life.type === 'wanted' || life.type === 'finished') return { type: 'leaving', decision, isStale, ...demand };
  const gracePeriodSeconds = Math.min(life.gracePeriodSeconds ?? demand.gracePeriodSeconds, demand.gracePeriodSeconds);
  const isGone = life.isGone || demand.isGone;
  if (gracePeriodSeconds === life.gracePeriodSeconds && isGone === life.isGone) return life;
  return { ...life, gracePeriodSeconds, isGone };
}

/** How the pod leaves; undefined while it stays. */
export function departureOf(life: PodLife): Departure | undefined {
  return life.type === 'leaving' || life.type === 'released' ? life : undefined;
}

export function isLeaving(life: PodLife): boolean {
  return departureOf(life) !== undefined;
}

/** Whether neither the API nor a file has the pod any more. */
export function isGone(life: PodLife): boolean {
  return departureOf(life)?.isGone === true;
}

/** Whether the node has given the pod its room, whatever came after that. */
export function isAdmitted({ decision }: PodLife): boolean {
  return decision.type === 'admitted' || decision.type === 'ended';
}

/** Whether the pod was admitted, and neither the agent nor the API ends it. */
export function isActive(life: PodLife): boolean {
  return life.decision.type === 'admitted' && !isLeaving(life);
}

/** Why the node did not admit the pod. */
export function refusalOf({ decision }: PodLife): Refusal | undefined {
  return decision.type === 'refused' ? decision.why : undefined;
}

/** Why the agent ended the pod. */
export function endingOf({ decision }: PodLife): Ending | undefined {
  return decision.type === 'ended' ? decision.why : undefined;
}
