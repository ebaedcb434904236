import type { Logger } from '../../client/logger.ts';
import { KeptTable, removeKeptTable, type TableContent, type TableOwner } from '../nft/kept-table.ts';
import type { NftProcess } from '../nft/nft-process.ts';
import { computeHeldElements, computeServiceContent, type ServiceContent } from './compute-elements.ts';
import { createConntrackFlows, type FlowTable } from './conntrack.ts';
import { FlowSweeper } from './flow-sweeper.ts';
import { readHeldPorts } from './held-ports.ts';
import { checkSettings, renderEmptyTable, renderEntry, serviceTableKind, type TableSettings } from './layout.ts';
import { renderDifference, renderInChunks } from './render-difference.ts';
import type { HeldPort, TableService } from './service.ts';
import { WantedContent } from './wanted-content.ts';

export interface ServiceTableOptions extends TableSettings {
  /** What is put before `nft` and `conntrack`, such as `ip netns exec NAME`; nothing by default. */
  readonly prefix?: readonly string[];
  /** See KeptTableOptions. */
  readonly nft?: NftProcess;
  /** Conntrack (default: the program of this name). */
  readonly flows?: FlowTable;
  readonly logger: Logger;
  /** Another program removed the table: it may have removed more. */
  readonly onLost?: () => void;
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

/** Elements in one transaction of a table that is built: 0.1 s, in which no other transaction gets through. */
const chunkSize = 5_000;
/** Services in one transaction: when many change at once, the first need not wait for the last. */
const batchSize = 500;
const heldOwner = 'held ports';

/** @throws Error when a name or a range is none */
export function createServiceTable(options: ServiceTableOptions): ServiceTable {
  checkSettings(options);
  const content = new NodeServices(options, () => table.pid);
  const { prefix, nft, logger } = options;
  const base = { kind: serviceTableKind, owner: options, content, nft, logger };
  const table: KeptTable = new KeptTable({ ...base, ...(prefix && { prefix }) });
  return {
    set(key, service) {
      content.set(key, service);
      table.wake();
    },
    settled: () => table.settled(),
    status: () => ({ table: table.name, waiting: content.waiting }),
    run: async (signal) => void (await Promise.all([table.run(signal), content.sweeper.run(signal)])),
  };
}

/** Removes the tables of a node, for purge. @throws NftRefusedError, NftLostError */
export const removeServiceTable = (owner: TableOwner, prefix: readonly string[] = []): Promise<void> =>
  removeKeptTable(serviceTableKind, owner, prefix);

class NodeServices implements TableContent {
  readonly sweeper: FlowSweeper;
  readonly #options: ServiceTableOptions;
  readonly #nftPid: () => number | undefined;
  readonly #wanted = new WantedContent();
  /** Set, and not yet in `#wanted`. */
  readonly #changes = new Map<string, TableService | undefined>();
  /** Services with node ports, which have to be looked at again when another program takes or leaves one. */
  readonly #withNodePorts = new Map<string, TableService>();
  /** Ports that the agent listens on itself. */
  readonly #heldByAgent = new Map<string, string>();
  #held: readonly HeldPort[] = [];

  constructor(options: ServiceTableOptions, nftPid: () => number | undefined) {
    this.#options = options;
    this.#nftPid = nftPid;
    const flows = options.flows ?? createConntrackFlows(options.prefix);
    this.sweeper = new FlowSweeper({ flows, serviceRanges: options.serviceRanges, logger: options.logger });
  }

  set(key: string, service: TableService | undefined): void {
    this.#changes.set(key, service);
  }

  get waiting(): number {
    return this.#changes.size;
  }

  hasChanges(): boolean {
    return this.#changes.size > 0;
  }

  async take(table: string | undefined): Promise<string> {
    const batch = table === undefined ? this.#changes.size : batchSize;
    const difference = this.#wanted.apply(await this.#takeChanges(batch));
    return table === undefined ? '' : renderDifference(table, difference);
  }

  renderEmpty(table: string): string {
    return renderEmptyTable(table, this.#options);
  }

  renderWhole(table: string): Iterable<string> {
    return renderInChunks(table, this.#wanted.whole(), chunkSize);
  }

  renderEntry(table: string): string {
    return renderEntry(table, this.#options);
  }

  applied(): void {
    this.sweeper.wake();
  }

  built(): void {
    this.sweeper.request();
  }

  lost(): void {
    this.#options.onLost?.();
  }

  async checked(): Promise<void> {
    if (JSON.stringify(await this.#readHeld()) !== JSON.stringify(this.#held)) this.#reconsider();
  }

  /** Services with node ports are worked out anew, but those of `without`; what was set meanwhile counts more. */
  #reconsider(without: ReadonlySet<string> = new Set()): void {
    for (const [key, service] of this.#withNodePorts)
      if (!without.has(key) && !this.#changes.has(key)) this.#changes.set(key, service);
  }

  async #takeChanges(count: number): Promise<[string, ServiceContent | undefined][]> {
    const taken = [...this.#changes].slice(0, count);
    for (const [key, service] of taken) {
      this.#changes.delete(key);
      this.sweeper.set(key, service);
      if (service?.ports.some(({ nodePort }) => nodePort !== undefined) && !service.isHeldByAgent)
        this.#withNodePorts.set(key, service);
      else this.#withNodePorts.delete(key);
      const held = service?.isHeldByAgent ? service.ports.find(({ nodePort }) => nodePort !== undefined) : undefined;
      if (held) this.#heldByAgent.set(key, `${held.protocol}:${held.nodePort}`);
      else this.#heldByAgent.delete(key);
    }
    const content: [string, ServiceContent | undefined][] = [];
    if (taken.some(([key]) => this.#withNodePorts.has(key))) {
      const held = await this.#readHeld();
      if (JSON.stringify(held) !== JSON.stringify(this.#held)) {
        if (held.length > 0) this.#options.logger.warn({ held }, 'node ports that other programs listen on are left to them');
        this.#reconsider(new Set(taken.map(([key]) => key)));
      }
      this.#held = held;
      content.push([heldOwner, { elements: computeHeldElements(this.#held), chains: [] }]);
    }
    for (const [key, service] of taken) {
      content.push([key, service && computeServiceContent(service, this.#options, service.isHeldByAgent ? [] : this.#held)]);
    }
    return content;
  }

  async #readHeld(): Promise<HeldPort[]> {
    const ports = new Set<string>();
    for (const service of this.#withNodePorts.values()) {
      for (const { protocol, nodePort } of service.ports) if (nodePort !== undefined) ports.add(`${protocol}:${nodePort}`);
    }
    // Of those that the agent holds itself for a pod, the Service is the first to have them.
    for (const port of this.#heldByAgent.values()) ports.delete(port);
    // nft runs in the network that the table is in.
    return ports.size === 0 ? [] : readHeldPorts(this.#nftPid() ?? 'self', ports);
  }
}
