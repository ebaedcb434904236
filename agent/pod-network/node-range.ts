import type { NodeNetwork } from '../../api/generated/types.ts';
import { type AddressRange, parseAddressRange } from '../../api/meta/address-range.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Informer } from '../../client/informer/informer.ts';
import { rangeTextOf } from './neighbours.ts';

type Networks = Pick<Informer<NodeNetwork>, 'lister' | 'addHandler' | 'waitForSync'>;

/** So long an agent that starts waits for a server, which may have given the node another range since. */
const withinMs = 5_000;

/** The range of this node's pods, as the server says it. */
export class NodeRange {
  readonly #networks: Networks;
  readonly #nodeName: string;

  constructor(networks: Networks, nodeName: string) {
    this.#networks = networks;
    this.#nodeName = nodeName;
  }

  /** Where it is another one than this; undefined while the server has not said any. */
  other(range: string): string | undefined {
    const own = this.#networks.lister.get(this.#nodeName);
    const now = own && rangeTextOf(own);
    return now === range ? undefined : now;
  }

  /**
   * The same for an agent that starts with what was kept: it waits for a server that says one soon. A node that was
   * deleted has none until it is registered again.
   */
  async otherSoon(range: string, clock: Clock, signal: AbortSignal): Promise<string | undefined> {
    const waiting = new AbortController();
    const until = AbortSignal.any([signal, waiting.signal]);
    await Promise.race([this.get(until), pause(withinMs, until, clock)]);
    waiting.abort();
    return signal.aborted ? undefined : this.other(range);
  }

  /** Undefined when the signal aborts before there is one. */
  async get(signal: AbortSignal): Promise<AddressRange | undefined> {
    await this.#networks.waitForSync(signal);
    while (!signal.aborted) {
      const changed = nextChange(this.#networks, signal);
      const own = this.#networks.lister.get(this.#nodeName);
      const text = own && rangeTextOf(own);
      if (text !== undefined) return parseAddressRange(text);
      await changed;
    }
    return undefined;
  }
}

/** For users: pods stay in a range that the node has no more, until the agent starts again. */
export const describeMove = (now: string, before: string): string =>
  `the node's range is ${now} now, and its pods are still in ${before}, where other nodes do not look for them: restart the agent`;

/** Resolves with the next change of any of them, or the end. */
export function nextChange(networks: Pick<Networks, 'addHandler'>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let isNew = false;
    const done = (): void => {
      // What is there already is told at once.
      if (!isNew) return;
      remove();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const remove = networks.addHandler({ name: 'pod-network', onAdd: done, onUpdate: done, onDelete: done });
    isNew = true;
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
