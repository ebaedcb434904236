import type { Node } from '../../api/generated/types.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { labels } from '../../api/meta/well-known.ts';
import type { Clock, Informer, Logger } from '../../client/index.ts';
import type { Source, Wake } from '../controller.ts';
import { computeRate, computeZoneState, type EvictionRates, type ZoneState } from './zone-state.ts';

/**
 * Which nodes may be given up, zone by zone: never more than the zone's rate allows, none while too many are lost at once. Asking wakes: a node
 * that was told to wait is woken when it is its turn, and all that are lost when what holds for their zone changes.
 */
export interface Zones extends Source {
  /** The node is lost: may its pods be driven away? One that was given up already may stay so without a turn of its own. */
  mayGiveUp(node: Node, already: boolean): boolean;
  /** Whether evictions in the node's zone are stopped now. */
  isStopped(node: Node): boolean;
}

export interface ZonesOptions {
  readonly nodes: Pick<Informer<Node>, 'addHandler' | 'hasSynced' | 'waitForSync'>;
  readonly rates: EvictionRates;
  readonly clock: Clock;
  readonly logger: Logger;
  /** None of these lost nodes could be given up, and from now on they may: those of them that are only not heard yet need time to be. */
  readonly resumed: (names: readonly string[]) => void;
}

/** If the one whose turn it is does not take it, the next one gets it. */
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

export function createZones({ nodes, rates, clock, logger, resumed }: ZonesOptions): Zones {
  const zones = new Map<string, Zone>();
  const members = new Map<string, Member>();
  let wake: Wake = () => {};
  let allFull = false;

  function zoneNamed(name: string): Zone {
    const known = zones.get(name);
    if (known) return known;
    const zone: Zone = {
      ready: 0,
      lost: new Set(),
      waiting: new Set(),
      state: 'normal',
      rate: rates.nodeEvictionRate,
      cancelPause: undefined,
      cancelTurn: undefined,
    };
    zones.set(name, zone);
    return zone;
  }

  function set(name: string, next: Member | undefined): void {
    const old = members.get(name);
    if (old?.zone === next?.zone && old?.ready === next?.ready) return;
    if (old) leave(name, old);
    if (next) {
      members.set(name, next);
      const zone = zoneNamed(next.zone);
      if (next.ready) zone.ready++;
      else zone.lost.add(name);
    }
    judge();
  }

  function leave(name: string, { zone: zoneName, ready }: Member): void {
    const zone = zoneNamed(zoneName);
    members.delete(name);
    if (ready) zone.ready--;
    zone.lost.delete(name);
    zone.waiting.delete(name);
  }

  /** Few zones, so all of them are looked at. One that has no nodes any more is kept while its pause lasts. */
  function judge(): void {
    const populated = [...zones.values()].filter(({ ready, lost }) => ready + lost.size > 0);
    allFull = populated.length > 0 && populated.every(({ ready }) => ready === 0);
    for (const [name, zone] of zones) {
      if (zone.ready + zone.lost.size > 0) judgeOne(name, zone);
      else if (!zone.cancelPause) zones.delete(name);
    }
  }

  function judgeOne(name: string, zone: Zone): void {
    const counts = { ready: zone.ready, lost: zone.lost.size };
    const [state, rate] = [computeZoneState(counts, rates), computeRate(counts, allFull, rates)];
    if (state !== zone.state && nodes.hasSynced())
      logger.warn({ zone: name, state, ...counts, nodesPerSecond: rate }, 'the state of the zone changed');
    const before = zone.rate;
    Object.assign(zone, { state, rate });
    if (before === rate) return;
    if (before === 0) resumed([...zone.lost]);
    for (const each of zone.lost) wake(each);
  }

  function take(zone: Zone): void {
    zone.cancelPause = clock.after(1_000 / zone.rate, () => {
      zone.cancelPause = undefined;
      callNext(zone);
      judge();
    });
  }

  function callNext(zone: Zone): void {
    zone.cancelTurn = undefined;
    const [next] = zone.waiting;
    if (zone.cancelPause || next === undefined) return;
    zone.waiting.delete(next);
    wake(next);
    zone.cancelTurn = clock.after(turnMs, () => callNext(zone));
  }

  return {
    mayGiveUp(node, already) {
      const name = node.metadata?.name ?? '';
      const zoneName = zoneOf(node);
      // The copy may not show yet that it is lost.
      set(name, { zone: zoneName, ready: false });
      const zone = zoneNamed(zoneName);
      if (zone.rate === 0 || already) return zone.rate > 0;
      if (zone.cancelPause) {
        zone.waiting.add(name);
        return false;
      }
      zone.waiting.delete(name);
      take(zone);
      return true;
    },
    isStopped: (node) => zones.get(zoneOf(node))?.rate === 0,
    waitForSync: (signal) => nodes.waitForSync(signal),
    connect(to) {
      wake = to;
      const observe = (node: Node): void => {
        const ready = isConditionTrue(node.status?.conditions, 'Ready');
        set(node.metadata?.name ?? '', { zone: zoneOf(node), ready });
      };
      const disconnect = nodes.addHandler({
        name: 'zones',
        onAdd: observe,
        onUpdate: observe,
        onDelete: ({ metadata }) => set(metadata?.name ?? '', undefined),
      });
      return () => {
        disconnect();
        wake = () => {};
        for (const { cancelPause, cancelTurn } of zones.values()) {
          cancelPause?.();
          cancelTurn?.();
        }
        zones.clear();
        members.clear();
      };
    },
  };
}

/** As in Kubernetes, a zone is one of its region. Nodes without labels are one zone together. */
export function zoneOf({ metadata }: Node): string {
  const { [labels.region]: region = '', [labels.zone]: zone = '' } = metadata?.labels ?? {};
  return region || zone ? `${region}/${zone}` : '';
}
