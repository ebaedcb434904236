import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { PortMapping } from '../runtime/runtime.ts';
import type { ServiceTable } from '../service-table/service-table.ts';
import { wordsOf } from '../words-of.ts';
import { holdPort, type PortHold } from './port-hold.ts';
import { portKey, tableServiceOf } from './table-service.ts';

export interface HostPortsOptions {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: a socket. */
  readonly hold?: typeof holdPort;
}

/** The port that cannot be taken, and what the kernel says of it. */
export class PortTakenError extends Error {
  readonly mapping: PortMapping;
  readonly code: string | undefined;

  constructor(mapping: PortMapping, cause: unknown) {
    super(wordsOf(cause), { cause });
    this.mapping = mapping;
    this.code = (cause as NodeJS.ErrnoException | undefined)?.code;
  }
}

interface Taken {
  holder: string;
  readonly mapping: PortMapping;
  hold: PortHold | undefined;
  /** The pod's, once it is there. */
  address: string | undefined;
}

/** So long a sandbox waits for its ports to be in force; then it goes on without. */
const inForceMs = 2_000;

/** The ports of the machine that lead to the node's pods. */
export class HostPorts {
  readonly #options: HostPortsOptions;
  /** By `portKey`. */
  readonly #taken = new Map<string, Taken>();
  /** Ports that were said to be lost. */
  readonly #lost = new Set<string>();
  #table: Pick<ServiceTable, 'set' | 'settled'> | undefined;
  #hasRestored: () => void = () => {};
  /** Resolves when the ports of all sandboxes of before are known. */
  readonly whenRestored: Promise<void>;

  constructor(options: HostPortsOptions) {
    this.#options = options;
    this.whenRestored = new Promise((resolve) => {
      this.#hasRestored = resolve;
    });
  }

  /** The table that leads to the pods from now on. */
  useTable(table: Pick<ServiceTable, 'set' | 'settled'>): void {
    this.#table = table;
    for (const key of this.#taken.keys()) this.#lead(key);
  }

  /** Takes the ports for a sandbox, all or none. @throws PortTakenError */
  async take(holder: string, mappings: readonly PortMapping[]): Promise<void> {
    const made: string[] = [];
    for (const mapping of mappings) {
      const key = portKey(mapping);
      const had = this.#taken.get(key);
      if (had?.holder === holder) continue;
      if (had && podOf(had.holder) === podOf(holder)) {
        // A sandbox of the pod before this one: the hold passes over, so that no other program comes between.
        if (had.address !== undefined) this.#table?.set(tableKey(key), undefined);
        Object.assign(had, { holder, address: undefined });
        continue;
      }
      try {
        if (had) throw Object.assign(new Error('another pod has it'), { code: 'EADDRINUSE' });
        const taken: Taken = { holder, mapping, hold: undefined, address: undefined };
        this.#taken.set(key, taken);
        made.push(key);
        const hold = await (this.#options.hold ?? holdPort)(mapping);
        if (this.#taken.get(key) === taken) taken.hold = hold;
        else hold.release();
      } catch (error) {
        for (const each of made) this.#drop(each);
        throw new PortTakenError(mapping, error);
      }
    }
  }

  /** Leads the ports that the sandbox has taken to its address. Returns when they are in force. */
  async publish(holder: string, address: string): Promise<void> {
    if (!this.#leadTo(holder, address) || this.#table === undefined) return;
    const waited = new AbortController();
    await Promise.race([this.#table.settled(), pause(inForceMs, waited.signal, this.#options.clock)]);
    waited.abort();
  }

  /** For a sandbox that an agent before this one published. One whose port another program has now goes without it. */
  async restore(holder: string, address: string, mappings: readonly PortMapping[]): Promise<void> {
    for (const mapping of mappings) {
      const key = portKey(mapping);
      try {
        await this.take(holder, [mapping]);
        this.#lost.delete(key);
      } catch (error) {
        if (!this.#lost.has(key))
          this.#options.logger.warn({ holder }, `host port ${key} of a running pod is lost: ${wordsOf(error)}`);
        this.#lost.add(key);
      }
    }
    this.#leadTo(holder, address);
  }

  /** `restore` was called for all sandboxes that an agent before this one published. */
  restored(): void {
    this.#hasRestored();
  }

  withdraw(holder: string): void {
    for (const [key, taken] of this.#taken) if (taken.holder === holder) this.#drop(key);
  }

  /** Whether that is new. */
  #leadTo(holder: string, address: string): boolean {
    let isNew = false;
    for (const [key, taken] of this.#taken) {
      if (taken.holder !== holder || taken.address === address) continue;
      taken.address = address;
      this.#lead(key);
      isNew = true;
    }
    return isNew;
  }

  #lead(key: string): void {
    const taken = this.#taken.get(key);
    if (taken?.address === undefined) return;
    this.#table?.set(tableKey(key), tableServiceOf(taken.mapping, taken.address, this.#options.nodeName));
  }

  #drop(key: string): void {
    const taken = this.#taken.get(key);
    if (taken === undefined) return;
    this.#taken.delete(key);
    taken.hold?.release();
    if (taken.address !== undefined) this.#table?.set(tableKey(key), undefined);
  }
}

/** Holders are sandboxes: the pod's uid and the attempt. */
const podOf = (holder: string): string => holder.slice(0, holder.lastIndexOf('/'));

/** No Service has such a name. */
const tableKey = (key: string): string => `host port ${key}`;
