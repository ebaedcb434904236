import { isAlreadyExists, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Lease } from '../../api/generated/types.ts';
import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import { timestamp } from '../../api/meta/time.ts';
import type { Clock } from '../clock.ts';
import type { CallOptions, ResourceClient } from '../services/resource-client.ts';

export interface LeaseClaimOptions {
  readonly leases: Pick<ResourceClient<Lease>, 'get' | 'create' | 'update'>;
  readonly namespace: string;
  readonly name: string;
  /** Of this candidate, and of no other. */
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly clock: Clock;
  /** Called when the lease has not changed for its duration: an attempt may take it now. */
  readonly onOver?: (() => void) | undefined;
}

/** One candidate's view of a lease. Calls are made one after the other. */
export interface LeaseClaim {
  /**
   * Takes the lease, or renews it: 'mine' when this candidate holds it, counted from the call on; 'others' when another
   * does. Throws what the API throws: then it is unknown, and the next call finds out.
   */
  attempt(call?: CallOptions): Promise<'mine' | 'others'>;
  /** The lease as a watch shows it: its duration counts from then on, and not from the next attempt. */
  observe(lease: Lease): void;
  /** Releases it, if this candidate holds it. Throws what the API throws. */
  release(call?: CallOptions): Promise<void>;
  /** The holder when the lease was last read; "" for no holder. */
  holder(): string;
  /** The term that this candidate's last attempt found to be its own. Throws RangeError before. */
  term(): LeaseTerm;
  /** Waits for nothing any more. */
  end(): void;
}

/** The lease as its holder left it, and whether it has expired. */
interface Sighting {
  /** Another one for each write. */
  readonly sign: string;
  readonly holder: string;
  isOver: boolean;
  cancel(): void;
}

/** A write that another writer came before is made once more, from what is there then. */
const tries = 2;

const holderOf = (lease: Lease | undefined): string => lease?.spec?.holderIdentity ?? '';

/**
 * A holder is alive as long as its lease *changes*, seen from here and counted by timers: neither side's wall clock
 * matters. A lease that was deleted under its holder counts as held until its time is over, since the holder has yet to
 * notice.
 */
export function createLeaseClaim(options: LeaseClaimOptions): LeaseClaim {
  return new ObservedClaim(options);
}

class ObservedClaim implements LeaseClaim {
  readonly #options: LeaseClaimOptions;
  #seen: Sighting | undefined;
  /** As this candidate wrote it last; undefined: it has to be read first. */
  #own: Lease | undefined;
  /** The transition since which this candidate holds it; undefined: it does not yet. */
  #heldSince: number | undefined;

  constructor(options: LeaseClaimOptions) {
    this.#options = options;
  }

  async attempt(call: CallOptions = {}): Promise<'mine' | 'others'> {
    this.#own = await this.#write((lease) => (this.#isFree(lease) ? this.#held(lease) : undefined), call);
    this.#heldSince = this.#own && (this.#own.spec?.leaseTransitions ?? 0);
    return this.#own === undefined ? 'others' : 'mine';
  }

  term(): LeaseTerm {
    const { namespace, name, identity } = this.#options;
    if (this.#heldSince === undefined) throw new RangeError(`read the term of lease ${namespace}/${name}: it is not held`);
    return { namespace, name, holder: identity, transitions: this.#heldSince };
  }

  async release(call: CallOptions = {}): Promise<void> {
    await this.#write(
      (lease) => (lease !== undefined && holderOf(lease) === this.#options.identity ? this.#released(lease) : undefined),
      call,
    );
  }

  holder(): string {
    return this.#seen?.holder ?? '';
  }

  end(): void {
    this.#seen?.cancel();
  }

  async #find(call: CallOptions): Promise<Lease | undefined> {
    const { leases, namespace, name } = this.#options;
    try {
      return await leases.get({ namespace, name }, call);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  observe(lease: Lease | undefined): void {
    const sign = `${lease?.metadata?.uid} ${lease?.metadata?.resourceVersion}`;
    if (lease === undefined || this.#seen?.sign === sign) return;
    this.#seen?.cancel();
    const sighting: Sighting = { sign, holder: holderOf(lease), isOver: false, cancel: () => {} };
    const { leaseDurationSeconds } = lease.spec ?? {};
    const lastsMs = leaseDurationSeconds === undefined ? this.#options.leaseDurationMs : leaseDurationSeconds * 1000;
    sighting.cancel = this.#options.clock.after(lastsMs, () => {
      sighting.isOver = true;
      this.#options.onOver?.();
    });
    this.#seen = sighting;
  }

  #isFree(lease: Lease | undefined): boolean {
    const holder = lease === undefined ? (this.#seen?.holder ?? '') : holderOf(lease);
    return holder === '' || holder === this.#options.identity || this.#seen?.isOver === true;
  }

  /** As it is to be written, with this candidate as its holder. */
  #held(lease: Lease | undefined): Lease {
    const { clock, identity, namespace, name, leaseDurationMs } = this.#options;
    const now = timestamp(new Date(clock.now()));
    const { acquireTime, leaseTransitions = 0, ...rest } = lease?.spec ?? {};
    // A process that is started again under the same identity begins a term of its own.
    const isNew = holderOf(lease) !== identity || this.#heldSince !== lease?.spec?.leaseTransitions;
    return {
      ...lease,
      metadata: { ...lease?.metadata, namespace, name },
      spec: {
        ...rest,
        holderIdentity: identity,
        leaseDurationSeconds: leaseDurationMs / 1000,
        acquireTime: isNew ? now : (acquireTime ?? now),
        renewTime: now,
        leaseTransitions: leaseTransitions + (isNew && lease !== undefined ? 1 : 0),
      },
    };
  }

  /** A released lease: a second is the shortest duration that can be written. */
  #released(lease: Lease): Lease {
    const now = timestamp(new Date(this.#options.clock.now()));
    const { holderIdentity: _, ...rest } = lease.spec ?? {};
    return { ...lease, spec: { ...rest, leaseDurationSeconds: 1, acquireTime: now, renewTime: now } };
  }

  /** Undefined when `next`, which is asked about what is there, wants nothing written. */
  async #write(next: (lease: Lease | undefined) => Lease | undefined, call: CallOptions): Promise<Lease | undefined> {
    for (let attempt = 1; ; attempt++) {
      const lease = this.#own ?? (await this.#find(call));
      this.#own = undefined;
      this.observe(lease);
      const wanted = next(lease);
      if (wanted === undefined) return undefined;
      try {
        const written = await (lease === undefined
          ? this.#options.leases.create(wanted, {}, call)
          : this.#options.leases.update(wanted, {}, call));
        this.observe(written);
        return written;
      } catch (error) {
        const cameSecond = isConflict(error) || isNotFound(error) || isAlreadyExists(error);
        if (!cameSecond || attempt === tries) throw error;
      }
    }
  }
}
