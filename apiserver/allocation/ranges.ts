import { type AddressRange, parseAddressRange } from '../../api/meta/address-range.ts';
import { controlPlaneOffset, defaultNetwork, kubernetesOffset, namesOffset } from '../../api/meta/cluster-ranges.ts';
import type { PoolRange } from './number-pool.ts';

/** From where services get their addresses and ports, as an operator says it. */
export interface ServiceRanges {
  /** Of the cluster's addresses; "10.43.0.0/16" when absent. */
  readonly serviceCidr?: string | undefined;
  /** Of the nodes' ports; "30000-32767" when absent. */
  readonly nodePorts?: string | undefined;
  /** Of pods' addresses, which no service may name as external ones; "10.42.0.0/16" when absent. */
  readonly clusterCidr?: string | undefined;
}

export const defaultNodePortRange = '30000-32767';

/**
 * Smaller ranges have no address besides those that are kept; larger ones have no use, and Kubernetes has this bound.
 */
const LENGTHS = { least: 12, most: 27 };
/**
 * Addresses of the cluster itself, from the network's own on. The first two are the control plane's, the tenth is for
 * names.
 */
const KEPT_ADDRESSES = 16;
/** Ports below are the machine's own. */
const LEAST_PORT = 1024;
const MOST_PORT = 65_535;

/** Kubernetes' rule: a part of the numbers, within bounds, is left to those who name one. */
function sparedOf(size: number, { part, least, most }: { part: number; least: number; most: number }): number {
  return size <= least ? 0 : Math.min(Math.max(least, Math.floor(size / part)), most, size);
}

export interface ServiceAddresses extends PoolRange {
  readonly range: AddressRange;
  /** What an address is kept for, as a clause. */
  keptFor(number: number): string | undefined;
}

/** Throws RangeError with the reason as a clause. */
export function parseServiceCidr(text: string): ServiceAddresses {
  const range = parseAddressRange(text);
  if (range.length < LENGTHS.least || range.length > LENGTHS.most)
    throw new RangeError(`must be between a /${LENGTHS.least} and a /${LENGTHS.most}`);
  const { first, size } = range;
  const keptFor = (number: number): string | undefined => {
    const offset = number - first;
    if (offset === controlPlaneOffset || offset === kubernetesOffset) return 'is kept for the control plane';
    if (offset === namesOffset) return 'is kept for names';
    if (offset === size - 1) return `is the last of ${text}, which is not given`;
    return offset < KEPT_ADDRESSES
      ? `is one of the first ${KEPT_ADDRESSES} of ${text}, which are kept for the cluster`
      : undefined;
  };
  const spared = sparedOf(size, { part: 16, least: KEPT_ADDRESSES, most: 256 });
  return { range, first, size, spared, keptFor, isKept: (number) => keptFor(number) !== undefined };
}

/** Reads "30000-32767". Throws RangeError with the reason as a clause. */
export function parseNodePortRange(text: string): PoolRange {
  const [, low = '', high = ''] = /^(\d{1,5})-(\d{1,5})$/.exec(text) ?? [];
  const [first, last] = [Number(low), Number(high)];
  if (low === '') throw new RangeError(`must be two ports such as "${defaultNodePortRange}"`);
  if (first < LEAST_PORT || last > MOST_PORT) throw new RangeError(`must lie between ${LEAST_PORT} and ${MOST_PORT}`);
  if (last < first) throw new RangeError('must begin with the lower port');
  const size = last - first + 1;
  return { first, size, spared: sparedOf(size, { part: 32, least: 16, most: 128 }), isKept: () => false };
}

export interface ParsedServiceRanges {
  readonly addresses: ServiceAddresses;
  readonly ports: PoolRange;
  readonly pods: AddressRange;
}

/** Throws RangeError with a sentence that names the flag. */
export function parseServiceRanges({ serviceCidr, nodePorts, clusterCidr }: ServiceRanges = {}): ParsedServiceRanges {
  return {
    addresses: named('--service-cidr', serviceCidr ?? defaultNetwork.serviceCidr, parseServiceCidr),
    ports: named('--service-node-port-range', nodePorts ?? defaultNodePortRange, parseNodePortRange),
    pods: named('--cluster-cidr', clusterCidr ?? defaultNetwork.clusterCidr, parseAddressRange),
  };
}

function named<T>(flag: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RangeError(`${flag} "${text}" ${error.message}`);
  }
}

/** "30000-32767" or "10.43.0.0/16": a pool in the words of its flag. */
export const portsText = ({ first, size }: PoolRange): string => `${first}-${first + size - 1}`;
