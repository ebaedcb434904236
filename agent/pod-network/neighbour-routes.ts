import { type AddressRange, parseAddressRange } from '../../api/meta/address-range.ts';
import { wordsOf } from '../words-of.ts';
import { gatewayAddressOf } from './gateway-link.ts';
import { type LinkOwner, tagOf } from './link-commands.ts';
import {
  hopTo,
  type Neighbour,
  type RoutedNeighbour,
  routeCommands,
  type Tunnel,
  tunnelCommands,
  tunnelId,
  tunnelOverhead,
  tunnelPort,
  type Way,
} from './node-routes.ts';
import { feed, type Shell } from './shell.ts';

/** Which way packets take to pods of other nodes; "auto": directly on the same link, else through VXLAN. */
export type WayChoice = 'auto' | 'direct' | 'vxlan';

export interface NeighbourRoutesOptions {
  readonly shell: Shell;
  readonly owner: LinkOwner;
  /** Of this node's pods. */
  readonly range: AddressRange;
  /** This node's InternalIP. */
  readonly address: string;
  readonly choice: WayChoice;
  readonly warn: (message: string) => void;
  /** Ranges that an agent before made routes to. */
  readonly before: readonly string[];
}

/** What a route was made of: the other node's address, and what was measured to be less, in bytes. */
interface Made {
  readonly address: string;
  readonly mtu: number | undefined;
}

/** The routes to the pods of other nodes, and the tunnel where they need it. */
export class NeighbourRoutes {
  readonly tunnel: Tunnel;
  readonly #options: NeighbourRoutesOptions;
  #neighbours: readonly Neighbour[] = [];
  /** Ranges that a route leads to, with what it was made of; undefined where that is not known. */
  readonly #routed = new Map<string, Made | undefined>();
  readonly #ways = new Map<string, Way['way']>();
  /** What was measured to be less than the way's room, by range, in bytes. */
  readonly #small = new Map<string, number>();
  readonly #uplinks = new Set<string>();
  #linkMtu = 0;
  /** Whether the other nodes are known: before that, some may be behind a router. */
  #isSet = false;
  #last: Promise<void> = Promise.resolve();

  constructor(options: NeighbourRoutesOptions) {
    this.#options = options;
    for (const range of options.before) this.#routed.set(range, undefined);
    this.tunnel = { name: `bvx${tagOf(options.owner)}`, id: tunnelId, port: tunnelPort, local: options.address };
  }

  get neighbours(): readonly RoutedNeighbour[] {
    return this.#neighbours.map((each) => ({ ...each, room: this.#roomOf(this.isTunnelled(each)) }));
  }

  /** What the machine's own interface carries, in bytes. */
  set linkMtu(mtu: number) {
    this.#linkMtu = mtu;
  }

  /** What packets have room for on every way, tunnels and what was measured included. In bytes. */
  get mtu(): number {
    const rooms = this.neighbours.map(({ room }) => room);
    return Math.min(this.#roomOf(this.#options.choice === 'vxlan' || !this.isKnown), ...rooms, ...this.small.values());
  }

  /** Whether `mtu` is what the other nodes need; before they are known it is the least that they may. */
  get isKnown(): boolean {
    return this.#isSet || this.#options.choice === 'direct';
  }

  /** The ways that carry less, by the node's name. */
  get small(): ReadonlyMap<string, number> {
    return new Map(
      this.neighbours.flatMap(({ name, range, room }) => {
        const mtu = this.#small.get(range.text);
        return mtu === undefined || mtu >= room ? [] : [[name, mtu]];
      }),
    );
  }

  /** Ranges that routes lead to. */
  get ranges(): readonly string[] {
    return [...this.#routed.keys()];
  }

  /** The machine's own links that lead, or led, to other nodes directly. */
  get uplinks(): ReadonlySet<string> {
    return this.#uplinks;
  }

  /** Whether packets to a neighbour go through the tunnel. */
  isTunnelled({ range }: Neighbour): boolean {
    return this.#ways.get(range.text) === 'tunnel';
  }

  /** The destinations of all routes, as `ip route` prints them. */
  get destinations(): readonly string[] {
    return [...this.#routed].flatMap(([range, made]) => (made?.mtu === undefined ? [range] : [range, gatewayOf(range)]));
  }

  /** The other nodes, all of them, as they are now. */
  async set(neighbours: readonly Neighbour[]): Promise<void> {
    this.#neighbours = neighbours;
    await this.#inTurn();
    this.#isSet = true;
  }

  /** Takes over what was measured, by range: each way carries packets of that many bytes at most. */
  async measured(mtus: ReadonlyMap<string, number>): Promise<void> {
    const rooms = new Map(this.neighbours.map(({ range, room }) => [range.text, room]));
    for (const [range, mtu] of mtus) {
      if (mtu < (rooms.get(range) ?? 0) && this.#routed.has(range)) this.#small.set(range, mtu);
      else this.#small.delete(range);
    }
    await this.#inTurn();
  }

  /** Makes all of them anew. */
  async restore(): Promise<void> {
    this.#routed.clear();
    await this.#inTurn();
  }

  /** Lines of a shell script that takes all of it away. */
  removeScript(): string[] {
    const routes = this.ranges.flatMap((range) => removeRoutes(range));
    this.#routed.clear();
    return [...routes, `ip link delete ${this.tunnel.name} 2>/dev/null || :`];
  }

  /** One after the other: each sees what the one before did. */
  #inTurn(): Promise<void> {
    const written = this.#last.then(() => this.#write());
    this.#last = written.catch(() => {});
    return written;
  }

  async #write(): Promise<void> {
    const wanted = new Set<string>();
    for (const neighbour of this.#neighbours) {
      const key = neighbour.range.text;
      wanted.add(key);
      const made: Made = { address: neighbour.address, mtu: this.#small.get(key) };
      const before = this.#routed.get(key);
      if (before !== undefined && before.address === made.address && before.mtu === made.mtu) continue;
      try {
        await this.#route(neighbour, made.mtu);
        this.#routed.set(key, made);
      } catch (error) {
        this.#routed.delete(key);
        this.#options.warn(
          `pods of node ${neighbour.name} (${key}, at ${neighbour.address}) cannot be reached: ${wordsOf(error)}`,
        );
      }
    }
    for (const key of this.#routed.keys()) {
      if (wanted.has(key)) continue;
      await this.#options.shell.run(removeRoutes(key).join('\n'));
      this.#routed.delete(key);
      this.#ways.delete(key);
      this.#small.delete(key);
    }
  }

  async #route(neighbour: Neighbour, mtu: number | undefined): Promise<void> {
    const { shell } = this.#options;
    const way = await this.#wayTo(neighbour);
    if (way.way === 'tunnel') await this.#ensureTunnel();
    const { neighbours, bridge, routes } = routeCommands(neighbour, way, mtu);
    await shell.run(
      [
        feed('ip -batch -', neighbours),
        feed('bridge -batch -', bridge),
        feed('ip -batch -', routes),
        ...(mtu === undefined ? removeRoutes(neighbour.range.text).slice(1) : []),
      ].join('\n'),
    );
    this.#ways.set(neighbour.range.text, way.way);
    if (way.way === 'direct') this.#uplinks.add(way.dev);
  }

  async #wayTo({ address }: Neighbour): Promise<Way> {
    const { shell, choice } = this.#options;
    const tunnel: Way = { way: 'tunnel', tunnel: this.tunnel };
    if (choice === 'vxlan') return tunnel;
    const hop = hopTo(await shell.run(`ip -json route get ${address}`));
    if (choice === 'direct') {
      if (hop === undefined) throw new Error('there is no link to it');
      return { way: 'direct', ...hop };
    }
    return hop === undefined || hop.via !== undefined ? tunnel : { way: 'direct', ...hop };
  }

  #roomOf(isTunnelled: boolean): number {
    return isTunnelled ? this.#linkMtu - tunnelOverhead : this.#linkMtu;
  }

  async #ensureTunnel(): Promise<void> {
    const { name } = this.tunnel;
    const mtu = this.#roomOf(true);
    const commands = tunnelCommands(this.tunnel, this.#options.range, mtu);
    // One that an agent before made, perhaps when the machine's interface was another.
    const adapt = `ip link set dev ${name} mtu ${mtu}; ip link set dev ${name} type vxlan df inherit || :`;
    const made = `if ip link show dev ${name} >/dev/null 2>&1; then ${adapt}; else\n${feed('ip -batch -', commands)}\nfi`;
    await this.#options.shell.run(made);
  }
}

const gatewayOf = (range: string): string => gatewayAddressOf(parseAddressRange(range));

/** Lines of a shell script: the route to a range, and the one to its gateway. */
const removeRoutes = (range: string): string[] =>
  [range, `${gatewayOf(range)}/32`].map((each) => `ip route delete ${each} 2>/dev/null || :`);
