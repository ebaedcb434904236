import type { NodeNetwork } from '../../api/generated/types.ts';
import { type AddressRange, parseAddressRange } from '../../api/meta/address-range.ts';
import { controlPlaneAddressOf } from '../../api/meta/control-plane.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { ipVersion } from '../../api/meta/ip.ts';
import { onAbort } from '../../client/abort.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Informer } from '../../client/informer/informer.ts';
import type { Logger } from '../../client/logger.ts';
import type { ClusterNames } from '../config/resolv-conf.ts';
import { HostPorts } from '../host-ports/host-ports.ts';
import type { NftProcess } from '../nft/nft-process.ts';
import type { Held, RoutedNetwork } from '../runtime/docker/routed-runtime.ts';
import { wordsOf } from '../words-of.ts';
import { namesAddressOf } from './gateway-link.ts';
import {
  type ClusterNetwork,
  type Kept,
  ownerOf,
  rangesOf,
  readKept,
  readNet,
  removePodNetwork,
  writeKept,
} from './kept-network.ts';
import type { JoiningPod, LinkGate } from './link-gate.ts';
import type { WayChoice } from './neighbour-routes.ts';
import { computeNeighbours } from './neighbours.ts';
import { describeMove, NodeRange, nextChange } from './node-range.ts';
import { type NetworkPlan, PodNetwork } from './pod-network.ts';
import type { JoinedPod } from './pod-routes.ts';
import { createShell, type Shell } from './shell.ts';
import { WayMeasurer } from './way-measurer.ts';

export interface NodePodNetworkOptions {
  readonly nodeName: string;
  /** Berth's data directory, which tells installations on one machine apart. */
  readonly dataDir: string;
  /** The agent's own folder. */
  readonly nodeDir: string;
  /** Whether new pods are to be in it; else it is kept for those that are. */
  readonly isWanted: boolean;
  /** Which way packets take to pods of other nodes; absent: auto. */
  readonly choice?: WayChoice;
  readonly networks: Pick<Informer<NodeNetwork>, 'lister' | 'addHandler' | 'waitForSync'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly shell?: Shell;
  /** Told of the node's pods before they can send. */
  readonly gate: LinkGate;
  /** See PodNetworkOptions. */
  readonly nft?: Pick<NftProcess, 'run'>;
}

/** What the network is to be like; without a plan `why` says why there is none. */
export interface NetworkState {
  readonly plan: NetworkPlan | undefined;
  readonly why: string;
  /** Empty: not known. */
  readonly domain: string;
  /** Nodes without a route: a sentence each. */
  readonly refused: readonly string[];
  /** Nodes that drop packets for their checksums, where that could not be remedied. */
  readonly damaged: ReadonlySet<string>;
  /** Services and names are carried for ranges or a domain that the cluster had when the agent started. */
  readonly isOutdated?: boolean;
  /** The range that the node has now, where its pods are still in the one of before. */
  readonly movedTo?: string | undefined;
}

/** What carries Services and names on this node. */
export interface ServicesGround extends ClusterNetwork {
  /** The node's range, and its own address in it. */
  readonly range: string;
  readonly gateway: string;
  /** The ranges of other nodes, as an agent before knew them. */
  readonly others: readonly string[];
}

const retryMs = 5_000;
/** Changes of many nodes at once are one. */
const gatherMs = 200;

/**
 * The pods' network through the life of an agent: it waits for the node's range, which a NodeNetwork of the node's name
 * says, keeps it on disk, and follows the other nodes. Without a range pods wait, and are told so.
 */
export class NodePodNetwork implements RoutedNetwork {
  readonly isWanted: boolean;
  readonly ports: HostPorts;
  readonly #options: NodePodNetworkOptions;
  /** What the engine said before the network was there; undefined before it has said anything. */
  #early: readonly Held[] | undefined;
  #isSwept = false;
  #cluster: ClusterNetwork | undefined;
  /** What Services and names were started with: the first that was known. */
  #served: ClusterNetwork | undefined;
  readonly #range: NodeRange;
  readonly #ground: Promise<ServicesGround>;
  #hasGround: (ground: ServicesGround) => void = () => {};
  #network: PodNetwork | undefined;
  #measurer: WayMeasurer | undefined;
  #address = '';
  /** For pods that wait. */
  #why: string;
  #error = '';
  #movedTo: string | undefined;
  #refused: readonly string[] = [];

  constructor(options: NodePodNetworkOptions) {
    this.#options = options;
    this.isWanted = options.isWanted;
    this.ports = new HostPorts(options);
    this.#range = new NodeRange(options.networks, options.nodeName);
    this.#ground = new Promise((resolve) => {
      this.#hasGround = resolve;
    });
    this.#why = `node ${options.nodeName} has no range of addresses for pods yet (spec.podCIDR)`;
  }

  /** What keeps the network from being made; '' while nothing does. Undefined: pods are not to be in it. */
  get error(): string | undefined {
    return this.isWanted ? this.#error : undefined;
  }

  take(holder: string): string {
    if (this.#network === undefined) throw new Error(this.#why);
    return this.#network.pool.take(holder);
  }

  async attach(address: string, pid: number, pod: JoiningPod): Promise<void> {
    const network = this.#network;
    if (network === undefined) throw new Error(this.#why);
    await this.#options.gate.admit(address, pod);
    await network.attach({ address, pid });
  }

  async release(address: string, holder: string): Promise<void> {
    const network = this.#network;
    if (network === undefined || network.pool.holderOf(address) !== holder) return;
    try {
      // The link first: until it is gone the address still leads to the pod.
      await network.links.detach(address);
      network.pool.free(address, holder);
      this.#options.gate.left(address);
    } catch (error) {
      // It stays held, and the next full list frees it.
      this.#options.logger.warn({}, `the link of ${address} cannot be removed: ${wordsOf(error)}`);
    }
  }

  holders(): readonly string[] {
    return this.#network?.pool.holders() ?? [];
  }

  async learn(used: readonly Held[], gone: readonly string[]): Promise<void> {
    const network = this.#network;
    if (network === undefined) {
      this.#early = used;
      return;
    }
    await this.#take(network, used);
    for (const { address, holder } of network.pool.heldBy(new Set(gone))) await this.release(address, holder);
    this.#tellGate(network);
  }

  async joined(pods: readonly JoinedPod[]): Promise<ReadonlySet<string> | undefined> {
    try {
      return await this.#network?.joined(pods);
    } catch (error) {
      this.#options.logger.warn({}, `the links of pods cannot be read: ${wordsOf(error)}`);
      return undefined;
    }
  }

  /**
   * Where pods find the cluster's names: this node's resolver, and those of the others; and the API server. Undefined:
   * not known.
   */
  names(): ClusterNames | undefined {
    const [network, cluster] = [this.#network, this.#cluster];
    const [range] = cluster?.services ?? [];
    if (network === undefined || cluster === undefined || range === undefined) return undefined;
    return {
      ...{ nameservers: [network.gateway, namesAddressOf(range)], domain: cluster.domain },
      controlPlane: controlPlaneAddressOf(range),
    };
  }

  /** Checks the whole now: another program removed something. */
  look(): void {
    this.#network?.look();
  }

  /** The desired state, for net check. */
  state(): NetworkState {
    const [refused, damaged] = [this.#refused, this.#measurer?.damaged ?? new Set<string>()];
    const isOutdated = !equalValues(this.#served, this.#cluster);
    const common = { why: this.#why, domain: this.#cluster?.domain ?? '', refused, damaged, isOutdated };
    return { plan: this.#network?.plan, ...common, movedTo: this.#movedTo };
  }

  /** Measures the ways to these nodes now: they seem to be others than were measured. */
  measureAgain(names: readonly string[]): void {
    this.#measurer?.again(names);
  }

  /** When Services can be carried: the network is there, and the cluster's ranges are known. Undefined when aborted. */
  groundOr(signal: AbortSignal): Promise<ServicesGround | undefined> {
    return new Promise((resolve) => {
      const unlink = onAbort(signal, () => resolve(undefined));
      void this.#ground.then(resolve).then(unlink);
    });
  }

  /** Until aborted; `address` is the machine's InternalIP. Containers, and their network, stay. */
  async run(address: string, signal: AbortSignal): Promise<void> {
    const { logger, clock, networks } = this.#options;
    this.#address = address;
    let failed = '';
    while (!signal.aborted && this.#network === undefined) {
      try {
        const kept = await this.#readKept(signal);
        const range = kept ? parseAddressRange(kept.range) : await this.#range.get(signal);
        if (range === undefined) break;
        const network = this.#create(range, kept);
        await network.start();
        // From here on there is something to remove.
        if (kept === undefined) await this.#keep(network);
        await this.#setCluster(network, kept?.cluster ?? clusterOf(networks.lister.get(this.#options.nodeName)));
        await this.#keep(network);
        this.#network = network;
        this.#error = '';
        if (this.#early) {
          await this.#take(network, this.#early);
          this.#tellGate(network);
        }
        logger.info({ range: range.text }, "the pods' network is there");
      } catch (error) {
        this.#why = `the pods' network cannot be made: ${wordsOf(error)}`;
        if (failed !== this.#why) logger.warn({}, this.#why);
        failed = this.#why;
        this.#error = this.#why;
        await pause(retryMs, signal, clock);
      }
    }
    const network = this.#network;
    if (network === undefined) return;
    const following = networks.waitForSync(signal).then(() => this.#follow(network, signal));
    await Promise.all([network.guard(signal), following, this.#measure(network, signal)]);
  }

  /**
   * Reads what an earlier agent kept. Undefined when there is nothing, or when the node has another range by now (its
   * Node was deleted), to which other nodes route: then the network of the old range is removed, and pods that lose
   * their links get new sandboxes. While the server cannot be reached, the old range stays.
   */
  async #readKept(signal: AbortSignal): Promise<Kept | undefined> {
    const { nodeName, nodeDir, dataDir, clock, logger, shell } = this.#options;
    const kept = readKept(nodeDir);
    const now = kept && (await this.#range.otherSoon(kept.range, clock, signal));
    if (now === undefined) return kept;
    logger.warn({}, `the node's range is ${now} now, not ${kept?.range}: its pods get other addresses`);
    await removePodNetwork(dataDir, nodeName, nodeDir, shell);
    return undefined;
  }

  #measure(network: PodNetwork, signal: AbortSignal): Promise<void> {
    const { logger, clock, shell = createShell() } = this.#options;
    const { neighbours: routes } = network;
    const warn = (message: string) => logger.warn({}, message);
    this.#measurer = new WayMeasurer({ shell, routes, clock, warn });
    return this.#measurer.run(signal);
  }

  /** Links that no sandbox has, and connections of their pods, are swept once it is known which there are. */
  async #take(network: PodNetwork, used: readonly Held[]): Promise<void> {
    network.pool.learn(used);
    if (this.#isSwept) return;
    try {
      const inUse = new Set(network.pool.addresses());
      await network.links.sweep(inUse);
      await network.links.forget(network.pool.range, inUse);
      this.#isSwept = true;
    } catch (error) {
      this.#options.logger.warn({}, `what pods left that are gone cannot be removed: ${wordsOf(error)}`);
    }
  }

  #tellGate({ pool }: PodNetwork): void {
    const all = pool.addresses().map((address) => ({ address, uid: uidOfHolder(pool.holderOf(address) ?? '') }));
    this.#options.gate.found(all);
  }

  /** Takes over what the cluster has. An older server does not say it: then there are no Services. */
  async #setCluster(network: PodNetwork, cluster: ClusterNetwork | undefined): Promise<void> {
    if (cluster === undefined || JSON.stringify(cluster) === JSON.stringify(this.#cluster)) return;
    await network.setCluster(rangesOf(cluster));
    if (this.#cluster)
      this.#options.logger.warn({ ...cluster }, "the cluster's ranges are others: restart the agent for its Services");
    this.#cluster = cluster;
    this.#served ??= cluster;
    this.#hasGround({ ...cluster, range: network.pool.range.text, gateway: network.gateway, others: network.routes });
  }

  #create(range: AddressRange, { routes = [], opened = [], cluster }: Partial<Kept> = {}): PodNetwork {
    const { logger, clock, shell = createShell(), choice, nft } = this.#options;
    const address = this.#address;
    if (ipVersion(address) !== 4) throw new Error(`the node has no IPv4 address (its InternalIP is "${address}")`);
    return new PodNetwork({
      shell,
      owner: ownerOf(this.#options.dataDir, this.#options.nodeName),
      range,
      address,
      ...{ routes, opened },
      ...(cluster && { cluster: rangesOf(cluster) }),
      ...(choice && { choice }),
      ...(nft && { nft }),
      warn: (message) => logger.warn({}, message),
      readNet,
      clock,
    });
  }

  /** A range that changes while pods are in it is told: the network of a running agent does not move. */
  #followOwnRange({ pool }: PodNetwork): void {
    const movedTo = this.#range.other(pool.range.text);
    if (movedTo === this.#movedTo) return;
    this.#movedTo = movedTo;
    this.#error = movedTo === undefined ? '' : describeMove(movedTo, pool.range.text);
    if (movedTo !== undefined) this.#options.logger.warn({}, this.#error);
  }

  async #follow(network: PodNetwork, signal: AbortSignal): Promise<void> {
    const { networks, nodeName, logger, clock } = this.#options;
    const takeCluster = this.#clusterTaker(network);
    // One at a time, also while it is tried again: each is a handler.
    let changed: Promise<void> | undefined;
    while (!signal.aborted) {
      changed ??= nextChange(networks, signal).finally(() => {
        changed = undefined;
      });
      this.#followOwnRange(network);
      const own = { name: nodeName, address: this.#address, range: network.pool.range };
      const { neighbours, refused } = computeNeighbours(networks.lister.list(), own);
      for (const each of refused) if (!this.#refused.includes(each)) logger.warn({}, each);
      this.#refused = refused;
      const isTaken = await takeCluster();
      try {
        await network.setNeighbours(neighbours);
        await this.#keep(network);
      } catch (error) {
        logger.warn({}, `routes to other nodes' pods cannot be written: ${wordsOf(error)}`);
        await pause(retryMs, signal, clock);
        continue;
      }
      await (isTaken ? changed : pause(retryMs, signal, clock));
      await pause(gatherMs, signal, clock);
    }
  }

  /** Takes what the cluster has now. False, and told once, where it cannot: the pods' network goes on without. */
  #clusterTaker(network: PodNetwork): () => Promise<boolean> {
    const { networks, nodeName, logger } = this.#options;
    let told = '';
    return async () => {
      try {
        await this.#setCluster(network, clusterOf(networks.lister.get(nodeName)));
        return true;
      } catch (error) {
        const words = `Services cannot be carried: ${wordsOf(error)}`;
        if (words !== told) logger.warn({}, words);
        told = words;
        return false;
      }
    };
  }

  async #keep({ pool, routes, opened }: PodNetwork): Promise<void> {
    await writeKept(this.#options.nodeDir, {
      ...{ range: pool.range.text, address: this.#address, routes, opened },
      ...(this.#cluster && { cluster: this.#cluster }),
    });
  }
}

/** Undefined where the NodeNetwork does not say all of it, or says what is none. */
function clusterOf({
  clusterCIDRs: pods = [],
  serviceCIDRs: services = [],
  clusterDomain: domain = '',
}: NodeNetwork = {}): ClusterNetwork | undefined {
  const isIPv4 = (text: string): boolean => ipVersion(text.split('/')[0] ?? '') === 4;
  const cluster = { pods: pods.filter(isIPv4), services: services.filter(isIPv4), domain };
  return cluster.pods.length > 0 && cluster.services.length > 0 && domain !== '' ? cluster : undefined;
}

/** Holders are sandboxes: the pod's uid and the attempt. */
const uidOfHolder = (holder: string): string => holder.slice(0, holder.lastIndexOf('/'));
