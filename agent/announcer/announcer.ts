import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Lease } from '../../api/generated/types.ts';
import { addressLeaseMs, addressLeaseSeconds, addressOfLease, leaseNameOf } from '../../api/meta/load-balancers.ts';
import { timestamp } from '../../api/meta/time.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import { linkAbort } from '../../client/abort.ts';
import type { Client } from '../../client/client.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Informer } from '../../client/informer/informer.ts';
import type { Logger } from '../../client/logger.ts';
import { WakeUp } from '../nft/wake-up.ts';
import type { TableService } from '../service-table/service.ts';
import { wordsOf } from '../words-of.ts';
import { decideAnnouncements, type Eligible, type LeaseView } from './decide.ts';
import { eligibleFor } from './eligible.ts';
import type { LinkAddresses } from './link-addresses.ts';

export interface AnnouncerOptions {
  readonly nodeName: string;
  readonly client: Pick<Client['leases'], 'get' | 'update'>;
  /** Those with the label of load balancers. */
  readonly leases: Pick<Informer<Lease>, 'lister' | 'addHandler'>;
  /** The names of all nodes. */
  readonly nodes: () => readonly string[];
  readonly addresses: Pick<LinkAddresses, 'known' | 'hold' | 'drop'>;
  /** Tells the hosts on the link that these are here now. */
  readonly announce: (addresses: readonly string[]) => Promise<void>;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly clock: Clock;
  /** Milliseconds that never jump (default: `performance.now`). */
  readonly now?: () => number;
}

/**
 * The times of a Lease, for a hand-over within 5 s at which never two nodes answer. All count from the moment at which
 * a renewal was sent, `T`:
 *
 *     T + 0.7 s   the answer is there, or it does not count
 *     T + 1 s     the next renewal; the address is on the link for 2 s more by now, or is taken off again
 *     T + 3.9 s   an agent that hangs since then has no address any more: the kernel ends it up to 0.8 s late
 *     T + 4 s     the earliest moment at which another node takes the Lease
 */
export const leaseTimes = {
  renewMs: 1_000,
  answerMs: 700,
  allAnsweredMs: 850,
  writtenMs: 1_100,
  linkSeconds: 2,
  leaseSeconds: addressLeaseSeconds.least,
} as const;
/** An agent that is told to end leaves its addresses on the link so long, for the next one. */
export const partingTimes = { linkSeconds: 12, leaseSeconds: addressLeaseSeconds.most } as const;
/** What is lost of the first announcement, the second tells. */
const announceAgainMs = 1_000;

type HoldTimes = Pick<typeof leaseTimes | typeof partingTimes, 'linkSeconds' | 'leaseSeconds'>;

interface Seen {
  readonly version: string;
  readonly at: number;
}

/**
 * Competes for the Leases of load balancers' addresses, and has the addresses of those that it holds on the node's
 * link. Services are set as they change; `run` begins when all are known.
 */
export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #now: () => number;
  /** By address, and by the key of the service. */
  readonly #services = new Map<string, Map<string, TableService>>();
  readonly #addressesOf = new Map<string, readonly string[]>();
  readonly #seen = new Map<string, Seen>();
  /** What the server answered to this node's own writes: the informer may not show it yet. */
  readonly #written = new Map<string, Lease>();
  /** Until when an address may be on the link, at the latest but for the kernel's delay. */
  readonly #until = new Map<string, number>();
  readonly #wakeUp = new WakeUp();
  #told = '';

  constructor(options: AnnouncerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  set(key: string, service: TableService | undefined): void {
    const before = this.#addressesOf.get(key) ?? [];
    const after = service?.loadBalancerAddresses ?? [];
    if (before.length === 0 && after.length === 0) return;
    for (const address of before) {
      const services = this.#services.get(address);
      services?.delete(key);
      if (services?.size === 0) this.#services.delete(address);
    }
    if (after.length === 0) this.#addressesOf.delete(key);
    else this.#addressesOf.set(key, after);
    for (const address of service ? after : []) {
      const services = this.#services.get(address) ?? new Map<string, TableService>();
      this.#services.set(address, services.set(key, service!));
    }
    this.#wakeUp.wake();
  }

  /** Until aborted. Then addresses stay on the link for some seconds, for an agent that starts again. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const leave = this.#follow();
    let renewAt = Number.NEGATIVE_INFINITY;
    for (const address of this.#options.addresses.known) this.#until.set(address, this.#now() + partingTimes.linkSeconds * 1_000);
    try {
      while (!signal.aborted) {
        const plan = this.#decide();
        await this.#attempt('taken from the link', () => this.#drop(plan.drop));
        await this.#release(plan.release);
        const isTime = this.#now() >= renewAt;
        if (isTime) renewAt = this.#now() + leaseTimes.renewMs;
        if (isTime) await this.#hold(plan.renew, leaseTimes, signal);
        await this.#hold(plan.take, leaseTimes, signal);
        await this.#attempt('taken from the link', () => this.#dropLapsed());
        const isBusy = [plan.renew, plan.take, plan.drop, plan.release].some(({ length }) => length > 0);
        await this.#wait(isBusy ? Math.min(renewAt, plan.nextAt) : plan.nextAt, signal);
      }
      await this.#hold(this.#decide().renew, partingTimes, signal);
    } finally {
      leave();
    }
  }

  /** Until something changes, and no longer than until then. */
  async #wait(at: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const turn = linkAbort(signal);
    const cancel = Number.isFinite(at) ? clock.after(Math.max(10, at - this.#now()), () => turn.abort()) : undefined;
    await this.#wakeUp.wait(turn.signal);
    cancel?.();
    turn.unlink();
  }

  #decide(): ReturnType<typeof decideAnnouncements> {
    const { nodeName: node, addresses } = this.#options;
    const now = this.#now();
    return decideAnnouncements({
      ...{ node, now, up: addresses.known, leases: this.#views() },
      eligible: (address) => this.#eligible(address),
    });
  }

  #eligible(address: string): Eligible | undefined {
    const services = this.#services.get(address);
    if (services === undefined) return undefined;
    const { nodeName, nodes } = this.#options;
    const each = [...services.values()].map((service) => eligibleFor(service, nodeName, nodes()));
    return { here: each.some(({ here }) => here), others: [...new Set(each.flatMap(({ others }) => others))] };
  }

  #views(): LeaseView[] {
    return this.#options.leases.lister.list().flatMap((shown) => {
      const lease = this.#newest(shown);
      const { name = '', resourceVersion: version = '' } = lease.metadata ?? {};
      const address = addressOfLease(name);
      if (address === undefined) return [];
      const { holderIdentity: holder = '', leaseTransitions = 0 } = lease.spec ?? {};
      const seenAt = this.#see(address, version);
      const durationMs = addressLeaseMs(lease.spec);
      return [{ address, holder, seenAt, durationMs, isReleased: holder === '' && leaseTransitions > 0 }];
    });
  }

  #newest(shown: Lease): Lease {
    const written = this.#written.get(shown.metadata?.name ?? '');
    if (written?.metadata?.uid !== shown.metadata?.uid) return shown;
    const version = ({ metadata }: Lease = {}) => Number(metadata?.resourceVersion ?? 0);
    return version(written) > version(shown) ? (written ?? shown) : shown;
  }

  #see(address: string, version: string): number {
    const known = this.#seen.get(address);
    if (known?.version === version) return known.at;
    const at = this.#now();
    this.#seen.set(address, { version, at });
    return at;
  }

  /** Renewals of others are noted, and wake nothing: the loop looks again when the one before would have run out. */
  #follow(): () => void {
    const see = ({ metadata }: Lease): string | undefined => {
      const address = addressOfLease(metadata?.name ?? '');
      if (address !== undefined) this.#see(address, metadata?.resourceVersion ?? '');
      return address;
    };
    return this.#options.leases.addHandler({
      name: 'announcer',
      onAdd: (lease) => {
        see(lease);
        this.#wakeUp.wake();
      },
      onUpdate: (next, old) => {
        see(next);
        if (next.spec?.holderIdentity !== old.spec?.holderIdentity) this.#wakeUp.wake();
      },
      onDelete: ({ metadata }) => {
        const name = metadata?.name ?? '';
        this.#written.delete(name);
        this.#seen.delete(addressOfLease(name) ?? '');
        this.#wakeUp.wake();
      },
    });
  }

  async #drop(addresses: readonly string[]): Promise<void> {
    if (addresses.length === 0) return;
    await this.#options.addresses.drop(addresses);
    for (const address of addresses) this.#until.delete(address);
    this.#options.logger.info({ addresses }, 'load balancer addresses are not on this node any more');
  }

  /** What was not extended in time, because the server does not answer: the kernel has ended it by now. */
  async #dropLapsed(): Promise<void> {
    const { addresses } = this.#options;
    const lapsed = [...addresses.known].filter((address) => (this.#until.get(address) ?? 0) <= this.#now());
    if (lapsed.length === 0) return;
    await addresses.drop(lapsed);
    this.#warn(`load balancer addresses ${lapsed.join(', ')} are dropped: their Leases could not be renewed`);
  }

  /** Takes or renews Leases, and puts the addresses of those on the link for which that was answered in time. */
  async #hold(addresses: readonly string[], times: HoldTimes, signal: AbortSignal): Promise<void> {
    if (addresses.length === 0) return;
    const sentAt = this.#now();
    const isNew = addresses.filter((address) => !this.#isOwn(address));
    const written = await Promise.all(addresses.map((address) => this.#write(address, times.leaseSeconds)));
    const held = addresses.filter((_, i) => written[i]);
    if (held.length === 0) return;
    if (this.#now() - sentAt > leaseTimes.allAnsweredMs) {
      this.#warn(`renewals of load balancer addresses took ${Math.round(this.#now() - sentAt)} ms: too late`);
      return;
    }
    const { addresses: link, logger } = this.#options;
    const gained = held.filter((address) => isNew.includes(address) || !link.known.has(address));
    const isDone = await this.#attempt('put on the link', () => link.hold(held, times.linkSeconds));
    // The agent may have stood still in between: then the addresses are there for longer than the Lease says.
    if (!isDone || this.#now() - sentAt > leaseTimes.writtenMs) {
      await this.#attempt('taken from the link', () => link.drop(held));
      return;
    }
    for (const address of held) this.#until.set(address, sentAt + leaseTimes.writtenMs + times.linkSeconds * 1_000);
    if (gained.length === 0) return;
    logger.info({ addresses: gained }, 'load balancer addresses are on this node now');
    void this.#tell(gained, signal);
  }

  async #tell(addresses: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#attempt('announced', () => this.#options.announce(addresses));
    await pause(announceAgainMs, signal, this.#options.clock);
    if (signal.aborted) return;
    const still = addresses.filter((address) => this.#options.addresses.known.has(address));
    await this.#attempt('announced', () => this.#options.announce(still));
  }

  #lease(address: string): Lease | undefined {
    const shown = this.#options.leases.lister.get(`${namespaces.system}/${leaseNameOf(address)}`);
    return shown && this.#newest(shown);
  }

  #isOwn(address: string): boolean {
    return this.#lease(address)?.spec?.holderIdentity === this.#options.nodeName;
  }

  /** Whether this node has the Lease from now on; `seconds` 0 gives it back. */
  async #write(address: string, seconds: number): Promise<boolean> {
    const { client, nodeName } = this.#options;
    const lease = this.#lease(address);
    if (lease === undefined) return false;
    const now = timestamp(new Date());
    const isOwn = lease.spec?.holderIdentity === nodeName;
    const spec = {
      ...{ ...lease.spec, renewTime: now, leaseDurationSeconds: seconds || leaseTimes.leaseSeconds },
      holderIdentity: seconds === 0 ? '' : nodeName,
      ...(!isOwn && { acquireTime: now, leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + 1 }),
    };
    try {
      const written = await client.update({ ...lease, spec }, {}, { timeoutMs: leaseTimes.answerMs });
      this.#written.set(lease.metadata?.name ?? '', written);
      this.#told = '';
      return true;
    } catch (error) {
      // Another node was first, or the controllers changed it: the informer is about to show it.
      if (!isConflict(error) && !isNotFound(error)) this.#warn(`the Lease of ${address} cannot be written: ${wordsOf(error)}`);
      return false;
    }
  }

  async #release(addresses: readonly string[]): Promise<void> {
    // Not before they are off the link.
    const gone = addresses.filter((address) => !this.#options.addresses.known.has(address));
    await Promise.all(gone.map((address) => this.#write(address, 0)));
  }

  async #attempt(what: string, act: () => Promise<void>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      this.#warn(`load balancer addresses cannot be ${what}: ${wordsOf(error)}`);
      return false;
    }
  }

  /** The same words once, until something goes well. */
  #warn(words: string): void {
    if (words !== this.#told) this.#options.logger.warn({}, words);
    this.#told = words;
  }
}
