import type { Node } from '../../api/generated/types.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { labels } from '../../api/meta/well-known.ts';
import type { Clock, Informer, Logger } from '../../client/index.ts';
import type { Source, Wake } from '../controller.ts';
import { computeRate, computeZoneState, type EvictionRates, type ZoneState } from './zone-state.ts';

/**
 * Which nodes may be given up, zone by zone: never more than the zone's rate allows, none while too many are lost at
 * once. A node that has to wait is woken at its turn, and all lost nodes of a zone when the state of the zone
 * changes.
 */
export interface Zones extends Source {
  /**
   * The node is lost: may its pods be driven away? One that was given up already may stay so without a turn of its own.
   */
  mayGiveUp(node: Node, already: boolean): boolean;
  /** Whether evictions in the node's zone are stopped now. */
  isStopped(node: Node): boolean;
}

export interface ZonesOptions {
  readonly nodes: Pick<Informer<Node>, 'addHandler' | 'hasSynced' | 'waitForSync'>;
  readonly rates: EvictionRates;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * None of these lost nodes could be given up, and from now on they may:
   * those of them that are only not heard yet need time to be.
   */
  readonly resumed: (names: readonly string[]) => void;
}

/** A node that does not use its turn within this time loses it to the next one. */
const turnMs = 1_000;

interface Zone {
  ready: number;
  readonly lost: Set<string>;
  /** Those that asked and were told to wait, in that order. */
  readonly waiting: Set<string>;
  state: ZoneState;
  rate: number;
  /** Until the next node may be given up. */
  cancelPause: (() => void) | undefined;
  cancelTurn: (() => void) | undefined;
}

interface Member {
  readonly zone: string;
  readonly ready: boolean;
}

export function createZones(options: ZonesOptions): Zones {
  return new ObservedZones(options);
}

class ObservedZones implements Zones {
  readonly #options: ZonesOptions;
  readonly #zones = new Map<string, Zone>();
  readonly #members = new Map<string, Member>();
  #wake: Wake = () => {};
  #allFull = false;

  constructor(options: ZonesOptions) {
    this.#options = options;
  }

  mayGiveUp(node: Node, already: boolean): boolean {
    const name = node.metadata?.name ?? '';
    const zoneName = zoneOf(node);
    // The copy may not show yet that it is lost.
    this.#set(name, { zone: zoneName, ready: false });
    const zone = this.#zoneNamed(zoneName);
    if (zone.rate === 0 || already) return zone.rate > 0;
    if (zone.cancelPause) {
      zone.waiting.add(name);
      return false;
    }
    zone.waiting.delete(name);
    this.#take(zone);
    return true;
  }

  isStopped(node: Node): boolean {
    return this.#zones.get(zoneOf(node))?.rate === 0;
  }

  waitForSync(signal: AbortSignal): Promise<void> {
    return this.#options.nodes.waitForSync(signal);
  }

  connect(to: Wake): () => void {
    this.#wake = to;
    const observe = (node: Node): void => {
      const ready = isConditionTrue(node.status?.conditions, 'Ready');
      this.#set(node.metadata?.name ?? '', { zone: zoneOf(node), ready });
    };
    const disconnect = this.#options.nodes.addHandler({
      name: 'zones',
      onAdd: observe,
      onUpdate: observe,
      onDelete: ({ metadata }) => this.#set(metadata?.name ?? '', undefined),
    });
    return () => {
      disconnect();
      this.#wake = () => {};
      for (const { cancelPause, cancelTurn } of this.#zones.values()) {
        cancelPause?.();
        cancelTurn?.();
      }
      this.#zones.clear();
      this.#members.clear();
    };
  }

  #zoneNamed(name: string): Zone {
    const known = this.#zones.get(name);
    if (known) return known;
    const zone: Zone = {
      ready: 0,
      lost: new Set(),
      waiting: new Set(),
      state: 'normal',
      rate: this.#options.rates.nodeEvictionRate,
      cancelPause: undefined,
      cancelTurn: undefined,
    };
    this.#zones.set(name, zone);
    return zone;
  }

  #set(name: string, next: Member | undefined): void {
    const old = this.#members.get(name);
    if (old?.zone === next?.zone && old?.ready === next?.ready) return;
    if (old) this.#leave(name, old);
    if (next) {
      this.#members.set(name, next);
      const zone = this.#zoneNamed(next.zone);
      if (next.ready) zone.ready++;
      else zone.lost.add(name);
    }
    this.#judge();
  }

  #leave(name: string, { zone: zoneName, ready }: Member): void {
    const zone = this.#zoneNamed(zoneName);
    this.#members.delete(name);
    if (ready) zone.ready--;
    zone.lost.delete(name);
    zone.waiting.delete(name);
  }

  /** Few zones, so all of them are looked at. One that has no nodes any more is kept while its pause lasts. */
  #judge(): void {
    const populated = [...this.#zones.values()].filter(({ ready, lost }) => ready + lost.size > 0);
    this.#allFull = populated.length > 0 && populated.every(({ ready }) => ready === 0);
    for (const [name, zone] of this.#zones) {
      if (zone.ready + zone.lost.size > 0) this.#judgeOne(name, zone);
      else if (!zone.cancelPause) this.#zones.delete(name);
    }
  }

  #judgeOne(name: string, zone: Zone): void {
    const { rates, nodes, logger, resumed } = this.#options;
    const counts = { ready: zone.ready, lost: zone.lost.size };
    const [state, rate] = [computeZoneState(counts, rates), computeRate(counts, this.#allFull, rates)];
    if (state !== zone.state && nodes.hasSynced())
      logger.warn({ zone: name, state, ...counts, nodesPerSecond: rate }, 'the state of the zone changed');
    const before = zone.rate;
    Object.assign(zone, { state, rate });
    if (before === rate) return;
    if (before === 0) resumed([...zone.lost]);
    for (const each of zone.lost) this.#wake(each);
  }

  #take(zone: Zone): void {
    zone.cancelPause = this.#options.clock.after(1_000 / zone.rate, () => {
      zone.cancelPause = undefined;
      this.#callNext(zone);
      this.#judge();
    });
  }

  #callNext(zone: Zone): void {
    zone.cancelTurn = undefined;
    const [next] = zone.waiting;
    if (zone.cancelPause || next === undefined) return;
    zone.waiting.delete(next);
    this.#wake(next);
    zone.cancelTurn = this.#options.clock.after(turnMs, () => this.#callNext(zone));
  }
}

/** As in Kubernetes, a zone is one of its region. Nodes without labels are one zone together. */
export function zoneOf({ metadata }: Node): string {
  const { [labels.region]: region = '', [labels.zone]: zone = '' } = metadata?.labels ?? {};
  return region || zone ? `${region}/${zone}` : '';
}
