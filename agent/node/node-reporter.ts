import { messageToJson } from '../../api/codec/json.ts';
import { asApiError, isAlreadyExists, isNotFound } from '../../api/errors/index.ts';
import type { Node, NodeMetrics, NodeStatus, NodeUsage } from '../../api/generated/types.ts';
import { versionSkew } from '../../api/meta/version-skew.ts';
import { annotations as wellKnown } from '../../api/meta/well-known.ts';
import { createBackoff } from '../../client/backoff.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { ResourceClient } from '../../client/services/resource-client.ts';
import type { Disk } from '../images/decide-collection.ts';
import type { MachineInventory } from '../machine/inventory.ts';
import type { UsageReader } from '../machine/usage-reader.ts';
import type { NodeRegistration } from '../options.ts';
import type { ContainerRuntime, ImageService, LocalImage, ObservedContainer } from '../runtime/runtime.ts';
import { computeNodeStatus, fingerprint, isUsageNews, nodeLabels, saysTheSame, withdrawnResources } from './compute-node.ts';
import type { NodeLease } from './node-lease.ts';

export interface NodeReporterOptions {
  readonly nodes: Pick<ResourceClient<Node>, 'get' | 'create' | 'patch'>;
  readonly nodeMetrics: Pick<ResourceClient<NodeMetrics>, 'create' | 'update'>;
  /** Absent: nothing is known of the lease. */
  readonly lease?: Pick<NodeLease, 'unbrokenSince'> | undefined;
  readonly runtime: Pick<ContainerRuntime, 'version'>;
  readonly images: Pick<ImageService, 'list'>;
  /** How full the file system of the images is. */
  imageDisk?(): Promise<Disk>;
  readonly usage: UsageReader;
  containers(): ObservedContainer[];
  readonly nodeName: string;
  readonly inventory: MachineInventory;
  readonly agentVersion: string;
  /** See NodeFacts. */
  networkError?(): string | undefined;
  /** In which folder volumes of local-path classes are made. */
  readonly localPathFolder: string;
  /** Labels and taints of a new Node; an existing one keeps its own. */
  readonly registration?: NodeRegistration | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Tells the API what this machine is, whether it is fit to run pods, and what it uses. */
export interface NodeReporter {
  /**
   * Creates the Node or brings it up to date; labels, taints and `unschedulable` that a user set are kept. Retries
   * until aborted; rejects when the server refuses this version.
   */
  register(signal: AbortSignal): Promise<void>;
  /** Reports until aborted. Never throws. */
  run(signal: AbortSignal): Promise<void>;
}

/** Kubernetes' intervals: the engine is checked every 10 s; an unchanged status is written every 5 min. */
const checkMs = 10_000;
const heartbeatMs = 300_000;
/**
 * How old an answer of the API may be to be compared with. The node controller marks a node 30 s after the last renewal
 * of its lease, which is renewed every 10 s: an agent that was silent so long has no answer this young.
 */
const answerMs = 20_000;
/**
 * The same while the lease was renewed in time ever since, when only a user can have changed the status: the usage that
 * is written every 60 s is answered with the node, so that at rest it is never read.
 */
const leasedAnswerMs = 80_000;
const usageMs = 15_000;
/** The first reading with rates does not wait that long: people look, and pods are placed, right after the start. */
const firstUsageMs = 1_500;
const imagesMs = 60_000;

export function createNodeReporter(options: NodeReporterOptions): NodeReporter {
  return new StatusReporter(options);
}

class StatusReporter implements NodeReporter {
  readonly #options: NodeReporterOptions;
  #images: LocalImage[] = [];
  #imagesAt = Number.NEGATIVE_INFINITY;
  #usage: NodeUsage | undefined;
  #written: { readonly status: NodeStatus; readonly at: number } | undefined;
  #usageWritten: NodeUsage | undefined;
  /** The node as the API said last, and when it was asked. */
  #answered: { readonly node: Node; readonly at: number } | undefined;

  constructor(options: NodeReporterOptions) {
    this.#options = options;
  }

  async register(signal: AbortSignal): Promise<void> {
    const { logger, nodeName, clock } = this.#options;
    const backoff = createBackoff({ maxMs: 5_000 });
    while (!signal.aborted) {
      try {
        return await this.#registerOnce();
      } catch (err) {
        // Waiting does not help; the agent ends with the error.
        const refusal = asApiError(err);
        if (refusal?.reason === versionSkew) throw new Error(refusal.message);
        logger.warn({ node: nodeName, err }, 'cannot register the node, will retry');
        await pause(backoff.next(), signal, clock);
      }
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    // The first sample has no rates yet: it is what the second is compared with.
    await this.#options.usage.sample([]);
    await Promise.all([
      this.#every(checkMs, 'report the node', () => this.#check(), signal),
      this.#every(usageMs, 'report usage', () => this.#sample(), signal, firstUsageMs),
    ]);
  }

  async #look(previous: NodeStatus | undefined): Promise<NodeStatus> {
    const { clock, inventory } = this.#options;
    let runtimeVersion: string | undefined;
    let engineError: string | undefined;
    try {
      runtimeVersion = (await this.#options.runtime.version()).runtime;
      if (clock.now() - this.#imagesAt >= imagesMs) {
        this.#images = await this.#options.images.list();
        this.#imagesAt = clock.now();
      }
    } catch (error) {
      engineError = error instanceof Error ? error.message : String(error);
    }
    const { agentVersion } = this.#options;
    // A disk that cannot be read reports no pressure: the engine, which knows its path, may be away.
    const imageDisk = await this.#options.imageDisk?.().catch(() => undefined);
    return computeNodeStatus(
      {
        imageDisk,
        inventory,
        runtimeVersion,
        engineError,
        agentVersion,
        images: this.#images,
        usage: this.#usage,
        networkError: this.#options.networkError?.(),
        nowMs: clock.now(),
      },
      previous,
    );
  }

  async #registerOnce(): Promise<void> {
    const { nodeName, inventory, nodes } = this.#options;
    const labels = nodeLabels(nodeName, inventory);
    const annotations = { [wellKnown.localPathFolder]: this.#options.localPathFolder };
    let known: Node | undefined;
    try {
      known = await nodes.get({ name: nodeName });
      const { labels: said = {}, annotations: noted = {} } = known.metadata ?? {};
      const isMissing = (all: Record<string, string>, wanted: Record<string, string>) =>
        Object.entries(wanted).some(([key, value]) => all[key] !== value);
      if (isMissing(said, labels) || isMissing(noted, annotations))
        await nodes.patch({ name: nodeName }, { metadata: { labels, annotations } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const { labels: given = {}, taints = [] } = this.#options.registration ?? {};
      const metadata = { name: nodeName, labels: { ...given, ...labels }, annotations };
      await nodes.create({ metadata, spec: taints.length > 0 ? { taints: [...taints] } : {} }).catch((cause: unknown) => {
        if (!isAlreadyExists(cause)) throw cause;
      });
    }
    await this.#writeStatus(await this.#look(known?.status), known?.status);
  }

  async #writeStatus(status: NodeStatus, known: NodeStatus | undefined): Promise<void> {
    const { nodes, nodeName, clock } = this.#options;
    const json = messageToJson('berth.core.v1.NodeStatus', status);
    // Conditions of others stay; the addresses are all said here, and two may have one type.
    const addresses = [{ $patch: 'replace' }, ...((json.addresses as object[] | undefined) ?? [])];
    // A merge keeps what it does not name.
    const withdrawn = Object.fromEntries(withdrawnResources(status, known).map((name) => [name, null]));
    const allocatable = { ...(json.allocatable as object | undefined), ...withdrawn };
    const target = { name: nodeName, subresource: 'status', type: 'strategic' } as const;
    await this.#kept(nodes.patch(target, { status: { ...json, addresses, allocatable } }));
    this.#written = { status, at: clock.now() };
  }

  /** Keeps an answer that has just been asked for. */
  async #kept(answer: Promise<Node>): Promise<Node> {
    const at = this.#options.clock.now();
    const node = await answer;
    this.#answered = { node, at };
    return node;
  }

  /** The node as the API says, or said in an answer that still holds. */
  async #known(): Promise<Node> {
    const { nodes, nodeName, clock, lease } = this.#options;
    const { node, at } = this.#answered ?? { at: Number.NEGATIVE_INFINITY };
    const ageMs = clock.now() - at;
    const isLeased = at >= (lease?.unbrokenSince() ?? Number.POSITIVE_INFINITY);
    // Clocks are set back, too.
    if (node !== undefined && ageMs >= 0 && ageMs < (isLeased ? leasedAnswerMs : answerMs)) return node;
    return this.#kept(nodes.get({ name: nodeName }));
  }

  /**
   * What the API says is compared, too: while this agent stood still or was cut off, the node controller may have said
   * that nothing is known of the node, and this agent alone can say otherwise.
   */
  async #check(): Promise<void> {
    const { clock } = this.#options;
    await this.#writeOrRegister(async () => {
      const known = await this.#known();
      const status = await this.#look(known.status);
      const due = this.#written === undefined || clock.now() - this.#written.at >= heartbeatMs;
      if (due || !saysTheSame(known.status, status) || fingerprint(status) !== fingerprint(this.#written?.status ?? {}))
        await this.#writeStatus(status, known.status);
    });
  }

  /** A deleted Node is created again: the machine is there. */
  async #writeOrRegister(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#answered = undefined;
      if (!isNotFound(error)) throw error;
      this.#usageWritten = undefined;
      await this.#registerOnce();
    }
  }

  async #sample(): Promise<void> {
    const reading = await this.#options.usage.sample(this.#options.containers());
    this.#usage = reading.usage;
    await Promise.all([this.#writeUsage(reading.usage), this.#writeMetrics(reading.metrics)]);
  }

  async #writeUsage(next: NodeUsage): Promise<void> {
    const { inventory, nodes, nodeName } = this.#options;
    if (!isUsageNews(next, this.#usageWritten, inventory)) return;
    const json = messageToJson('berth.core.v1.NodeUsage', next);
    await this.#writeOrRegister(async () => {
      await this.#kept(nodes.patch({ name: nodeName, subresource: 'status' }, { status: { usage: json } }));
      this.#usageWritten = next;
    });
  }

  async #writeMetrics(metrics: NodeMetrics): Promise<void> {
    try {
      await this.#options.nodeMetrics.update(metrics);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#options.nodeMetrics.create(metrics);
    }
  }

  async #every(ms: number, what: string, run: () => Promise<void>, signal: AbortSignal, firstMs = ms): Promise<void> {
    const { clock, logger, nodeName } = this.#options;
    for (let wait = firstMs; !signal.aborted; wait = ms) {
      await pause(wait, signal, clock);
      if (signal.aborted) return;
      await run().catch((err: unknown) => logger.warn({ node: nodeName, err }, `cannot ${what}, will retry`));
    }
  }
}
