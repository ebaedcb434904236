import type { ErrorSubject } from '../../../api/errors/index.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import type { Lacks } from '../../../api/kinds/resource-quota/quota-rules.ts';
import type { QuotaShare } from '../../../api/kinds/resource-quota/quota-share.ts';
import type { WriteMemo } from '../../storage/storage.ts';
import type { KindCache } from '../../watch/kind-cache.ts';

/** A write that is about to be stored. */
export interface PlannedWrite {
  readonly key: string;
  readonly bytes: Uint8Array;
  /** What it replaces, if anything. */
  readonly replaces?: { readonly bytes: Uint8Array; readonly revision: number; elements?: number };
  /** Of a change: "update", "patch-status" and so on; absent: the object is new. */
  readonly verb?: string;
  /** What it asks of quotas, where that is known without decoding it. */
  readonly demand?: Demand | undefined;
  /** See `elementsOf`, which counts them when they are first asked for. */
  elements?: number | undefined;
}

/** What a new version of an object asks of the quotas of its namespace. */
export interface Demand {
  readonly share: QuotaShare;
  readonly lacks: Lacks;
}

/** How a writer says what became of its write. */
export interface Planned {
  /** The write was not stored. */
  cancel(): void;
  /** The write was stored with this revision. It counts here until the cache shows it. */
  settle(revision: number): void;
}

/**
 * Bounds what objects take together. A store checks and reserves each write in the turn in which it submits it, so that
 * writes at once do not exceed a bound together.
 */
export interface Ledger {
  /** Throws PERMISSION_DENIED for a write that there is no room for. */
  check(write: PlannedWrite, subject: ErrorSubject, cache: KindCache): void;
  /** Counts a write from now on; undefined where it takes nothing more. */
  reserve(write: PlannedWrite, cache: KindCache): Planned | undefined;
  /**
   * What a create, or a change of that verb, asks for, from the object before it is encoded; undefined where nothing
   * depends on it.
   */
  demandOf?(kind: Kind, object: ApiObject, change?: string): Demand | undefined;
}

/** Reserves a write; what the ledger has counted for that goes with it. */
export function reserveFor(
  { memo }: { readonly memo: WriteMemo },
  ledger: Ledger | undefined,
  planned: PlannedWrite,
  cache: KindCache,
): Planned | undefined {
  const reserved = ledger?.reserve(planned, cache);
  if (planned.elements !== undefined) memo.elements = planned.elements;
  return reserved;
}

/** Two ledgers as one: a write must be within the bounds of both. */
export function composeLedgers(first: Ledger, second: Ledger): Ledger {
  return {
    check(write, subject, cache) {
      first.check(write, subject, cache);
      second.check(write, subject, cache);
    },
    reserve(write, cache) {
      const [one, other] = [first.reserve(write, cache), second.reserve(write, cache)];
      return one && other ? new PlannedTwice(one, other) : (one ?? other);
    },
    demandOf: (kind, object, change) => first.demandOf?.(kind, object, change) ?? second.demandOf?.(kind, object, change),
  };
}

/**
 * What a write was allotted and what is reserved for it, as one for the store. The first outlives an attempt that
 * failed: the writer cancels it when it gives up.
 */
export function settlingBoth(allotted: Planned | undefined, reserved: Planned | undefined): Planned | undefined {
  if (!allotted) return reserved;
  return {
    cancel: () => reserved?.cancel(),
    settle(revision) {
      allotted.settle(revision);
      reserved?.settle(revision);
    },
  };
}

class PlannedTwice implements Planned {
  readonly #first: Planned;
  readonly #second: Planned;

  constructor(first: Planned, second: Planned) {
    this.#first = first;
    this.#second = second;
  }

  cancel(): void {
    this.#first.cancel();
    this.#second.cancel();
  }

  settle(revision: number): void {
    this.#first.settle(revision);
    this.#second.settle(revision);
  }
}
