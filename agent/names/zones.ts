import { BlockList, isIPv6 } from 'node:net';
import { dashedBytes, reversedAddress } from './address-names.ts';
import type { NameNode } from './name-node.ts';
import type { NameIndex } from './records.ts';
import { below, ttlSeconds } from './service-records.ts';
import { encodeName, labelsOf, record, suffixStart, types } from './wire.ts';

/** What is said of a name: it has records; it only has names below it; it is ours and not there; it is not ours. */
export type NameState = 'records' | 'empty' | 'missing' | 'foreign';

export interface Found {
  readonly state: NameState;
  readonly node: NameNode | undefined;
  /** Where in the key the zone begins that says so; -1 for a foreign name. */
  readonly zoneStart: number;
}

/** The cluster's zones: its domain, and the reverse names of the addresses that are the cluster's. */
export class Zones {
  readonly index: NameIndex;
  readonly #pods: string;
  readonly #addresses = new BlockList();

  /** `cidrs`: ranges of pods and services; reverse names in them are never asked of others. Throws on a bad one. */
  constructor(index: NameIndex, cidrs: readonly string[]) {
    this.index = index;
    this.#pods = below('pod', index.zone)!;
    for (const cidr of cidrs) {
      const [address = '', bits] = cidr.split('/');
      this.#addresses.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
    }
  }

  /** All that is said of a name; the way of the names that the index does not answer at once. */
  find(key: string): Found {
    const zoneStart = suffixStart(key, this.index.zone);
    const known = this.index.find(key);
    if (known !== undefined && known.sets.length > 0)
      return { state: 'records', node: known, zoneStart: zoneStart < 0 ? this.#reverseStart(key) : zoneStart };
    if (zoneStart >= 0) {
      const node = known ?? this.#podNode(key);
      const state = node === undefined ? 'missing' : node.sets.length > 0 ? 'records' : node.children > 0 ? 'empty' : 'missing';
      return { state, node, zoneStart };
    }
    if (!this.#isOwnReverse(key)) return { state: 'foreign', node: undefined, zoneStart };
    return { state: 'missing', node: undefined, zoneStart: this.#reverseStart(key) };
  }

  /** The names of pods follow from addresses alone: ADDRESS.NAMESPACE.pod, whether there is such a pod or not. */
  #podNode(key: string): NameNode | undefined {
    const start = suffixStart(key, this.#pods);
    if (start <= 0) return undefined;
    const [label = '', ...rest] = labelsOf(`${key.slice(0, start)}\0`);
    if (rest.length === 0) return { sets: [], services: 0, children: 1 };
    const bytes = rest.length === 1 ? dashedBytes(label) : undefined;
    if (bytes === undefined) return undefined;
    const type = bytes.length === 4 ? types.a : types.aaaa;
    return { sets: [{ type, records: [record(type, ttlSeconds, bytes)] }], services: 0, children: 0 };
  }

  #isOwnReverse(key: string): boolean {
    if (!key.endsWith('\x04arpa\0')) return false;
    const address = reversedAddress(labelsOf(key));
    return address !== undefined && this.#addresses.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }

  #reverseStart(key: string): number {
    for (const top of reverseTops) if (key.endsWith(top)) return key.length - top.length;
    return -1;
  }
}

const reverseTops = ['in-addr.arpa', 'ip6.arpa'].map((name) => encodeName(name)!);
