import type { NetworkPolicy } from '../../api/generated/types.ts';
import type { Logger } from '../../client/logger.ts';
import type { TableContent } from '../nft/kept-table.ts';
import { compilePolicy } from './compile-policy.ts';
import type { PodFacts, PolicyPod } from './facts.ts';
import { runInTurns, type Steps } from './in-turns.ts';
import { type PolicyTableSettings, renderEmptyTable, renderEntry } from './layout.ts';
import { type ClosedPod, PolicyContent } from './policy-content.ts';
import { renderInChunks, renderInSteps } from './render-difference.ts';

export interface NodePoliciesSettings extends PolicyTableSettings {
  readonly logger: Pick<Logger, 'warn'>;
  /** Told once of each pod that has no connections, and why, in words. */
  readonly onClosed?: (pod: ClosedPod, words: string) => void;
  /** How long other work of the process may wait (default 20 ms). */
  readonly turnMs?: number;
}

export interface PolicyFigures {
  readonly policies: number;
  readonly elements: number;
  /** How often the table was built as a whole. */
  readonly builds: number;
  /** When the last change was in force, in milliseconds since 1970; 0 before the first. */
  readonly syncedAt: number;
  /** Pods of this node that have no connections, in a direction at least, because their policies are too large. */
  readonly closedPods: number;
  /** What rules, blocks, ports and peers take of the bounds of the node. */
  readonly pieces: number;
}

/** Of one transaction of a table that is built: about 1 s of nft. */
const chunkSizes = { elements: 5_000, characters: 256 * 1024 };

const reasons = {
  oversized:
    'the network policies of a pod have too many blocks and ports: it has no connections in this direction until they have fewer',
  crowded:
    'the network policies of the pods of this namespace on this node have too many blocks, ports and peers: this pod has no connections in this direction until they have fewer',
} as const;

/** What the table of a node is to hold, and what was set and is not worked out yet. */
export class NodePolicies implements TableContent {
  /** Set, and not yet in `#wanted`. */
  readonly policies = new Map<string, NetworkPolicy | undefined>();
  readonly peers = new Map<string, PolicyPod | undefined>();
  readonly locals = new Map<string, PodFacts | undefined | null>();
  readonly #wanted = new PolicyContent();
  readonly #settings: NodePoliciesSettings;
  /** Told in the log. */
  #closed: readonly ClosedPod[] = [];
  #builds = 0;
  #syncedAt = 0;

  constructor(settings: NodePoliciesSettings) {
    this.#settings = settings;
  }

  figures(): PolicyFigures {
    const { policyCount: policies, elementCount: elements, pieceCount: pieces } = this.#wanted;
    const closedPods = new Set(this.#closed.map(({ address }) => address)).size;
    return { policies, elements, builds: this.#builds, syncedAt: this.#syncedAt, closedPods, pieces };
  }

  hasChanges(): boolean {
    return this.policies.size > 0 || this.peers.size > 0 || this.locals.size > 0;
  }

  /** All that is set by now; what is set meanwhile waits, and nothing reads what is half worked out. */
  async take(table: string | undefined): Promise<string> {
    const transaction = await runInTurns(this.#work(table), this.#settings.turnMs);
    this.#tellClosed();
    return transaction;
  }

  *#work(table: string | undefined): Steps<string> {
    const wanted = this.#wanted;
    const [policies, peers, locals] = [[...this.policies], [...this.peers], [...this.locals]];
    for (const [key, policy] of policies) {
      wanted.setPolicy(key, policy && compilePolicy(policy));
      yield;
    }
    for (const [key, pod] of peers) yield* wanted.setPeerInSteps(key, pod);
    for (const [address, facts] of locals) {
      yield* wanted.setLocalInSteps(address, facts);
      yield;
    }
    leave(this.policies, policies);
    leave(this.peers, peers);
    leave(this.locals, locals);
    const difference = yield* wanted.differenceInSteps();
    return table === undefined ? '' : yield* renderInSteps(table, difference);
  }

  renderEmpty(table: string): string {
    return renderEmptyTable(table);
  }

  renderWhole(table: string): Iterable<string> {
    return renderInChunks(table, this.#wanted.whole(), chunkSizes);
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

  #tellClosed(): void {
    const keyOf = ({ address, namespace, direction, why }: ClosedPod): string => `${address} ${namespace} ${direction} ${why}`;
    const told = new Set(this.#closed.map(keyOf));
    this.#closed = this.#wanted.closedPods();
    for (const pod of this.#closed) {
      if (told.has(keyOf(pod))) continue;
      const { why, ...fields } = pod;
      this.#settings.logger.warn(fields, reasons[why]);
      this.#settings.onClosed?.(pod, reasons[why]);
    }
  }
}

/** What was set anew meanwhile stays. */
function leave<V>(changes: Map<string, V>, taken: readonly (readonly [string, V])[]): void {
  for (const [key, value] of taken) if (changes.get(key) === value) changes.delete(key);
}
