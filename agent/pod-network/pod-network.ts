import type { AddressRange } from '../../api/meta/address-range.ts';
import { type Clock, pause } from '../../client/clock.ts';
import { untilCheck } from '../nft/ask-chain.ts';
import type { NftProcess } from '../nft/nft-process.ts';
import { withSharedTimers } from '../nft/shared-timers.ts';
import { wordsOf } from '../words-of.ts';
import { AddressPool } from './address-pool.ts';
import {
  acceptedCommand,
  areRulesThere,
  forwardingScript,
  forwardScript,
  hasAllRules,
  hasForward,
  listTable,
  type Outside,
  removeScript,
  tableCommands,
  tableOf,
} from './firewall.ts';
import { type RangeGround, requireFreeRange } from './free-range.ts';
import { gatewayAddressOf, gatewayLinkOf, gatewayScript, removeServiceRoute, serviceRouteCommands } from './gateway-link.ts';
import { JoinedPods } from './joined-pods.ts';
import type { LinkOwner } from './link-commands.ts';
import { closeLoopbackScript, openLoopbackScript, parseOpened } from './loopback.ts';
import { NeighbourRoutes, type WayChoice } from './neighbour-routes.ts';
import type { Neighbour, RoutedNeighbour } from './node-routes.ts';
import { PodLinks } from './pod-links.ts';
import { type JoinedPod, PodRoutes } from './pod-routes.ts';
import { neededPrograms } from './programs.ts';
import { feed, type Shell } from './shell.ts';
import { findIptables, isOfNftables, readUplinkMtu } from './uplink.ts';

export interface PodNetworkOptions {
  readonly shell: Shell;
  readonly owner: LinkOwner;
  /** Of this node's pods. */
  readonly range: AddressRange;
  /** This node's InternalIP. */
  readonly address: string;
  /** Absent: auto. */
  readonly choice?: WayChoice;
  readonly warn: (message: string) => void;
  /**
   * The text of a file where the node's network is, or where a process is; undefined when that has ended.
   * Throws when it cannot be read.
   */
  readonly readNet: (file: NetFile, pid?: number) => Promise<string | undefined>;
  /** Looks at rules without a process for each look. Absent: iptables looks, and sees less. */
  readonly nft?: Pick<NftProcess, 'run'>;
  readonly clock: Clock;
  /** Ranges that an agent before made routes to. */
  readonly routes?: readonly string[];
  /** What an agent before knew of the cluster. */
  readonly cluster?: ClusterRanges;
  /** Links of the machine that an agent before opened for connections of its loopback addresses. */
  readonly opened?: readonly string[];
}

/** Of /proc/net, and settings that forward: the machine's, and a link's, which is there while the link is. */
export type NetFile = 'dev' | 'route' | 'ip_forward' | `forwarding of ${string}`;

/** What all nodes of the cluster have in common. Empty: not known (yet). */
export interface ClusterRanges {
  readonly pods: readonly AddressRange[];
  readonly services: readonly AddressRange[];
}

/** The state that net check compares the machine with. */
export interface NetworkPlan {
  readonly range: string;
  readonly gateway: string;
  readonly gatewayLink: string;
  /** What packets of new pods have at most: what every way to another node has room for. In bytes. */
  readonly mtu: number;
  /** What was measured on ways that have room for less, by the node's name. */
  readonly small: ReadonlyMap<string, number>;
  readonly neighbours: readonly RoutedNeighbour[];
  readonly services: readonly string[];
  /** The link of the tunnel to other nodes, whether it is there or not. */
  readonly tunnel: string;
  /** Of nftables. */
  readonly table: string;
  /** For a shell's `if`: whether the rules that accept the pods' packets are there. */
  readonly hasForward: string;
}

/** How often rules and routes of the pods' network are looked at. */
const guardMs = 2_000;
/**
 * Every so many looks is a whole check, also when nothing seems to have changed. It costs six processes, which is more
 * than the looks between two of them.
 */
const wholeEvery = { withNft: 30, withIptables: 5 };
/** The least MTU that is assumed of the machine's links, in bytes: IPv6's minimum (RFC 8200). */
const leastMtu = 1_280;

/**
 * The network of one node's pods: addresses of the node's range, a routed pair of interfaces for each pod, routes to
 * the pods of other nodes, and the firewall rules that let it pass. Every name carries the tag of installation and
 * node, so that `remove` leaves the machine as it was and several agents may share it.
 */
export class PodNetwork {
  readonly pool: AddressPool;
  readonly links: PodLinks;
  readonly neighbours: NeighbourRoutes;
  readonly #podRoutes: PodRoutes;
  readonly #joinedPods: JoinedPods;
  readonly #options: PodNetworkOptions;
  #cluster: ClusterRanges;
  /** The machine's own links to other nodes whose setting was changed, which `remove` takes back. */
  readonly #opened: Set<string>;
  #linkMtu = leastMtu;
  #iptables = 'iptables';
  /** Undefined where the engine's rules are none of nftables. */
  #nft: Pick<NftProcess, 'run'> | undefined;
  /** Since the last whole check. */
  #looks = 0;
  #hurry = new AbortController();

  constructor(options: PodNetworkOptions) {
    this.#options = options;
    this.#cluster = options.cluster ?? { pods: [], services: [] };
    const { shell, owner, range, address, choice = 'auto', warn, routes: before = [] } = options;
    this.neighbours = new NeighbourRoutes({ shell, owner, range, address, choice, warn, before });
    this.pool = new AddressPool(options.range);
    this.#opened = new Set(options.opened);
    this.#podRoutes = new PodRoutes(shell);
    this.links = new PodLinks({ shell: options.shell, owner: options.owner, source: sourceOf(options) });
    this.#joinedPods = new JoinedPods({
      ...{ linksOf: (pid) => this.#linksOf(pid), nameOf: (address) => this.links.nameOf(address), clock: options.clock },
    });
  }

  /** How large packets of a new pod may be, in bytes: those that it sends, and those that its interface carries. */
  get sizes(): { readonly mtu: number; readonly linkMtu: number } {
    return { mtu: this.neighbours.mtu, linkMtu: this.#linkMtu };
  }

  /** Joins a pod to the network, as `PodLinks.attach`. */
  async attach(pod: JoinedPod & { readonly pid: number }): Promise<void> {
    const { sizes } = this;
    await this.links.attach({ ...pod, ...sizes });
    this.#podRoutes.made(pod.address, sizes.mtu);
  }

  /** Makes what all pods need. Throws an Error that says what the machine lacks, or what is in the way. */
  async start(): Promise<void> {
    const { shell, range } = this.#options;
    const lacking = await shell.run(neededPrograms.map(({ name }) => `command -v ${name} >/dev/null || echo ${name}`).join('\n'));
    const missing = neededPrograms.filter(({ name }) => lacking.split('\n').includes(name));
    if (missing.length > 0)
      throw new Error(
        `the pods' network needs ${missing.map(({ name, of }) => `${name} (package ${of})`).join(', ')}: install it`,
      );
    await requireFreeRange(this.#ground, range, 'pods', this.#cluster);
    this.#linkMtu = Math.max(leastMtu, await readUplinkMtu(shell, this.#options.address));
    this.neighbours.linkMtu = this.#linkMtu;
    this.#iptables = await findIptables(shell);
    this.#nft = (await isOfNftables(shell, this.#iptables)) ? this.#options.nft : undefined;
    await this.#writeTable();
    await shell.run(
      [
        forwardingScript,
        // What has no pod is answered here, and does not leave by the default route to come back again.
        `ip route replace unreachable ${range.text}`,
        gatewayScript(this.#options.owner, range),
      ].join('\n'),
    );
    await this.#mendForward();
  }

  /** The node's own address in its range. */
  get gateway(): string {
    return gatewayAddressOf(this.#options.range);
  }

  get plan(): NetworkPlan {
    const { owner, range } = this.#options;
    return {
      ...{ range: range.text, gateway: this.gateway, gatewayLink: gatewayLinkOf(owner), mtu: this.neighbours.mtu },
      ...{
        small: this.neighbours.small,
        neighbours: this.neighbours.neighbours,
        services: this.#cluster.services.map(({ text }) => text),
      },
      ...{
        tunnel: this.neighbours.tunnel.name,
        table: tableOf(owner),
        hasForward: hasForward(owner, this.#pods, this.#iptables),
      },
    };
  }

  /** Lets in what is for pods of other nodes, and leads to Services. Throws an Error that says what is in the way. */
  async setCluster(cluster: ClusterRanges): Promise<void> {
    for (const range of cluster.services) await requireFreeRange(this.#ground, range, 'services', cluster);
    const stay = new Set(cluster.services.map(({ text }) => text));
    const gone = this.#cluster.services.filter(({ text }) => !stay.has(text));
    this.#cluster = cluster;
    await this.#options.shell.run(
      [
        ...gone.map(removeServiceRoute),
        feed('ip -batch -', serviceRouteCommands(cluster.services, sourceOf(this.#options))),
      ].join('\n'),
    );
    await this.#writeTable();
    await this.#mendForward();
  }

  /** The other nodes of the cluster, all of them, as they are now. */
  async setNeighbours(neighbours: readonly Neighbour[]): Promise<void> {
    const had = insideOf(this.neighbours.neighbours);
    await this.neighbours.set(neighbours);
    this.#noteOpened(await this.#options.shell.run(openLoopbackScript(this.#opening())));
    if (had !== insideOf(neighbours)) await this.#writeTable();
  }

  /** Ranges that routes lead to, for the agent after this one. */
  get routes(): readonly string[] {
    return this.neighbours.ranges;
  }

  /** Links of the machine that are open for connections of its loopback addresses, for the agent after this one. */
  get opened(): readonly string[] {
    return [...this.#opened];
  }

  /**
   * The addresses of those that are joined (`JoinedPods`). Routes of those that allow larger packets than there is room
   * for by now are written anew. Throws when it cannot be read.
   */
  async joined(pods: readonly JoinedPod[]): Promise<ReadonlySet<string>> {
    const joined = await this.#joinedPods.among(pods);
    if (this.neighbours.isKnown) await this.#podRoutes.hold(joined, this.sizes);
    return new Set(joined.map(({ address }) => address));
  }

  /** Restores rules and routes after a flushed firewall, a restarted engine or network manager, until aborted. */
  async guard(signal: AbortSignal): Promise<void> {
    let seen = '';
    while (!signal.aborted) {
      this.#hurry = new AbortController();
      try {
        if (this.#looks++ % wholeEvery[this.#nft ? 'withNft' : 'withIptables'] === 0 || (await this.#glance()) !== seen) {
          this.#looks = 1;
          await this.mend();
          seen = await this.#glance();
        }
      } catch (error) {
        this.#options.warn(`the pods' network cannot be checked: ${wordsOf(error)}`);
      }
      const { clock } = this.#options;
      await pause(untilCheck(guardMs, clock.now()), AbortSignal.any([signal, this.#hurry.signal]), withSharedTimers(clock));
    }
  }

  /** Makes `guard` check the whole now. */
  look(): void {
    this.#looks = 0;
    this.#hurry.abort();
  }

  /** What another program most often changes, as a text that stays the same while it does not. */
  async #glance(): Promise<string> {
    const { shell, owner, readNet } = this.#options;
    const isOpen = this.#nft
      ? await areRulesThere(this.#nft, owner)
      : await shell.run(`exec ${acceptedCommand(owner, this.#iptables)}`).then(
          () => true,
          () => false,
        );
    // Not by the list of all links: the kernel counts the packets of each for it, every pod's.
    const hasGateway = await readNet(`forwarding of ${gatewayLinkOf(owner)}`).then(
      () => true,
      () => false,
    );
    return `${isOpen} ${hasGateway} ${await readNet('ip_forward')} ${await readNet('route')}`;
  }

  /** A whole check: tells and mends. One script, as each process costs some milliseconds of the processor. */
  async mend(): Promise<void> {
    const { shell, owner, range } = this.#options;
    const output = await shell.run(
      [
        listTable(owner),
        'echo routes',
        'ip route show',
        'echo others',
        forwardingScript,
        `[ -e /proc/sys/net/ipv4/conf/${gatewayLinkOf(owner)} ] || echo gateway`,
        openLoopbackScript(this.#opening(this.pool.addresses())),
        `${hasForward(owner, this.#pods, this.#iptables)} || echo forward`,
      ].join('\n'),
    );
    this.#noteOpened(output);
    const lines = output.split('\n');
    const [routesAt, othersAt] = [lines.indexOf('routes'), lines.indexOf('others')];
    const others = lines.slice(othersAt);
    if (others.includes('forwarding')) this.#options.warn('net.ipv4.ip_forward was turned off: turned it on again');
    if (!hasAllRules(lines.slice(0, routesAt), owner, this.#outside)) {
      await this.#writeTable();
      this.#options.warn("the nftables table of the pods' network, or rules of it, was removed: restored it");
    }
    if (others.includes('gateway')) await shell.run(gatewayScript(owner, range));
    await this.#mendRoutes(lines.slice(routesAt, othersAt));
    if (others.includes('forward') && (await this.#mendForward()))
      this.#options.warn("the rules that accept the pods' packets (chain FORWARD) were removed: restored them");
  }

  /** Lines that `ip route show` printed. */
  async #mendRoutes(lines: readonly string[]): Promise<void> {
    const { shell, range } = this.#options;
    if (!lines.some((line) => line.startsWith(`unreachable ${range.text} `)))
      await shell.run(`ip route replace unreachable ${range.text}`);
    const routed = new Set(lines.map((line) => line.split(' ')[0]));
    const lostServices = this.#cluster.services.filter(({ text }) => !routed.has(text));
    if (lostServices.length > 0)
      await shell.run(feed('ip -batch -', serviceRouteCommands(lostServices, sourceOf(this.#options))));
    if (this.neighbours.destinations.some((each) => !routed.has(each))) {
      await this.neighbours.restore();
      this.#options.warn("routes to other nodes' pods were removed: restored them");
    }
    await this.links.reach(this.pool.addresses().filter((each) => !routed.has(each)));
  }

  /** Takes away all that `start` and the pods made. */
  async remove(): Promise<void> {
    const { shell, owner, range } = this.#options;
    this.#iptables = await findIptables(shell);
    await this.links.sweep(new Set());
    // They end by themselves, the established ones within days.
    await this.links.forget(range, new Set()).catch((error) => this.#options.warn(wordsOf(error)));
    await shell.run(
      [
        ...this.neighbours.removeScript(),
        `ip route delete unreachable ${range.text} 2>/dev/null || :`,
        `ip link delete ${gatewayLinkOf(owner)} 2>/dev/null || :`,
        closeLoopbackScript(this.#opened),
        ...this.#cluster.services.map(removeServiceRoute),
        removeScript(owner, this.#iptables),
      ].join('\n'),
    );
  }

  async #linksOf(pid?: number): Promise<ReadonlySet<string>> {
    return linkNames((await this.#options.readNet('dev', pid)) ?? '');
  }

  /** The cluster's whole range; until it is known, the parts that are. */
  get #pods(): readonly AddressRange[] {
    const { pods } = this.#cluster;
    return pods.length > 0 ? pods : [this.#options.range, ...this.neighbours.neighbours.map((each) => each.range)];
  }

  get #ground(): RangeGround {
    const { shell, owner } = this.#options;
    return { shell, owner, tunnel: this.neighbours.tunnel.name };
  }

  get #outside(): Outside {
    const { range, address } = this.#options;
    const nodes = [address, ...this.neighbours.neighbours.map((each) => each.address)];
    return { range, pods: this.#pods, nodes, tunnel: this.neighbours.tunnel.name };
  }

  async #writeTable(): Promise<void> {
    const { shell, owner } = this.#options;
    await shell.run(feed('nft -f -', tableCommands(owner, this.#outside)));
  }

  async #mendForward(): Promise<boolean> {
    const { shell, owner } = this.#options;
    return (await shell.run(forwardScript(owner, this.#pods, this.#iptables))).includes('mended');
  }

  /** Node ports at 127.0.0.1 lead to pods of this node, and of others. */
  #opening(pods: readonly string[] = []): string[] {
    return [...pods.map((address) => this.links.nameOf(address)), this.neighbours.tunnel.name, ...this.neighbours.uplinks];
  }

  #noteOpened(output: string): void {
    for (const link of parseOpened(output)) if (this.neighbours.uplinks.has(link)) this.#opened.add(link);
  }
}

/** Of all links of /proc/net/dev: "name: numbers". A machine may have any number of them. */
const linkNames = (text: string): ReadonlySet<string> =>
  new Set(text.split('\n').flatMap((line) => /^\s*([^\s:]+):/.exec(line)?.[1] ?? []));

const insideOf = (neighbours: readonly Neighbour[]): string =>
  neighbours.map(({ address, range }) => `${address} ${range.text}`).join();

/**
 * The machine's own address when it speaks to pods. A machine that is in no network has addresses of the loopback
 * interface alone, from which nothing leaves it.
 */
const sourceOf = ({ address, range }: Pick<PodNetworkOptions, 'address' | 'range'>): string =>
  address.startsWith('127.') ? gatewayAddressOf(range) : address;
