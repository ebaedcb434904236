import type { networkInterfaces } from 'node:os';
import type { NodeNetwork } from '../../api/generated/types.ts';
import { addressNumber, isInRange, parseAddressRange, rangeAround } from '../../api/meta/address-range.ts';
import { rangeTextOf } from '../pod-network/neighbours.ts';

/** Bridges of the engine, in whose networks some pods are. A machine's own bridge may lead outside. */
const engineBridge = /^(docker0|br-[0-9a-f]{12})$/;

export interface SourceFacts {
  readonly nodeName: string;
  /** The range of this node's pods. */
  readonly range: string;
  readonly networks: readonly NodeNetwork[];
  /** What `os.networkInterfaces` answers. Called when the address is no pod's of this node. */
  readonly interfaces: typeof networkInterfaces;
}

/**
 * Whether an address is of this machine: its own, that of a pod in the node's range, in the range of another node on
 * the same machine, or in a network of the engine. Pure.
 */
export function isOfThisMachine(address: string, { nodeName, range, networks, interfaces }: SourceFacts): boolean {
  const number = addressNumber(address);
  if (number === undefined) return false;
  const isIn = (text: string): boolean => isInRange(parseAddressRange(text), number);
  if (isIn(range)) return true;
  for (const [name, list = []] of Object.entries(interfaces()))
    for (const { address: own, cidr, family } of list) {
      if (own === address) return true;
      const around = family === 'IPv4' && engineBridge.test(name) ? rangeOf(own, cidr) : undefined;
      if (around !== undefined && isInRange(around, number)) return true;
    }
  const own = networks.find(({ metadata }) => metadata?.name === nodeName)?.addresses ?? [];
  return networks.some((network) => {
    const text = network.addresses?.some((each) => own.includes(each)) ? rangeTextOf(network) : undefined;
    return text !== undefined && isNetwork(text) && isIn(text);
  });
}

function rangeOf(address: string, cidr: string | null): ReturnType<typeof rangeAround> | undefined {
  const length = Number(cidr?.split('/')[1]);
  const number = addressNumber(address);
  return number === undefined || !Number.isInteger(length) ? undefined : rangeAround(number, length);
}

function isNetwork(text: string): boolean {
  try {
    parseAddressRange(text);
    return true;
  } catch {
    return false;
  }
}
