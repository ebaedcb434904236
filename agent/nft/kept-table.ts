import { createHash } from 'node:crypto';
import { createBackoff } from '../../client/backoff.ts';
import { pause, systemClock } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import { askChain, type ChainState, earlyMs, untilCheck } from './ask-chain.ts';
import { NftProcess, NftRefusedError } from './nft-process.ts';
import { withSharedTimers } from './shared-timers.ts';
import { WakeUp } from './wake-up.ts';

/** Whose table it is: several agents may share a machine. */
export interface TableOwner {
  readonly cluster: string;
  readonly node: string;
}

/** One kind of table: what its name begins with, and its family. */
export interface TableKind {
  readonly prefix: string;
  readonly family: 'ip' | 'inet';
  /** For the log: "the table of services". */
  readonly words: string;
}

/** What a table is to hold. Errors of its methods count as a loss: the table is built again. */
export interface TableContent {
  /** Whether something waits to be taken over. */
  hasChanges(): boolean;
  /**
   * Takes changes over. `table` is in force: some of them, and the transaction that they make, '' for none. Undefined:
   * all of them; the table is built with what is wanted then.
   */
  take(table: string | undefined): Promise<string> | string;
  /** Commands that make the table without anything that packets pass through. */
  renderEmpty(table: string): string;
  /** The transactions that fill an empty table. */
  renderWhole(table: string): Iterable<string>;
  /** Commands that put a filled table in force. */
  renderEntry(table: string): string;
  /** A transaction is in force. */
  applied?(): void;
  built?(): void;
  /** Another program removed the table, or its rules. It is built again. */
  lost?(): void;
  /** The table is there, as it is looked for every 2 s. */
  checked?(): Promise<void>;
}

export interface KeptTableOptions {
  readonly kind: TableKind;
  readonly owner: TableOwner;
  readonly content: TableContent;
  /** What is put before `nft`, such as `ip netns exec NAME`; nothing by default. */
  readonly prefix?: readonly string[];
  /** Serves other tables as well, and its owner closes it; by default the table has one of its own. */
  readonly nft?: NftProcess | undefined;
  readonly logger: Logger;
}

/** How often the table is looked for: one that is gone is back within 5 s. */
const checkMs = 2_000;
const checkClock = withSharedTimers(systemClock);
/** nft takes 255 characters. */
const longestOwner = 200;

/**
 * Two tables take turns, so that a rebuilt one takes over in one step. "_" separates the parts: names of clusters and
 * nodes have none.
 */
export function nameOfTable({ prefix }: Pick<TableKind, 'prefix'>, { cluster, node }: TableOwner, turn: 0 | 1): string {
  const owner = `${cluster}_${node}`;
  const short = owner.length <= longestOwner ? owner : createHash('sha256').update(owner).digest('hex');
  return `${prefix}_${short}_${turn}`;
}

const namesOf = (kind: TableKind, owner: TableOwner): readonly [string, string] => [
  nameOfTable(kind, owner, 0),
  nameOfTable(kind, owner, 1),
];

/** Commands after which there is no such table, also where there was none. */
export const renderRemoval = (family: string, table: string): string =>
  `add table ${family} ${table}; delete table ${family} ${table}`;

/**
 * A transaction that nft refuses unless the table is in force. It changes nothing. To list is no way to find out: nft
 * reads all elements for any list, that of the tables' names included (400 ms at 20,000 elements).
 */
const renderProbe = (family: string, table: string): string =>
  `delete chain ${family} ${table} in_force; add chain ${family} ${table} in_force`;

/** Commands that add a chain which a rule of another one leads to: so `askWhole` finds out whether it does. */
export const renderSentinel = (family: string, table: string): string =>
  ['watched', 'watch']
    .map((chain) => `add chain ${family} ${table} ${chain}`)
    .concat(`add rule ${family} ${table} watch jump watched`)
    .join('; ');

/** Asks for what `renderSentinel` added: "used" while the table is in force and has its rules. */
export const askWhole = (nft: Pick<NftProcess, 'run'>, family: string, table: string): Promise<ChainState> =>
  askChain(nft, `${family} ${table} watched`);

/** Removes the tables of a node, for purge. @throws NftRefusedError, NftLostError */
export async function removeKeptTable(kind: TableKind, owner: TableOwner, prefix: readonly string[] = []): Promise<void> {
  const nft = new NftProcess({ prefix });
  try {
    await nft.run(
      namesOf(kind, owner)
        .map((table) => renderRemoval(kind.family, table))
        .join('; '),
    );
  } finally {
    nft.close();
  }
}

/**
 * Keeps a table in the kernel as its content wants it. What stands in the kernel outlives `run`: an agent that starts
 * again replaces it in one step.
 */
export class KeptTable {
  readonly #options: KeptTableOptions;
  readonly #nft: NftProcess;
  readonly #tables: readonly [string, string];
  /** The table in force as far as known; undefined when it has to be built. */
  #table: string | undefined;
  #checkAt = 0;
  #settling: (() => void)[] = [];
  #ended = false;
  readonly #wakeUp = new WakeUp();

  constructor(options: KeptTableOptions) {
    this.#options = options;
    this.#nft = options.nft ?? new NftProcess({ prefix: options.prefix ?? [] });
    this.#tables = namesOf(options.kind, options.owner);
  }

  /** The table in force as far as known; undefined while it is built. */
  get name(): string | undefined {
    return this.#table;
  }

  /** The process that runs nft, if one does: it is in the network that the table is in. */
  get pid(): number | undefined {
    return this.#nft.pid;
  }

  /** The content has changes. */
  wake(): void {
    this.#wakeUp.wake();
  }

  /** Resolves when all that the content had by now is in force, or `run` has ended. */
  settled(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#settling.push(resolve);
      this.#wakeUp.wake();
    });
  }

  /** Until aborted; waits and tries again after every failure. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { content, logger, kind } = this.#options;
    const backoff = createBackoff({ initialMs: 200, maxMs: 2_000 });
    while (!signal.aborted) {
      try {
        await this.#step();
        backoff.reset();
        if (!content.hasChanges()) this.#settle();
        await this.#wakeUp.wait(signal, Math.max(0, this.#checkAt - Date.now()), checkClock);
      } catch (error) {
        this.#table = undefined;
        if (signal.aborted) break;
        logger.warn({ err: error }, `${kind.words} is built again`);
        await pause(backoff.next(), signal);
      }
    }
    if (this.#options.nft === undefined) this.#nft.close();
    this.#ended = true;
    this.#settle();
  }

  /** Does what is due. When it fails, it is not known what the table holds. */
  async #step(): Promise<void> {
    const { content } = this.#options;
    if (this.#table !== undefined && Date.now() >= this.#checkAt - earlyMs) await this.#check(this.#table);
    while (content.hasChanges() || this.#table === undefined) {
      const transaction = await content.take(this.#table);
      if (this.#table === undefined) {
        await this.#build();
        continue;
      }
      if (transaction !== '') await this.#nft.run(transaction);
      content.applied?.();
    }
  }

  async #check(table: string): Promise<void> {
    const { kind, content, logger } = this.#options;
    this.#checkAt = Date.now() + untilCheck(checkMs, Date.now());
    const state = await askWhole(this.#nft, kind.family, table);
    if (state !== 'used') {
      const what = state === 'unused' ? 'removed the rules of' : 'removed';
      logger.warn({ table }, `another program ${what} ${kind.words}; it is built again`);
      this.#table = undefined;
      content.lost?.();
      return;
    }
    await content.checked?.();
  }

  /** Fills the table that is not in force, and then puts it in the place of the other in one transaction. */
  async #build(): Promise<void> {
    const { kind, content, logger } = this.#options;
    const beganAt = Date.now();
    const [first, second] = this.#tables;
    const [table, other] = (await this.#isInForce(first)) ? [second, first] : [first, second];
    await this.#nft.run(content.renderEmpty(table));
    for (const transaction of content.renderWhole(table)) await this.#nft.run(transaction);
    await this.#nft.run(
      `${renderRemoval(kind.family, other)}; ${content.renderEntry(table)}; ${renderSentinel(kind.family, table)}`,
    );
    this.#table = table;
    this.#checkAt = Date.now() + untilCheck(checkMs, Date.now());
    content.built?.();
    logger.info({ table, ms: Date.now() - beganAt }, `built ${kind.words}`);
  }

  async #isInForce(table: string): Promise<boolean> {
    try {
      await this.#nft.run(renderProbe(this.#options.kind.family, table));
      return true;
    } catch (error) {
      if (error instanceof NftRefusedError) return false;
      throw error;
    }
  }

  #settle(): void {
    for (const resolve of this.#settling.splice(0)) resolve();
  }
}
