import type { DynamicAdmission } from '../admission/dynamic.ts';
import type { Allocator } from '../allocation/allocator.ts';
import type { Storage } from '../storage/storage.ts';
import type { LeaseTerms } from './lease-terms.ts';
import type { Ledger } from './ledgers/ledger.ts';

/** What the stores of all kinds share. */
export interface StoreEnvironment {
  readonly storage: Storage;
  readonly now: () => Date;
  readonly random: () => number;
  readonly uid: () => string;
  /** Bounds what objects take together. Absent: nothing does. */
  readonly ledger?: Ledger | undefined;
  /** Gives objects what no two may have. Absent: nothing does. */
  readonly allocator?: Allocator | undefined;
  /** The rules that users add. Absent: there can be none. */
  readonly dynamic?: DynamicAdmission | undefined;
  /** Refuses writes of leaders whose term is over. Absent: none carries one. */
  readonly terms?: LeaseTerms | undefined;
}
