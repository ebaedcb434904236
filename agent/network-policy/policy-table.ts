import type { NetworkPolicy } from '../../api/generated/types.ts';
import type { Logger } from '../../client/logger.ts';
import { KeptTable, removeKeptTable, type TableContent, type TableOwner } from '../nft/kept-table.ts';
import { compilePolicy } from './compile-policy.ts';
import type { PodFacts, PolicyPod } from './facts.ts';
import { checkPolicySettings, type PolicyTableSettings, policyTableKind, renderEmptyTable, renderEntry } from './layout.ts';
import { PolicyContent } from './policy-content.ts';
import { renderDifference, renderInChunks } from './render-difference.ts';

export interface PolicyTableOptions extends PolicyTableSettings {
  /** What is put before `nft`, such as `ip netns exec NAME`; nothing by default. */
  readonly prefix?: readonly string[];
  readonly logger: Logger;
}

/**
 * The nftables table that carries out network policies for the pods of this node, and lets pods send with their own
 * addresses alone. The first table is built with what was set before `run`; what stands in the kernel outlives `run`.
 */
export interface PolicyTable {
  /** By key, namespace/name; undefined: it is gone. All setters return at once. */
  setPolicy(key: string, policy: NetworkPolicy | undefined): void;
  /** A pod as a peer of others, under any key. */
  setPeer(key: string, pod: PolicyPod | undefined): void;
  /** A pod of this node by its address; undefined: nothing is known of it; null: it has gone. */
  setLocal(address: string, facts: PodFacts | undefined | null): void;
  /** Resolves when everything that was set so far is in force, or `run` has ended. */
  settled(): Promise<void>;
  /** Keeps the table as wanted until aborted. Never throws. */
  run(signal: AbortSignal): Promise<void>;
  figures(): PolicyFigures;
}

export interface PolicyFigures {
  readonly policies: number;
  readonly elements: number;
  /** How often the table was built as a whole. */
  readonly builds: number;
  /** When the last change was in force, in milliseconds since 1970; 0 before the first. */
  readonly syncedAt: number;
}

/** Elements in one transaction of a table that is built. */
const chunkSize = 5_000;

/** @throws Error when a name or an address is none */
export function createPolicyTable(options: PolicyTableOptions): PolicyTable {
  checkPolicySettings(options);
  const { prefix, logger } = options;
  const content = new NodePolicies(options);
  const table = new KeptTable({ kind: policyTableKind, owner: options, content, ...(prefix && { prefix }), logger });
  const setter =
    <V>(changes: Map<string, V>) =>
    (key: string, value: V): void => {
      changes.set(key, value);
      table.wake();
    };
  return {
    setPolicy: setter(content.policies),
    setPeer: setter(content.peers),
    setLocal: setter(content.locals),
    settled: () => table.settled(),
    run: (signal) => table.run(signal),
    figures: () => content.figures(),
  };
}

/** Removes the tables of a node, for purge. @throws NftRefusedError, NftLostError */
export const removePolicyTable = (owner: TableOwner, prefix: readonly string[] = []): Promise<void> =>
  removeKeptTable(policyTableKind, owner, prefix);

class NodePolicies implements TableContent {
  /** Set, and not yet in `#wanted`. */
  readonly policies = new Map<string, NetworkPolicy | undefined>();
  readonly peers = new Map<string, PolicyPod | undefined>();
  readonly locals = new Map<string, PodFacts | undefined | null>();
  readonly #wanted = new PolicyContent();
  readonly #settings: PolicyTableSettings;
  #builds = 0;
  #syncedAt = 0;

  constructor(settings: PolicyTableSettings) {
    this.#settings = settings;
  }

  figures(): PolicyFigures {
    const { policyCount, elementCount } = this.#wanted;
    return { policies: policyCount, elements: elementCount, builds: this.#builds, syncedAt: this.#syncedAt };
  }

  hasChanges(): boolean {
    return this.policies.size > 0 || this.peers.size > 0 || this.locals.size > 0;
  }

  take(table: string | undefined): string {
    for (const [key, policy] of this.policies) this.#wanted.setPolicy(key, policy && compilePolicy(policy));
    for (const [key, pod] of this.peers) this.#wanted.setPeer(key, pod);
    for (const [address, facts] of this.locals) this.#wanted.setLocal(address, facts);
    for (const changes of [this.policies, this.peers, this.locals]) changes.clear();
    return table === undefined ? '' : renderDifference(table, this.#wanted.difference());
  }

  renderEmpty(table: string): string {
    return renderEmptyTable(table);
  }

  renderWhole(table: string): Iterable<string> {
    return renderInChunks(table, this.#wanted.whole(), chunkSize);
  }

  renderEntry(table: string): string {
    return renderEntry(table, this.#settings);
  }

  applied(): void {
    this.#syncedAt = Date.now();
  }

  built(): void {
    this.#builds++;
    this.#syncedAt = Date.now();
  }
}
