import { isNotFound } from '../../api/errors/index.ts';
import type { Node } from '../../api/generated/types.ts';
import { type Client, type EventRecorder, type Informer, referenceTo } from '../../client/index.ts';
import { attemptEach } from '../attempt-each.ts';
import { type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { rangesOutside } from '../node-network/pod-ranges.ts';
import { countOf, decideRanges, type Given, type NodeRanges, parseNodeRanges, rangesOf } from './decide.ts';

export interface NodeRangesOptions {
  readonly client: { readonly nodes: Pick<Client['nodes'], 'patch'> };
  /** Whole. */
  readonly nodes: Informer<Node>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly ranges: NodeRanges;
}

/** All nodes are looked at together: what one gets depends on what all others have. */
const ALL = 'all';

/**
 * Gives each node a range of pods' addresses, which it keeps as long as its object exists. No two nodes get one: what
 * was written counts until the informer shows it, also where the outcome is unknown.
 */
export class NodeRangesController implements Controller {
  readonly name = 'node-ranges';
  readonly workers = 1;
  readonly sources: readonly Source[];
  readonly #options: NodeRangesOptions;
  readonly #given = new Map<string, Given>();
  /** Nodes that were told that there is none, by uid. */
  readonly #told = new Set<string>();
  /** Nodes that were told that theirs is not in the cluster's, by uid. */
  readonly #toldOutside = new Set<string>();

  constructor(options: NodeRangesOptions) {
    this.#options = options;
    // Heartbeats change neither; that a node is gone may free its range.
    const facts = (node: Node) =>
      `${node.metadata?.uid} ${node.spec?.podCIDR ?? ''} ${node.metadata?.deletionTimestamp !== undefined}`;
    this.sources = [changesOf(options.nodes, () => [ALL], { matters: (next, old) => facts(next) !== facts(old) })];
  }

  async reconcile(_key: string, signal: AbortSignal): Promise<void> {
    const { nodes, ranges } = this.#options;
    this.#forgetShown();
    const { give, without } = decideRanges(ranges, nodes.lister.list(), this.#given);
    for (const node of without) this.#tellNone(node);
    for (const node of nodes.lister.list()) this.#tellOutside(node);
    await attemptEach(give, async ({ node, range }) => {
      const { name = '', uid = '' } = node.metadata ?? {};
      this.#given.set(name, { uid, range });
      // No version: a heartbeat in between does no harm, and a range that is set cannot change.
      const patch = { metadata: { uid }, spec: { podCIDR: range.text, podCIDRs: [range.text] } };
      await this.#options.client.nodes.patch({ name }, patch, {}, { signal }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      this.#tellGiven(node, range.text);
    });
  }

  /** Drops what the informer shows, and what was given to nodes that are gone. */
  #forgetShown(): void {
    const { lister } = this.#options.nodes;
    for (const [name, { uid }] of this.#given) {
      const node = lister.get(name);
      if (node?.metadata?.uid !== uid || rangesOf(node).length > 0) this.#given.delete(name);
    }
    for (const told of [this.#told, this.#toldOutside]) {
      if (told.size === 0) continue;
      const uids = new Set(lister.list().map(({ metadata }) => metadata?.uid));
      for (const uid of told) if (!uids.has(uid)) told.delete(uid);
    }
  }

  /** A node keeps its range, and its pods theirs: what is wrong may be the flag. */
  #tellOutside(node: Node): void {
    const { events, ranges } = this.#options;
    const uid = node.metadata?.uid ?? '';
    const outside = rangesOutside(ranges.cluster, node);
    if (outside.length === 0 || this.#toldOutside.has(uid)) return;
    this.#toldOutside.add(uid);
    const held = outside.map(({ text }) => text).join(', ');
    const flag = `--cluster-cidr ${ranges.cluster.text}`;
    events.event(
      referenceTo('Node', node),
      'Warning',
      'CIDROutsideCluster',
      `the node's pod addresses ${held} are not in ${flag}, of which new nodes get theirs: its pods go on; start the server with the range of before, or delete the node and let it join again`,
    );
  }

  #tellNone(node: Node): void {
    const uid = node.metadata?.uid ?? '';
    if (this.#told.has(uid)) return;
    this.#told.add(uid);
    const { events, ranges } = this.#options;
    const all = `all ${countOf(ranges)} ranges of ${ranges.cluster.text} (a /${ranges.nodeLength} each) are held by nodes`;
    const remedy = 'delete nodes that are gone for good, or start the server with a larger --cluster-cidr';
    events.event(
      referenceTo('Node', node),
      'Warning',
      'CIDRNotAvailable',
      `no range of pod addresses is free: ${all}; ${remedy}`,
    );
  }

  /** Only to a node that was told that there was none. */
  #tellGiven(node: Node, range: string): void {
    const uid = node.metadata?.uid ?? '';
    if (!this.#told.delete(uid)) return;
    this.#options.events.event(
      referenceTo('Node', node),
      'Normal',
      'CIDRAssigned',
      `the node has the pod addresses ${range} now`,
    );
  }
}

export const nodeRanges: ControllerDefinition = {
  name: 'node-ranges',
  watches: { Node: { whole: true } },
  create: ({ informer, settings, client, events }) =>
    new NodeRangesController({
      client,
      events,
      nodes: informer('Node'),
      ranges: parseNodeRanges(settings),
    }),
};
