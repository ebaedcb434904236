import type { NetworkPolicy } from '../../api/generated/types.ts';
import type { Logger } from '../../client/logger.ts';
import { KeptTable, removeKeptTable, type TableOwner } from '../nft/kept-table.ts';
import type { NftProcess } from '../nft/nft-process.ts';
import type { PodFacts, PolicyPod } from './facts.ts';
import { checkPolicySettings, type PolicyTableSettings, policyTableKind } from './layout.ts';
import { NodePolicies, type PolicyFigures } from './node-policies.ts';
import type { ClosedPod } from './policy-content.ts';

export interface PolicyTableOptions extends PolicyTableSettings {
  /** What is put before `nft`, such as `ip netns exec NAME`; nothing by default. */
  readonly prefix?: readonly string[];
  /** See KeptTableOptions. */
  readonly nft?: NftProcess;
  readonly logger: Logger;
  /** Told once of each pod that has no connections because its policies are too large. */
  readonly onClosed?: (pod: ClosedPod, words: string) => void;
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

/** @throws Error when a name or an address is none */
export function createPolicyTable(options: PolicyTableOptions): PolicyTable {
  checkPolicySettings(options);
  const { prefix, nft, logger } = options;
  const content = new NodePolicies(options);
  const table = new KeptTable({ kind: policyTableKind, owner: options, content, nft, ...(prefix && { prefix }), logger });
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
