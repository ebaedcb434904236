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
import { computeNodeStatus, fingerprint, isUsageNews, nodeLabels, saysTheSame } from './compute-node.ts';

export interface NodeReporterOptions {
  readonly nodes: Pick<ResourceClient<Node>, 'get' | 'create' | 'patch'>;
  readonly nodeMetrics: ResourceClient<NodeMetrics>;
  readonly runtime: Pick<ContainerRuntime, 'version'>;
  readonly images: Pick<ImageService, 'list'>;
  /** How full the file system of the images is. */
  imageDisk?(): Promise<Disk>;
  readonly usage: UsageReader;
  containers(): ObservedContainer[];
  readonly nodeName: string;
  readonly inventory: MachineInventory;
  readonly agentVersion: string;
  /** In which folder volumes of local-path classes are made. */
  readonly localPathFolder: string;
  /** With what the node is made, when there is none of its name. */
  readonly registration?: NodeRegistration | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Tells the API what this machine is, whether it is fit to run pods, and what it uses. */
export interface NodeReporter {
  /** Creates the Node or brings it up to date; labels, taints and `unschedulable` that a user set are kept. Retries until aborted; rejects when the server refuses this version. */
  register(signal: AbortSignal): Promise<void>;
  /** Reports until aborted. Never throws. */
  run(signal: AbortSignal): Promise<void>;
}

/** Kubernetes' figures: the engine is asked every 10 s; a status without news is written every 5 min. */
const checkMs = 10_000;
const heartbeatMs = 300_000;
const usageMs = 15_000;
/** The first reading with rates does not wait that long: people look, and pods are placed, right after the start. */
const firstUsageMs = 1_500;
const imagesMs = 60_000;

export function createNodeReporter(options: NodeReporterOptions): NodeReporter {
  const { nodes, nodeName, inventory, clock, logger } = options;
  let images: LocalImage[] = [];
  let imagesAt = Number.NEGATIVE_INFINITY;
  let usage: NodeUsage | undefined;
  let written: { readonly status: NodeStatus; readonly at: number } | undefined;
  let usageWritten: NodeUsage | undefined;

  async function look(previous: NodeStatus | undefined): Promise<NodeStatus> {
    let runtimeVersion: string | undefined;
    let engineError: string | undefined;
    try {
      runtimeVersion = (await options.runtime.version()).runtime;
      if (clock.now() - imagesAt >= imagesMs) {
        images = await options.images.list();
        imagesAt = clock.now();
      }
    } catch (error) {
      engineError = error instanceof Error ? error.message : String(error);
    }
    const { agentVersion } = options;
    // One that cannot be read is no pressure; the engine that is asked where it lies may be away.
    const imageDisk = await options.imageDisk?.().catch(() => undefined);
    return computeNodeStatus(
      { imageDisk, inventory, runtimeVersion, engineError, agentVersion, images, usage, nowMs: clock.now() },
      previous,
    );
  }

  async function registerOnce(): Promise<void> {
    const labels = nodeLabels(nodeName, inventory);
    const annotations = { [wellKnown.localPathFolder]: options.localPathFolder };
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
      const { labels: given = {}, taints = [] } = options.registration ?? {};
      const metadata = { name: nodeName, labels: { ...given, ...labels }, annotations };
      await nodes.create({ metadata, spec: taints.length > 0 ? { taints: [...taints] } : {} }).catch((cause: unknown) => {
        if (!isAlreadyExists(cause)) throw cause;
      });
    }
    await writeStatus(await look(known?.status));
  }

  async function writeStatus(status: NodeStatus): Promise<void> {
    const json = messageToJson('berth.core.v1.NodeStatus', status);
    // Conditions of others stay; the addresses are all said here, and two may have one type.
    const addresses = [{ $patch: 'replace' }, ...((json.addresses as object[] | undefined) ?? [])];
    await nodes.patch({ name: nodeName, subresource: 'status', type: 'strategic' }, { status: { ...json, addresses } });
    written = { status, at: clock.now() };
  }

  /**
   * What the API says is read each time: while this agent stood still or was cut off, the node controller may have said that nothing is
   * known of the node, and this agent alone can say otherwise.
   */
  async function check(): Promise<void> {
    await writeOrRegister(async () => {
      const known = await nodes.get({ name: nodeName });
      const status = await look(known.status);
      const due = written === undefined || clock.now() - written.at >= heartbeatMs;
      if (due || !saysTheSame(known.status, status) || fingerprint(status) !== fingerprint(written?.status ?? {}))
        await writeStatus(status);
    });
  }

  /** A deleted Node is created again: the machine is there. */
  async function writeOrRegister(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!isNotFound(error)) throw error;
      usageWritten = undefined;
      await registerOnce();
    }
  }

  async function sample(): Promise<void> {
    const reading = await options.usage.sample(options.containers());
    usage = reading.usage;
    await Promise.all([writeUsage(reading.usage), writeMetrics(reading.metrics)]);
  }

  async function writeUsage(next: NodeUsage): Promise<void> {
    if (!isUsageNews(next, usageWritten, inventory)) return;
    const json = messageToJson('berth.core.v1.NodeUsage', next);
    await writeOrRegister(async () => {
      await nodes.patch({ name: nodeName, subresource: 'status' }, { status: { usage: json } });
      usageWritten = next;
    });
  }

  async function writeMetrics(metrics: NodeMetrics): Promise<void> {
    try {
      await options.nodeMetrics.update(metrics);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await options.nodeMetrics.create(metrics);
    }
  }

  async function every(ms: number, what: string, run: () => Promise<void>, signal: AbortSignal, firstMs = ms): Promise<void> {
    for (let wait = firstMs; !signal.aborted; wait = ms) {
      await pause(wait, signal, clock);
      if (signal.aborted) return;
      await run().catch((err: unknown) => logger.warn({ node: nodeName, err }, `cannot ${what}, will retry`));
    }
  }

  return {
    async register(signal) {
      const backoff = createBackoff({ maxMs: 5_000 });
      while (!signal.aborted) {
        try {
          return await registerOnce();
        } catch (err) {
          // Waiting does not help; the agent ends with the error.
          const refusal = asApiError(err);
          if (refusal?.reason === versionSkew) throw new Error(refusal.message);
          logger.warn({ node: nodeName, err }, 'cannot register the node, will retry');
          await pause(backoff.next(), signal, clock);
        }
      }
    },
    async run(signal) {
      // The first sample has no rates yet: it is what the second is compared with.
      await options.usage.sample([]);
      await Promise.all([
        every(checkMs, 'report the node', check, signal),
        every(usageMs, 'report usage', sample, signal, firstUsageMs),
      ]);
    },
  };
}
