import { AddressedServices, isReverse, reverseTop } from './addressed-services.ts';
import type { NamesChange, NamesSnapshot, ServiceView, SliceView } from './changes.ts';
import { type NameNode, type RecordSet, setOf } from './name-node.ts';
import { below, computeServiceRecords, type OwnedRecord, type ServiceRecords } from './service-records.ts';
import { computeZoneRecords } from './zone-records.ts';

/** Most nodes above others have none of their own. */
const noSets: readonly RecordSet[] = [];

/**
 * A Service without cluster addresses, and its slices, as JSON: a fifth of what the objects take. They are read only
 * when one of them changes. Slices wait here for a service that is not there, or has cluster addresses.
 */
interface Entry {
  service: string | undefined;
  slices: readonly { readonly key: string; readonly json: string }[];
  isHeadless: boolean;
  /** Of a headless service; those of others follow from `service`. */
  written: ServiceRecords | undefined;
}

/**
 * All names of the cluster, kept by changes: a change of one Service or slice takes away the records of that Service
 * and writes them anew, and touches no others. The records of Services with cluster addresses are computed when they
 * are asked for. Pure but for itself. `zone` is the key of the cluster's domain.
 */
export class NameIndex {
  readonly zone: string;
  readonly #nodes = new Map<string, NameNode>();
  readonly #entries = new Map<string, Entry>();
  /** Which service a slice was last said to belong to. */
  readonly #serviceOfSlice = new Map<string, string>();
  readonly #addressed: AddressedServices;

  /** `address` is that of this resolver, which the zone's own records name. */
  constructor(zone: string, address: string) {
    this.zone = zone;
    this.#addressed = new AddressedServices(zone);
    this.#add({ owner: zone, records: computeZoneRecords(zone, address) });
    for (const part of ['svc', 'pod']) this.#nodeOf(below(part, zone)!).children++;
  }

  get size(): number {
    return this.#nodes.size + this.#addressed.size;
  }

  /** The node of a key; undefined where the zone has no such name. */
  find(key: string): NameNode | undefined {
    const node = this.#nodes.get(key);
    if (node === undefined) return this.#addressed.find(key);
    return isReverse(key) ? joined(node, this.#addressed.find(key)) : node;
  }

  /** Applies one step of the feed. Changes of pods are for others. */
  apply(change: NamesChange): void {
    if (change.kind === 'snapshot') this.#replace(change);
    else if (change.kind === 'set-service') this.#setService(change.service);
    else if (change.kind === 'delete-service') this.#deleteService(keyOf(change.service));
    else if (change.kind === 'set-slice') this.#setSlice(change.slice);
    else if (change.kind === 'delete-slice') this.#deleteSlice(keyOf(change.slice));
  }

  #replace({ services, slices }: NamesSnapshot): void {
    const [keptServices, keptSlices] = [new Set(services.map(keyOf)), new Set(slices.map(keyOf))];
    for (const key of [...this.#serviceOfSlice.keys()]) if (!keptSlices.has(key)) this.#deleteSlice(key);
    for (const [key, { service }] of [...this.#entries]) if (service && !keptServices.has(key)) this.#deleteService(key);
    for (const key of this.#addressed.keys()) if (!keptServices.has(key)) this.#deleteService(key);
    for (const slice of slices) this.#setSlice(slice);
    for (const service of services) this.#setService(service);
  }

  #setService(service: ServiceView): void {
    const key = keyOf(service);
    if (AddressedServices.takes(service)) {
      this.#deleteWritten(key);
      if (this.#addressed.set(key, service)) this.#count(key, 1);
      return;
    }
    this.#deleteAddressed(key);
    const entry = this.#entryOf(key);
    this.#rewrite(key, entry, () => {
      entry.service = JSON.stringify(service);
      entry.isHeadless = service.clusterIPs.includes('None');
    });
  }

  #deleteService(key: string): void {
    this.#deleteAddressed(key);
    this.#deleteWritten(key);
  }

  #deleteAddressed(key: string): void {
    if (this.#addressed.delete(key)) this.#count(key, -1);
  }

  /** The name of a namespace is there as long as there are services in it. */
  #count(key: string, by: 1 | -1): void {
    const namespace = below(`${key.split('/')[0]}.svc`, this.zone);
    if (namespace === undefined) return;
    this.#nodeOf(namespace).children += by;
    this.#prune(namespace);
  }

  #deleteWritten(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#rewrite(key, entry, () => {
      entry.service = undefined;
    });
  }

  #setSlice(slice: SliceView): void {
    const key = keyOf(slice);
    const owner = `${slice.namespace}/${slice.serviceName}`;
    const before = this.#serviceOfSlice.get(key);
    if (before !== undefined && before !== owner) this.#deleteSlice(key);
    this.#serviceOfSlice.set(key, owner);
    const entry = this.#entryOf(owner);
    entry.slices = entry.slices.filter((each) => each.key !== key).concat({ key, json: JSON.stringify(slice) });
    this.#rewriteHeadless(owner, entry);
  }

  #deleteSlice(key: string): void {
    const owner = this.#serviceOfSlice.get(key);
    const entry = owner === undefined ? undefined : this.#entries.get(owner);
    if (owner === undefined || entry === undefined) return;
    this.#serviceOfSlice.delete(key);
    entry.slices = entry.slices.filter((each) => each.key !== key);
    this.#rewriteHeadless(owner, entry);
  }

  #entryOf(key: string): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = { service: undefined, slices: [], isHeadless: false, written: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  /** Names of ExternalName services do not depend on endpoints. */
  #rewriteHeadless(key: string, entry: Entry): void {
    if (entry.service === undefined || entry.isHeadless) this.#rewrite(key, entry);
  }

  #rewrite(key: string, entry: Entry, change?: () => void): void {
    const before = entry.written ?? this.#recordsOf(entry);
    if (before !== undefined) this.#remove(before);
    change?.();
    const after = this.#recordsOf(entry);
    entry.written = entry.isHeadless ? after : undefined;
    if (after !== undefined) this.#add(after);
    if (entry.service === undefined && entry.slices.length === 0) this.#entries.delete(key);
  }

  #recordsOf({ service: json, slices: all, isHeadless }: Entry): ServiceRecords | undefined {
    const service = json === undefined ? undefined : (JSON.parse(json) as ServiceView);
    const slices = isHeadless ? all.map(({ json }) => JSON.parse(json) as SliceView) : [];
    return service && computeServiceRecords(service, slices, this.zone);
  }

  #add({ owner, records }: ServiceRecords): void {
    this.#nodeOf(owner).services++;
    for (const { owner: name, type, record } of records) {
      const node = this.#nodeOf(name);
      const set = setOf(node, type);
      // Not spread: V8 would leave room for more in each.
      if (set === undefined) node.sets = node.sets.concat({ type, records: [record] });
      else set.records.push(record);
    }
  }

  #remove({ owner, records }: ServiceRecords): void {
    for (const each of records) this.#removeRecord(each);
    this.#nodes.get(owner)!.services--;
    this.#prune(owner);
  }

  #removeRecord({ owner, type, record }: OwnedRecord): void {
    const node = this.#nodes.get(owner)!;
    const set = setOf(node, type)!;
    set.records.splice(set.records.indexOf(record), 1);
    if (set.records.length === 0) node.sets = node.sets.length === 1 ? noSets : node.sets.filter((each) => each !== set);
    this.#prune(owner);
  }

  /** The node of a key, made with all above it where it is missing. */
  #nodeOf(key: string): NameNode {
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const node: NameNode = { sets: noSets, services: 0, children: 0 };
    this.#nodes.set(key, node);
    if (hasParent(key, this.zone)) this.#nodeOf(parentOf(key)).children++;
    return node;
  }

  /** Takes away a node that holds nothing any more, and those above that it was the last one below. */
  #prune(key: string): void {
    const node = this.#nodes.get(key);
    if (node === undefined || node.sets.length > 0 || node.services > 0 || node.children > 0) return;
    this.#nodes.delete(key);
    if (!hasParent(key, this.zone)) return;
    const parent = parentOf(key);
    this.#nodes.get(parent)!.children--;
    this.#prune(parent);
  }
}

/** A node with the records of another one of the same name. */
function joined(node: NameNode, other: NameNode | undefined): NameNode {
  if (other === undefined) return node;
  const [types, both] = [new Set([...node.sets, ...other.sets].map(({ type }) => type)), [node, other]];
  const sets = Array.from(types, (type) => ({ type, records: both.flatMap((each) => setOf(each, type)?.records ?? []) }));
  return { ...node, sets };
}

/** The tree ends at the zone, and at the top of the reverse names. */
function hasParent(key: string, zone: string): boolean {
  return key !== zone && key.length > 1 && key !== reverseTop;
}

function parentOf(key: string): string {
  return key.slice(key.charCodeAt(0) + 1);
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
