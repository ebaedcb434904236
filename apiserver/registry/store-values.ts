import type { Kind } from '../../api/kinds/kind.ts';
import type { Write, WriteMemo } from '../storage/storage.ts';
import type { AnyObject } from './any-object.ts';
import type { Demand, Planned } from './ledgers/ledger.ts';
import type { Current } from './write-context.ts';

export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** What a write or a read answers: the object's bytes with its resourceVersion, and sentences for the client. */
export interface StoreResult {
  readonly bytes: Buffer;
  readonly warnings: readonly string[];
  /** What the bytes are, where they are no object of the store's kind: the Scale of one. */
  readonly form?: Kind;
  /** Whether a delete has removed the object, rather than marked it. */
  readonly isRemoved?: boolean;
  /** Whether an apply has made the object, rather than changed it. */
  readonly isCreated?: boolean;
}

/** A write that a store hands over: see WriteMemo. */
export type OwnWrite = Write & { readonly memo: WriteMemo };

/** A new object, encoded: a create that waits for the disk should not keep what it has decoded. */
export interface NewObject {
  readonly at: ObjectName;
  readonly bytes: Buffer;
  /** How many elements it has (`countElements`), where that is known without looking. */
  readonly elements?: number | undefined;
  /** See Write.awaitsDisk. */
  readonly awaitsDisk?: boolean;
  /** See PlannedWrite.demand. */
  readonly demand?: Demand | undefined;
  /** See KindStore.allot. Its maker cancels it. */
  readonly allotted?: Planned | undefined;
}

/** What a change makes of the version that it starts from. */
export interface NextVersion {
  readonly current: Current;
  readonly previous: AnyObject;
  readonly next: AnyObject;
  readonly allotted: Planned | undefined;
  /** There was a write a moment ago, which the cache may not show yet. */
  readonly again: boolean;
}

/** The same, with the next version as it is stored. */
export interface Versions extends Pick<NextVersion, 'current' | 'previous' | 'next'> {
  readonly bytes: Buffer;
}

/**
 * Verbs, besides those of a status, whose changes the generation does not count: a binding answers what is wanted, and
 * may bring annotations; a default comes with a newer schema.
 */
export const WISHLESS_VERBS: ReadonlySet<string> = new Set(['bind', 'default']);

/** What goes on while the disk is full: only with it does space come back. */
export const URGENT_VERBS: ReadonlySet<string> = new Set(['delete', 'finalize', 'update-status', 'patch-status', 'apply-status']);
/** What goes on in a namespace that is full: it ends objects, or says where a pod runs. */
export const UNBOUNDED_VERBS: ReadonlySet<string> = new Set(['delete', 'finalize', 'bind']);

/**
 * What a name or namespace may hold at most; under anything else nothing can be stored, and the store would refuse the
 * key.
 */
export const POSSIBLE_NAME = /^[!-.0-~]{1,253}$/;
