import { callCancelled, type FieldViolation } from '../../api/errors/index.ts';
import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import type { AdmittedCall } from '../admission/dynamic.ts';
import type { AnyObject } from './any-object.ts';
import type { LeaseTerms } from './lease-terms.ts';

/**
 * Who writes, and how far: one value, made when the request is decoded and authorized, which goes with the write to the
 * store.
 */
export interface WriteContext {
  readonly user: string;
  readonly manager: string;
  readonly dryRun: boolean;
  /** Absent: the server itself, which does not go away. */
  readonly caller?: WriteCaller | undefined;
  /** The audit log's line of the call: hears of each object that was changed, and of a call that changes nothing. */
  readonly audited?: { changed(): void; unchanged(): void } | undefined;
  /** The leader's term under which the write was made; it is refused once that is over. Absent: nothing leads. */
  readonly term?: LeaseTerm | undefined;
  /**
   * What becomes of a write with fields that the kind does not have: refused, or stored without them, with or without a
   * warning. Absent: "Strict", and of kinds that users added "Warn".
   */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined;
  /** What the codec left out: fields that the kind does not have, and what stands before another of the same name. */
  readonly leftOut?: readonly FieldViolation[] | undefined;
  /** A merge patch of a status merges its conditions by type, as components of the minor version before expect. */
  readonly mergesConditions?: boolean | undefined;
  /** A change of the system's own: it goes on in a namespace that is full. */
  readonly exceedsLimits?: boolean | undefined;
  /** The call, for the rules that users add. Absent: the server itself, which these do not judge. */
  readonly admitted?: AdmittedCall | undefined;
  /**
   * Judges the version that a change starts from: throws PERMISSION_DENIED when the caller may not change this object.
   * Absent: may.
   */
  authorizeChange?(previous: AnyObject): void;
  /**
   * Judges a new object that rules changed, and completes it by what the server knows of the caller: throws
   * PERMISSION_DENIED. Absent: may.
   */
  checkNew?(object: AnyObject): void;
  /** Judges what a change makes of an object: throws PERMISSION_DENIED. Absent: may. */
  authorizeNext?(next: AnyObject, previous: AnyObject): void;
  /** Admission of the new version by the state of other objects. Absent: other objects do not matter. */
  admitChange?(next: AnyObject, previous: AnyObject): Promise<void> | undefined;
}

/** The call behind a write. */
export interface WriteCaller {
  /** Aborts with the call: a write that waits for its turn ends. Read only by one that waits. */
  readonly signal: AbortSignal;
  /** Whether the client has cancelled the call: what it wanted is not begun any more. */
  readonly isCancelled: boolean;
}

/**
 * Called in the turn in which a write is submitted. Throws CANCELLED: a client that has cancelled a write may read the
 * object next, and a write that was not begun then must not follow. Throws ABORTED for a leader whose term is over.
 */
export function checkWriter({ caller, term }: WriteContext, terms: LeaseTerms | undefined): void {
  if (caller?.isCancelled) throw callCancelled();
  if (term) terms?.check(term);
}

/** The version of an object that a change starts from. */
export interface Current {
  readonly bytes: Uint8Array;
  readonly revision: number;
}

export interface ChangeOptions {
  readonly context: WriteContext;
  readonly verb: string;
  /** The change is refused unless this is the current version; absent: whatever is current. */
  readonly resourceVersion?: string | undefined;
  /** The next version has its managed fields already, as an apply computes them. */
  readonly setsManagers?: boolean;
  /** The dynamic admission has judged the call already: see admitSubresource. */
  readonly isAdmitted?: boolean;
  /** May be called several times; must not change `previous`. */
  compute(previous: AnyObject, current: Current): AnyObject | 'remove' | Promise<AnyObject | 'remove'>;
}
