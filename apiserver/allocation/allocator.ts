import type { ErrorSubject } from '../../api/errors/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { AnyObject } from '../registry/any-object.ts';
import type { Planned } from '../registry/ledgers/ledger.ts';

/** A version of an object that is about to be stored. */
export interface Allotment {
  readonly key: string;
  readonly subject: ErrorSubject;
  /** Completed in place. */
  readonly next: AnyObject;
  /** Absent: the object is new. */
  readonly previous?: AnyObject | undefined;
  /** Numbers are chosen, and not held. */
  readonly dryRun: boolean;
}

/** Gives new versions what no two objects may have. Asked by the stores in the turn in which a version is complete. */
export interface Allocator {
  /** Whether it gives objects of the kind anything. */
  allots(kind: Kind): boolean;
  /**
   * Completes a version and holds what it has until the returned value is cancelled, or settled and shown. Throws
   * INVALID_ARGUMENT for what another object has or nothing can have, FAILED_PRECONDITION when nothing is free.
   */
  allot(allotment: Allotment): Planned | undefined;
}
