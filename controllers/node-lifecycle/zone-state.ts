/** How fast nodes that are lost may be given up; Kubernetes' names and figures. */
export interface EvictionRates {
  /** Nodes in a second and zone that may be given up while the zone is well. 0: none ever. */
  readonly nodeEvictionRate: number;
  /** The eviction rate while much of a large zone is lost; a small zone then has none. */
  readonly secondaryNodeEvictionRate: number;
  /** From which part of lost nodes on, more than two of them, much of a zone is lost. */
  readonly unhealthyZoneThreshold: number;
  /** A zone of more nodes is large. */
  readonly largeClusterSizeThreshold: number;
}

export const defaultEvictionRates: EvictionRates = {
  nodeEvictionRate: 0.1,
  secondaryNodeEvictionRate: 0.01,
  unhealthyZoneThreshold: 0.55,
  largeClusterSizeThreshold: 50,
};

/** How many nodes of a zone are ready, and how many are not. */
export interface ZoneCounts {
  readonly ready: number;
  readonly lost: number;
}

/** `partial`: so much of the zone is lost at once that the network is a better explanation than the machines. */
export type ZoneState = 'normal' | 'partial' | 'full';

export function computeZoneState({ ready, lost }: ZoneCounts, { unhealthyZoneThreshold }: EvictionRates): ZoneState {
  if (ready === 0 && lost > 0) return 'full';
  return lost > 2 && lost / (ready + lost) >= unhealthyZoneThreshold ? 'partial' : 'normal';
}

/**
 * How many nodes of a zone may be given up in a second. None anywhere when no zone has a ready node: then it is this
 * end that is cut off. A zone that is lost whole beside others that are well is given up as usual.
 */
export function computeRate(counts: ZoneCounts, allFull: boolean, rates: EvictionRates): number {
  if (allFull) return 0;
  if (computeZoneState(counts, rates) !== 'partial') return rates.nodeEvictionRate;
  return counts.ready + counts.lost > rates.largeClusterSizeThreshold ? rates.secondaryNodeEvictionRate : 0;
}
