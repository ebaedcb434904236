import { type Clock, pause } from '../../client/clock.ts';
import type { AddressOfPod, JoiningPod, LinkGate } from '../pod-network/link-gate.ts';
import type { PolicyFeed } from './policy-feed.ts';
import type { PolicyTable } from './policy-table.ts';

interface Open {
  readonly feed: Pick<PolicyFeed, 'admit' | 'found' | 'left'>;
  readonly table: Pick<PolicyTable, 'settled' | 'figures'>;
  /** Ends what keeps the table. */
  readonly signal: AbortSignal;
}

/** So long a pod waits for its policies before its start counts as failed; it is tried again with back-off. */
const patienceMs = 10_000;
/** How often the engine is asked which addresses are in use, until it answers. */
const lookMs = 2_000;

/**
 * Lets pods into the network when their policies are in force. Until `open` there is nothing to wait for: the node
 * knows no cluster with policies.
 */
export class PolicyGate implements LinkGate {
  readonly #clock: Clock;
  #open: Open | undefined;
  /** What came before it was opened. */
  readonly #early = new Map<string, JoiningPod>();
  #found: readonly AddressOfPod[] | undefined;
  readonly #hasFound = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async admit(address: string, pod: JoiningPod): Promise<void> {
    if (this.#open === undefined) {
      this.#early.set(address, pod);
      return;
    }
    const { feed, table, signal } = this.#open;
    feed.admit(address, pod.uid, pod);
    const late = new AbortController();
    const isSettled = await Promise.race([
      table.settled().then(() => true),
      pause(patienceMs, late.signal, this.#clock).then(() => false),
    ]);
    late.abort();
    // The table settles also when nothing keeps it any more.
    if (signal.aborted) throw new Error('the agent is being stopped');
    if (isSettled) return;
    throw new Error(
      table.figures().builds === 0
        ? "the network policies are not known yet: the server has not told them since the agent's start"
        : 'its network policies could not be written within 10 s: see the log of the agent',
    );
  }

  found(all: readonly AddressOfPod[]): void {
    if (this.#open) this.#open.feed.found(all);
    else this.#found = all;
    this.#hasFound.abort();
  }

  left(address: string): void {
    this.#early.delete(address);
    this.#open?.feed.left(address);
  }

  /** From here on pods wait. */
  open(parts: Open): void {
    this.#open = parts;
    parts.feed.found(this.#found ?? []);
    for (const [address, pod] of this.#early) parts.feed.admit(address, pod.uid, pod);
    this.#early.clear();
    this.#found = undefined;
  }

  /** Asks (`look`) until it is told which addresses are in use, or aborted. */
  async untilFound(look: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#hasFound.signal.aborted) {
      // An engine that does not answer is told by others.
      await look().catch(() => {});
      await pause(lookMs, AbortSignal.any([signal, this.#hasFound.signal]), this.#clock);
    }
  }
}
