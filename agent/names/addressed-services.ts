import { addressBytes, reversedAddress } from './address-names.ts';
import type { ServiceView } from './changes.ts';
import type { NameNode, RecordSet } from './name-node.ts';
import { addressRecord, below, type OwnedRecord, pointerRecord, srvRecord } from './service-records.ts';
import { flat, labelsOf } from './wire.ts';

/** Of a Service: the bytes of each address behind their number, a zero, and as JSON the ports that have a name. */
type Packed = string;
type NamedPort = readonly [name: string, protocol: string, port: number];

/** The key at which the reverse names end. */
export const reverseTop = '\x04arpa\0';

/**
 * Services with cluster addresses: most of all, and with names that depend on nothing else. Their records are computed
 * for each query, in 1 to 2 microseconds: kept, they would take four times the memory. Keys are NAMESPACE/NAME; one
 * that the wire cannot hold has no names.
 */
export class AddressedServices {
  readonly #zone: string;
  readonly #top: string;
  readonly #services = new Map<string, Packed>();
  /** The keys of services by the bytes of their addresses. */
  readonly #owners = new Map<string, string | readonly string[]>();

  constructor(zone: string) {
    this.#zone = zone;
    this.#top = below('svc', zone)!;
  }

  static takes({ type, clusterIPs }: ServiceView): boolean {
    return type !== 'ExternalName' && !clusterIPs.includes('None');
  }

  get size(): number {
    return this.#services.size + this.#owners.size;
  }

  keys(): string[] {
    return [...this.#services.keys()];
  }

  /** False when it replaced one of that key. */
  set(key: string, { clusterIPs, ports }: ServiceView): boolean {
    const isNew = !this.delete(key);
    const addresses = clusterIPs.flatMap((address) => addressBytes(address) ?? []);
    const named = ports.flatMap(({ name = '', protocol, port }): NamedPort[] =>
      isPortName(name) ? [[name.toLowerCase(), protocol, port]] : [],
    );
    this.#services.set(key, pack(addresses, named));
    for (const bytes of addresses) {
      const others = this.#ownersOf(bytes).filter((other) => other !== key);
      this.#owners.set(bytes, others.length === 0 ? key : [...others, key]);
    }
    return isNew;
  }

  /** False when there was none. */
  delete(key: string): boolean {
    const packed = this.#services.get(key);
    if (packed === undefined) return false;
    this.#services.delete(key);
    for (const bytes of addressesOf(packed)) {
      const [first, ...rest] = this.#ownersOf(bytes).filter((other) => other !== key);
      if (first === undefined) this.#owners.delete(bytes);
      else this.#owners.set(bytes, rest.length === 0 ? first : [first, ...rest]);
    }
    return true;
  }

  /** The node of a name, made for this call. Undefined where no service has such a name. */
  find(name: string): NameNode | undefined {
    if (name.endsWith(this.#top)) return this.#forward(name);
    return isReverse(name) ? this.#reverse(name) : undefined;
  }

  #forward(name: string): NameNode | undefined {
    const end = name.length - this.#top.length;
    const starts: number[] = [];
    let at = 0;
    for (; at < end; at += name.charCodeAt(at) + 1) starts.push(at);
    const above = starts.length - 2;
    if (at !== end || above < 0 || above > 2) return undefined;
    const label = (n: number): string => name.slice(starts[n]! + 1, starts[n]! + 1 + name.charCodeAt(starts[n]!));
    const packed = this.#services.get(`${label(above + 1)}/${label(above)}`);
    if (packed === undefined) return undefined;
    if (above === 0) return serviceNode(name, packed);
    const words = Array.from({ length: above }, (_, n) => label(n));
    if (!words.every((word) => word.startsWith('_'))) return undefined;
    const [protocol = '', port] = words.reverse().map((word) => word.slice(1));
    if (port === undefined) return hasPorts(packed, protocol) ? { sets: [], services: 0, children: 1 } : undefined;
    const number = portOf(packed, port, protocol);
    if (number === undefined) return undefined;
    const owner = name.slice(starts[above]);
    const records = srvRecord(owner, { name: port, protocol, port: number }, owner);
    return records.length === 0 ? undefined : { sets: setsOf(records), services: 0, children: 0 };
  }

  #reverse(name: string): NameNode | undefined {
    const bytes = addressBytes(reversedAddress(labelsOf(name)) ?? '');
    const owners = bytes === undefined ? [] : this.#ownersOf(bytes);
    const records = owners.flatMap((key) => {
      const [namespace, service] = key.split('/');
      const target = below(`${service}.${namespace}.svc`, this.#zone);
      return target === undefined ? [] : [pointerRecord(bytes!, target)];
    });
    return records.length === 0 ? undefined : { sets: setsOf(records), services: 0, children: 0 };
  }

  #ownersOf(bytes: string): readonly string[] {
    const owners = this.#owners.get(bytes) ?? [];
    return typeof owners === 'string' ? [owners] : owners;
  }
}

export const isReverse = (name: string): boolean => name.endsWith(reverseTop);

/** Others fit into no name, nor into one byte for each character. */
const isPortName = (name: string): boolean => /^[!-~]+$/.test(name);

function serviceNode(name: string, packed: Packed): NameNode {
  const records = addressesOf(packed).map((bytes) => addressRecord(name, bytes));
  return { sets: setsOf(records), services: 1, children: packed.endsWith(']') ? 1 : 0 };
}

/** Without an address, the ports have no names either. */
function pack(addresses: readonly string[], ports: readonly NamedPort[]): Packed {
  const bytes = addresses.map((address) => String.fromCharCode(address.length) + address).join('');
  return flat(`${bytes}\0${addresses.length === 0 || ports.length === 0 ? '' : JSON.stringify(ports)}`);
}

function addressesOf(packed: Packed): string[] {
  const addresses: string[] = [];
  for (let at = 0, size = packed.charCodeAt(0); size > 0; at += size + 1, size = packed.charCodeAt(at))
    addresses.push(packed.slice(at + 1, at + 1 + size));
  return addresses;
}

/** The ports as JSON; empty where none has a name. */
function portsText(packed: Packed): string {
  let end = 0;
  while (packed.charCodeAt(end) > 0) end += packed.charCodeAt(end) + 1;
  return packed.slice(end + 1);
}

const hasPorts = (packed: Packed, protocol: string): boolean => portsText(packed).includes(`","${protocol.toUpperCase()}",`);

/** The number of a port. The JSON is searched, not read: a Service may have thousands of ports. */
function portOf(packed: Packed, name: string, protocol: string): number | undefined {
  const text = portsText(packed);
  const start = `${JSON.stringify([name, protocol.toUpperCase()]).slice(0, -1)},`;
  const at = text.indexOf(start);
  return at < 0 ? undefined : Number.parseInt(text.slice(at + start.length), 10);
}

function setsOf(records: readonly OwnedRecord[]): RecordSet[] {
  const [first, second] = records;
  if (first !== undefined && second === undefined) return [{ type: first.type, records: [first.record] }];
  const types = [...new Set(records.map(({ type }) => type))];
  return types.map((type) => ({ type, records: records.flatMap((each) => (each.type === type ? [each.record] : [])) }));
}
