import { type Clock, pause, systemClock } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import { WakeUp } from '../nft/wake-up.ts';
import type { FlowTable } from './conntrack.ts';
import type { TableService } from './service.ts';
import { compareUdpFronts, computeUdpFronts, createFlowJudge, type UdpFronts } from './udp-flows.ts';

export interface FlowSweeperOptions {
  readonly flows: FlowTable;
  readonly serviceRanges: readonly string[];
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** Reading conntrack costs time in proportion to its flows, so several changes share one sweep. */
const betweenMs = 500;
const retryMs = 5_000;
/**
 * How many fronts with endpoints that went are remembered while sweeps fail. Flows of further ones are found all the
 * same where a Service still has the address, or it is in a range of Services.
 */
const maxGone = 10_000;

/**
 * Removes UDP flows to endpoints that have gone, once the table no longer names them. Established TCP is left alone.
 */
export class FlowSweeper {
  readonly #options: FlowSweeperOptions;
  readonly #clock: Clock;
  /** By Service; only those with UDP ports. */
  readonly #fronts = new Map<string, UdpFronts>();
  /** Endpoints that went since the last sweep that succeeded. */
  #gone = new Map<string, Set<string>>();
  /** Whether a sweep is wanted, as soon as the table is as its Services are. */
  #wanted = false;
  readonly #wakeUp = new WakeUp();

  constructor(options: FlowSweeperOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Notes what flows may go on with. The sweep that this makes necessary begins with `wake`. */
  set(key: string, service: TableService | undefined): void {
    const before = this.#fronts.get(key) ?? new Map();
    const after = computeUdpFronts(service);
    if (before.size === 0 && after.size === 0) return;
    if (after.size === 0) this.#fronts.delete(key);
    else this.#fronts.set(key, after);
    const { gone, appeared } = compareUdpFronts(before, after);
    for (const [front, endpoints] of gone) this.#addGone(front, endpoints);
    if (gone.size > 0 || appeared) this.#wanted = true;
  }

  /** The table is as the Services that were set. */
  wake(): void {
    if (this.#wanted) this.#wakeUp.wake();
  }

  /** Wants a sweep whatever changed: while there was no table, flows began that it did not translate. */
  request(): void {
    if (this.#fronts.size > 0 || this.#gone.size > 0) this.#wanted = true;
    this.wake();
  }

  /** Sweeps until aborted. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#wakeUp.wait(signal);
      if (signal.aborted || !this.#wanted) continue;
      this.#wanted = false;
      const gone = this.#gone;
      this.#gone = new Map();
      try {
        const judge = createFlowJudge(this.#all(), gone, this.#options.serviceRanges);
        const removed = await this.#options.flows.removeUdp(judge);
        if (removed > 0) this.#options.logger.debug({ removed }, 'removed UDP flows to endpoints that have gone');
        await pause(betweenMs, signal, this.#clock);
      } catch (error) {
        this.#options.logger.warn({ err: error }, 'UDP flows to endpoints that have gone are not removed yet');
        for (const [front, endpoints] of gone) this.#addGone(front, endpoints);
        this.#wanted = true;
        await pause(retryMs, signal, this.#clock);
        this.#wakeUp.wake();
      }
    }
  }

  #addGone(front: string, endpoints: ReadonlySet<string>): void {
    const known = this.#gone.get(front);
    if (known === undefined && this.#gone.size >= maxGone) return;
    this.#gone.set(front, new Set([...(known ?? []), ...endpoints]));
  }

  #all(): UdpFronts {
    return new Map([...this.#fronts.values()].flatMap((fronts) => [...fronts]));
  }
}
