import { type Clock, pause } from '../../client/clock.ts';
import { type Probe, type ProbeResult, probeResolver } from '../net-check/dns-probe.ts';
import { untilCheck } from '../nft/ask-chain.ts';
import { withSharedTimers } from '../nft/shared-timers.ts';
import { wordsOf } from '../words-of.ts';
import { gatewayAddressOf } from './gateway-link.ts';
import { type Measured, measureWays } from './measure-ways.ts';
import type { NeighbourRoutes } from './neighbour-routes.ts';
import type { RoutedNeighbour } from './node-routes.ts';
import { feed, type Shell } from './shell.ts';

export interface WayMeasurerOptions {
  readonly shell: Shell;
  readonly routes: Pick<NeighbourRoutes, 'neighbours' | 'isTunnelled' | 'measured' | 'small' | 'tunnel'>;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
  readonly probe?: (probe: Probe, signal: AbortSignal) => Promise<ProbeResult>;
}

interface Seen {
  readonly at: number;
  readonly address: string;
  /** What it had room for at most: another way has another. */
  readonly room: number;
  readonly isKnown: boolean;
}

const tickMs = 2_000;
/** How long a measurement counts. The kernel keeps what routers tell for ten minutes. */
const againMs = 300_000;
/** After a node was silent. */
const silentMs = 15_000;
/** So many ways are measured in one go, so that what is found is in force soon. */
const mostAtOnce = 64;

/**
 * Measures how large packets to other nodes may be, and whether checksums arrive whole, when a node is new and every
 * five minutes; what is found is in force at once.
 */
export class WayMeasurer {
  readonly #options: WayMeasurerOptions;
  readonly #seen = new Map<string, Seen>();
  readonly #damaged = new Set<string>();
  /** Nodes for whose sake the kernel was told to compute the checksums. */
  readonly #remedied = new Set<string>();
  #told = '';
  #hurry = new AbortController();

  constructor(options: WayMeasurerOptions) {
    this.#options = options;
  }

  /** The nodes that drop packets of this one for their checksums, where that could not be remedied. */
  get damaged(): ReadonlySet<string> {
    return this.#damaged;
  }

  /** Measures the ways to these nodes now. */
  again(names: readonly string[]): void {
    for (const name of names) this.#seen.delete(name);
    this.#hurry.abort();
  }

  /** Until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, warn } = this.#options;
    while (!signal.aborted) {
      this.#hurry = new AbortController();
      try {
        await this.#round(signal);
      } catch (error) {
        this.#tell(`the ways to other nodes cannot be measured: ${wordsOf(error)}`, warn);
      }
      await pause(untilCheck(tickMs, clock.now()), AbortSignal.any([signal, this.#hurry.signal]), withSharedTimers(clock));
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { routes, shell, clock, probe = probeResolver } = this.#options;
    const all = routes.neighbours;
    const names = new Set(all.map(({ name }) => name));
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
    for (const each of [this.#damaged, this.#remedied]) for (const name of each) if (!names.has(name)) each.delete(name);
    const due = all.filter((each) => this.#isDue(each)).slice(0, mostAtOnce);
    if (due.length === 0) return;
    // The kernel would go on with what a router said that is not there any more.
    if (due.some(({ name }) => routes.small.has(name))) await shell.run(forgetLearned);
    const found = await measureWays({
      ways: due.map((each) => ({
        ...{ gateway: gatewayAddressOf(each.range), isTunnelled: routes.isTunnelled(each), most: each.room },
      })),
      probe: (each) => probe(each, signal),
      learned: async (gateways) => parseLearned(await shell.run(learnedScript(gateways))),
    });
    if (signal.aborted) return;
    const at = clock.now();
    for (const [index, { name, address, room }] of due.entries())
      this.#seen.set(name, { at, address, room, isKnown: typeof found[index] === 'object' });
    await this.#takeSizes(due, found);
    await this.#takeDamage(due, found);
  }

  #isDue({ name, address, room }: RoutedNeighbour): boolean {
    const seen = this.#seen.get(name);
    if (seen === undefined || seen.address !== address || seen.room !== room) return true;
    return Math.abs(this.#options.clock.now() - seen.at) >= (seen.isKnown ? againMs : silentMs);
  }

  async #takeSizes(due: readonly RoutedNeighbour[], found: readonly Measured[]): Promise<void> {
    const { routes, warn } = this.#options;
    const mtus = new Map(
      due.flatMap(({ range }, index): [string, number][] => {
        const each = found[index];
        return typeof each === 'object' ? [[range.text, each.mtu]] : [];
      }),
    );
    const before = routes.small;
    await routes.measured(mtus);
    for (const { name, room } of routes.neighbours) {
      const mtu = routes.small.get(name);
      if (mtu !== undefined && before.get(name) !== mtu)
        warn(`packets to pods of node ${name} have room for ${mtu} bytes, not for ${room}: pods are told so`);
    }
  }

  async #takeDamage(due: readonly RoutedNeighbour[], found: readonly Measured[]): Promise<void> {
    const { routes, shell, warn } = this.#options;
    const damaged = due.filter((_, index) => found[index] === 'damaged').map(({ name }) => name);
    for (const [index, { name }] of due.entries()) if (typeof found[index] === 'object') this.#damaged.delete(name);
    if (damaged.length === 0) return;
    const { name: tunnel } = routes.tunnel;
    const words = `packets through the tunnel reach ${damaged.join(', ')} with wrong checksums, which the network card was to finish`;
    const isDone = (await shell.run(finishScript(tunnel))).includes('finished');
    const fresh = isDone ? damaged.filter((name) => !this.#remedied.has(name)) : [];
    for (const name of damaged) if (!fresh.includes(name)) this.#damaged.add(name);
    for (const name of fresh) {
      this.#remedied.add(name);
      // Measured again at the next tick: a node that is still damaged then is reported.
      this.#seen.delete(name);
    }
    const off = `ethtool -K ${tunnel} ${offloading} off`;
    if (fresh.length > 0) this.#tell(`${words}: the kernel computes them from now on (${off})`, warn);
    else this.#tell(`${words}; ${isDone ? `"${off}" did not help` : `"${off}" would remedy it: install ethtool`}`, warn);
  }

  #tell(message: string, warn: (message: string) => void): void {
    if (message !== this.#told) warn(message);
    this.#told = message;
  }
}

export const offloading = 'tx-checksum-ip-generic';

/** A shell script. Prints "finished" where the kernel computes the checksums of a link now. */
const finishScript = (link: string): string => `ethtool -K ${link} ${offloading} off >/dev/null 2>&1 && echo finished || :`;

/** A shell script: what routers said about the size of packets is void. */
export const forgetLearned = 'ip route flush cache';

/** An address without a route ends neither the others nor the script. */
const learnedScript = (gateways: readonly string[]): string =>
  `{ ${feed(
    'ip -json -force -batch - 2>/dev/null',
    gateways.map((each) => `route get ${each}`),
  )}\n} || :`;

interface RouteEntry {
  readonly dst?: string;
  readonly metrics?: readonly { readonly mtu?: number }[] | undefined;
}

/** What `ip -json route get` says about the size of packets. */
export const mtuOf = ({ metrics = [] }: RouteEntry): number | undefined => metrics.find(({ mtu }) => mtu !== undefined)?.mtu;

/** By destination. Pure. */
function parseLearned(text: string): ReadonlyMap<string, number> {
  const entries = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : (JSON.parse(line) as RouteEntry[])));
  return new Map(
    entries.flatMap((entry): [string, number][] => {
      const mtu = mtuOf(entry);
      return entry.dst === undefined || mtu === undefined ? [] : [[entry.dst, mtu]];
    }),
  );
}
