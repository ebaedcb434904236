import { createBackoff } from '../../client/backoff.ts';
import { pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import { computeHeldElements, computeServiceContent, type ServiceContent } from './compute-elements.ts';
import { createConntrackFlows, type FlowTable } from './conntrack.ts';
import { FlowSweeper } from './flow-sweeper.ts';
import { readHeldPorts } from './held-ports.ts';
import {
  checkSettings,
  nameOfTable,
  renderEmptyTable,
  renderEntry,
  renderProbe,
  type TableOwner,
  type TableSettings,
} from './layout.ts';
import { NftProcess, NftRefusedError } from './nft-process.ts';
import { renderDifference, renderInChunks } from './render-difference.ts';
import type { HeldPort, TableService } from './service.ts';
import { WakeUp } from './wake-up.ts';
import { WantedContent } from './wanted-content.ts';

export interface ServiceTableOptions extends TableSettings {
  /** What is put before `nft` and `conntrack`, such as `ip netns exec NAME`; nothing by default. */
  readonly prefix?: readonly string[];
  /** Conntrack (default: the program of this name). */
  readonly flows?: FlowTable;
  readonly logger: Logger;
}

/**
 * The nftables table that carries a node's Services to their endpoints. The agent sets Services as its informers tell
 * them; the first table is built with those that were set before `run`. What stands in the kernel outlives `run`: an
 * agent that starts again replaces it in one step.
 */
export interface ServiceTable {
  /** Replaces what is wanted of a Service (`key`: namespace/name), or with undefined removes it. Returns at once. */
  set(key: string, service: TableService | undefined): void;
  /** Resolves when everything that was set so far is in force, or `run` has ended. */
  settled(): Promise<void>;
  /** The table in force as far as known (undefined: it is being built), and how many changes wait to be in it. */
  status(): ServiceTableStatus;
  /** Keeps the table as wanted until aborted; waits and tries again after every failure. Never throws. */
  run(signal: AbortSignal): Promise<void>;
}

export interface ServiceTableStatus {
  readonly table: string | undefined;
  readonly waiting: number;
}

/** How often the table is looked for, and which ports other programs hold: a table that is gone is back within 5 s. */
const checkMs = 2_000;
/** Elements in one transaction of a table that is built: 0.1 s, in which no other transaction gets through. */
const chunkSize = 5_000;
/** Services in one transaction: when many change at once, the first need not wait for the last. */
const batchSize = 500;
const heldOwner = 'held ports';

/** @throws Error when a name or a range is none */
export function createServiceTable(options: ServiceTableOptions): ServiceTable {
  checkSettings(options);
  return new NodeServiceTable(options);
}

/** Removes the tables of a node, for purge. @throws NftRefusedError, NftLostError */
export async function removeServiceTable(owner: TableOwner, prefix: readonly string[] = []): Promise<void> {
  const nft = new NftProcess({ prefix });
  const tables = ([0, 1] as const).map((turn) => nameOfTable(owner, turn));
  try {
    await nft.run(tables.map(renderRemoval).join('; '));
  } finally {
    nft.close();
  }
}

/** Also where there is no such table. */
const renderRemoval = (table: string): string => `add table ip ${table}; delete table ip ${table}`;

class NodeServiceTable implements ServiceTable {
  readonly #options: ServiceTableOptions;
  readonly #nft: NftProcess;
  readonly #wanted = new WantedContent();
  readonly #sweeper: FlowSweeper;
  /** Set, and not yet in `#wanted`. */
  readonly #changes = new Map<string, TableService | undefined>();
  /** Services with node ports, which have to be looked at again when another program takes or leaves one. */
  readonly #withNodePorts = new Map<string, TableService>();
  #held: readonly HeldPort[] = [];
  /** The table in force as far as known; undefined when it has to be built. */
  #table: string | undefined;
  #checkedAt = 0;
  #settling: (() => void)[] = [];
  #ended = false;
  readonly #wakeUp = new WakeUp();

  constructor(options: ServiceTableOptions) {
    this.#options = options;
    this.#nft = new NftProcess({ prefix: options.prefix ?? [] });
    const flows = options.flows ?? createConntrackFlows(options.prefix);
    this.#sweeper = new FlowSweeper({ flows, serviceRanges: options.serviceRanges, logger: options.logger });
  }

  set(key: string, service: TableService | undefined): void {
    this.#changes.set(key, service);
    this.#wakeUp.wake();
  }

  settled(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#settling.push(resolve);
      this.#wakeUp.wake();
    });
  }

  status(): ServiceTableStatus {
    return { table: this.#table, waiting: this.#changes.size };
  }

  async run(signal: AbortSignal): Promise<void> {
    const backoff = createBackoff({ initialMs: 200, maxMs: 2_000 });
    const sweeping = this.#sweeper.run(signal);
    while (!signal.aborted) {
      try {
        await this.#step();
        backoff.reset();
        if (this.#changes.size === 0) this.#settle();
        await this.#wakeUp.wait(signal, Math.max(0, this.#checkedAt + checkMs - Date.now()));
      } catch (error) {
        this.#table = undefined;
        if (signal.aborted) break;
        this.#options.logger.warn({ err: error }, 'the table of services is built again');
        await pause(backoff.next(), signal);
      }
    }
    this.#nft.close();
    await sweeping;
    this.#ended = true;
    this.#settle();
  }

  /** Does what is due. When it fails, it is not known what the table holds. */
  async #step(): Promise<void> {
    if (this.#table !== undefined && Date.now() - this.#checkedAt >= checkMs) await this.#check(this.#table);
    while (this.#changes.size > 0 || this.#table === undefined) {
      const batch = this.#table === undefined ? this.#changes.size : batchSize;
      const difference = this.#wanted.apply(await this.#takeChanges(batch));
      if (this.#table === undefined) {
        await this.#build();
        continue;
      }
      const transaction = renderDifference(this.#table, difference);
      if (transaction !== '') await this.#nft.run(transaction);
      this.#sweeper.wake();
    }
  }

  async #check(table: string): Promise<void> {
    this.#checkedAt = Date.now();
    try {
      await this.#nft.run(renderProbe(table));
    } catch (error) {
      if (!(error instanceof NftRefusedError)) throw error;
      this.#options.logger.warn({ table }, 'another program removed the table of services; it is built again');
      this.#table = undefined;
      return;
    }
    const held = await this.#readHeld();
    if (JSON.stringify(held) === JSON.stringify(this.#held)) return;
    // Their Services are worked out anew; what was set meanwhile counts more.
    for (const [key, service] of this.#withNodePorts) if (!this.#changes.has(key)) this.#changes.set(key, service);
  }

  async #takeChanges(count: number): Promise<[string, ServiceContent | undefined][]> {
    const taken = [...this.#changes].slice(0, count);
    for (const [key, service] of taken) {
      this.#changes.delete(key);
      this.#sweeper.set(key, service);
      if (service?.ports.some(({ nodePort }) => nodePort !== undefined)) this.#withNodePorts.set(key, service);
      else this.#withNodePorts.delete(key);
    }
    const content: [string, ServiceContent | undefined][] = [];
    if (taken.some(([key]) => this.#withNodePorts.has(key))) {
      const held = await this.#readHeld();
      if (held.length > 0 && JSON.stringify(held) !== JSON.stringify(this.#held)) {
        this.#options.logger.warn({ held }, 'node ports that other programs listen on are left to them');
      }
      this.#held = held;
      content.push([heldOwner, { elements: computeHeldElements(this.#held), chains: [] }]);
    }
    for (const [key, service] of taken) {
      content.push([key, service && computeServiceContent(service, this.#options, this.#held)]);
    }
    return content;
  }

  async #readHeld(): Promise<HeldPort[]> {
    const ports = new Set<string>();
    for (const service of this.#withNodePorts.values()) {
      for (const { protocol, nodePort } of service.ports) if (nodePort !== undefined) ports.add(`${protocol}:${nodePort}`);
    }
    // nft runs in the network that the table is in.
    return ports.size === 0 ? [] : readHeldPorts(this.#nft.pid ?? 'self', ports);
  }

  /** Fills the table that is not in force, and then puts it in the place of the other in one transaction. */
  async #build(): Promise<void> {
    const beganAt = Date.now();
    const tables = ([0, 1] as const).map((turn) => nameOfTable(this.#options, turn));
    const old = await this.#findInForce(tables);
    const [table, other] = old === tables[0] ? [tables[1]!, tables[0]!] : [tables[0]!, tables[1]!];
    await this.#nft.run(renderEmptyTable(table, this.#options));
    for (const transaction of renderInChunks(table, this.#wanted.whole(), chunkSize)) await this.#nft.run(transaction);
    await this.#nft.run(`${renderRemoval(other)}; ${renderEntry(table, this.#options)}`);
    this.#table = table;
    this.#checkedAt = Date.now();
    this.#sweeper.request();
    this.#options.logger.info({ table, ms: Date.now() - beganAt }, 'built the table of services');
  }

  async #findInForce(tables: readonly string[]): Promise<string | undefined> {
    for (const table of tables) {
      try {
        await this.#nft.run(renderProbe(table));
        return table;
      } catch (error) {
        if (!(error instanceof NftRefusedError)) throw error;
      }
    }
    return undefined;
  }

  #settle(): void {
    for (const resolve of this.#settling.splice(0)) resolve();
  }
}
