import { ApiError, type FieldViolation, invalid } from '../../api/errors/index.ts';
import { invalidValue } from '../../api/errors/violations.ts';
import type { Service, ServiceSpec } from '../../api/generated/types.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import { isKind, kindNamed } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { addressLabels, addressManager } from '../../api/meta/address-objects.ts';
import { addressNumber, addressText, isInRange } from '../../api/meta/address-range.ts';
import { controlPlaneOffset, kubernetesOffset } from '../../api/meta/cluster-ranges.ts';
import { controlPlaneService, kubernetesService } from '../../api/meta/control-plane.ts';
import { equalValues } from '../../api/meta/equal.ts';
import type { Planned } from '../registry/ledgers/ledger.ts';
import { type Entry, labelsOf, placeOf } from '../watch/entry.ts';
import type { KindCache } from '../watch/kind-cache.ts';
import type { Allocator, Allotment } from './allocator.ts';
import { completeFamilies } from './families.ts';
import { NumberPool } from './number-pool.ts';
import { type ParsedServiceRanges, portsText } from './ranges.ts';
import {
  lacksAddress,
  lacksHealthPort,
  numbersOf,
  portsWithoutNodePort,
  type ServiceNumbers,
  sharedNodePort,
} from './service-numbers.ts';

/** By offset in the range, the Services that alone may name these addresses. */
const ownAddresses = [
  [controlPlaneOffset, controlPlaneService],
  [kubernetesOffset, kubernetesService],
] as const;

/** What a write that is under way holds. */
interface Hold {
  readonly numbers: ServiceNumbers;
  /** Of the stored version; absent until the store has answered. */
  revision?: number;
}

/**
 * The cluster addresses and node ports of services, never given twice. Who has what is kept from the watch cache; a
 * write holds its numbers from the turn in which they are chosen, so that writes at once get different ones, and gives
 * them back when it fails. A deleted service has its numbers until the cache shows that it is gone. An address that a
 * client keeps by an IPAddress of its own is given to no service.
 */
export class ServiceAllocator implements Allocator {
  readonly #ranges: ParsedServiceRanges;
  readonly #random: () => number;
  readonly #addresses: NumberPool;
  readonly #ports: NumberPool;
  readonly #shown = new Map<string, ServiceNumbers>();
  readonly #holds = new Map<string, Set<Hold>>();
  #cache: KindCache | undefined;

  constructor(ranges: ParsedServiceRanges, random: () => number) {
    this.#ranges = ranges;
    this.#random = random;
    this.#addresses = new NumberPool(ranges.addresses);
    this.#ports = new NumberPool(ranges.ports);
  }

  /**
   * Begins to follow the cache of services, or of IPAddresses; that of another kind is passed over. The returned
   * function ends it.
   */
  observe(cache: KindCache): () => void {
    if (isKind(cache.kind, 'IPAddress')) return this.#observeAddresses(cache);
    if (!isKind(cache.kind, 'Service')) return () => {};
    this.#cache = cache;
    return cache.observe({
      reset: (entries) => {
        this.#forgetAll(cache);
        for (const entry of entries) cache.attempt(entry.key, () => this.#show(entry.key, numbersIn(cache, entry)));
        for (const key of [...this.#holds.keys()]) this.#release(key, cache.lastChange());
      },
      event: ({ type, entry, revision }) => {
        this.#show(entry.key, type === 'DELETED' ? undefined : numbersIn(cache, entry));
        this.#release(entry.key, revision);
      },
    });
  }

  #observeAddresses(cache: KindCache): () => void {
    const show = (entry: Entry): void => this.#show(entry.key, this.#keptBy(entry));
    return cache.observe({
      reset: (entries) => {
        this.#forgetAll(cache);
        for (const entry of entries) cache.attempt(entry.key, () => show(entry));
      },
      event: ({ type, entry }) => (type === 'DELETED' ? this.#show(entry.key, undefined) : show(entry)),
    });
  }

  /** The address of the range that an IPAddress keeps; undefined for those of the services themselves. */
  #keptBy(entry: Entry): ServiceNumbers | undefined {
    const number = addressNumber(placeOf(entry.key).name);
    if (number === undefined || !this.#addresses.contains(number)) return undefined;
    return labelsOf(entry)[addressLabels.managedBy] === addressManager ? undefined : { addresses: [number], ports: [] };
  }

  #forgetAll({ kind }: KindCache): void {
    const prefix = keyPrefixOf(kind);
    for (const key of [...this.#shown.keys()]) if (key.startsWith(prefix)) this.#show(key, undefined);
  }

  /** How many addresses and node ports have a holder. */
  get taken(): { readonly addresses: number; readonly ports: number } {
    return { addresses: this.#addresses.taken, ports: this.#ports.taken };
  }

  /** What several services have, and what is outside of the ranges, as sentences: a store may come from anywhere. */
  *findings(): Generator<string> {
    const pools = [
      [this.#addresses, 'cluster address', addressText, this.#ranges.addresses.range.text],
      [this.#ports, 'node port', String, portsText(this.#ranges.ports)],
    ] as const;
    for (const [pool, what, textOf, range] of pools) {
      for (const [number, holders] of pool.claims()) {
        const services = holders.filter((key) => !key.startsWith(addressPrefix)).map(named);
        const all = services.join(' and ');
        if (services.length > 1) yield `the ${what} ${textOf(number)} is that of the services ${all}`;
        if (services.length > 0 && !pool.contains(number)) yield `the ${what} ${textOf(number)} of ${all} is outside of ${range}`;
      }
    }
  }

  allots(kind: Kind): boolean {
    return isKind(kind, 'Service');
  }

  /** A change that does not touch the spec is never refused: labels, the status and a deletion need no address. */
  allot(allotment: Allotment): Planned | undefined {
    const { key, next, previous, dryRun } = allotment;
    try {
      this.complete(allotment);
    } catch (error) {
      if (!previous || !equalValues((next as Service).spec, (previous as Service).spec)) throw error;
    }
    return dryRun ? undefined : this.#hold(key, numbersOf((next as Service).spec));
  }

  /** Judges a version and chooses what it lacks, in place or not at all; holds nothing. Throws as `allot`. */
  complete({ key, subject, next, previous }: Omit<Allotment, 'dryRun'>): void {
    const service = next as Service;
    if (!service.spec) return;
    const spec = structuredClone(service.spec);
    const before = (previous as Service | undefined)?.spec;
    const had = numbersOf(before);
    const violations = [...this.#judge(spec, key, had), ...this.#judgeExternal(spec, before), ...completeFamilies(spec)];
    if (violations.length > 0) throw invalid(subject, violations);
    this.#fill(spec);
    service.spec = spec;
  }

  /** The numbers that a version names, but for those that the object has already. */
  #judge(spec: ServiceSpec, key: string, had: ServiceNumbers): FieldViolation[] {
    const found: FieldViolation[] = [];
    const { addresses } = this.#ranges;
    const add = (field: string, value: unknown, why: string | undefined): void => {
      if (why !== undefined) found.push(invalidValue(field, value, why));
    };
    const { namespace, name } = placeOf(key);
    const isOwnAddress = (number: number): boolean =>
      ownAddresses.some(
        ([offset, own]) => number === addresses.first + offset && own.namespace === namespace && own.name === name,
      );
    spec.clusterIPs?.forEach((text, i) => {
      const number = addressNumber(text);
      if (text === 'None' || (number !== undefined && had.addresses.includes(number))) return;
      const outside = `is outside of the addresses of services, ${addresses.range.text}`;
      const isInside = number !== undefined && this.#addresses.contains(number);
      const kept = number === undefined || isOwnAddress(number) ? undefined : addresses.keptFor(number);
      const why = isInside ? (kept ?? this.#takenBy(this.#addresses, number, key)) : outside;
      add(`spec.clusterIPs[${i}]`, text, why);
    });
    spec.ports?.forEach(({ nodePort = 0 }, i) => {
      if (nodePort > 0 && !had.ports.includes(nodePort))
        add(`spec.ports[${i}].nodePort`, nodePort, this.#whyNotPort(nodePort, key));
    });
    const { healthCheckNodePort = 0, ports = [] } = spec;
    if (healthCheckNodePort > 0 && !had.ports.includes(healthCheckNodePort)) {
      const isOwn = ports.some(({ nodePort }) => nodePort === healthCheckNodePort);
      const why = isOwn ? 'is a node port of the service itself' : this.#whyNotPort(healthCheckNodePort, key);
      add('spec.healthCheckNodePort', healthCheckNodePort, why);
    }
    return found;
  }

  /** Nodes would lead what goes to another service, or to a pod, to this one. What is stored already may stay. */
  #judgeExternal({ externalIPs = [] }: ServiceSpec, before: ServiceSpec = {}): FieldViolation[] {
    const { addresses, pods } = this.#ranges;
    const own = [
      [addresses.range, 'the addresses of services'],
      [pods, 'the addresses of pods'],
    ] as const;
    return externalIPs.flatMap((text, i) => {
      const number = addressNumber(text);
      if (number === undefined || before.externalIPs?.includes(text)) return [];
      const [range, what] = own.find(([each]) => isInRange(each, number)) ?? [];
      if (range === undefined) return [];
      const why = `is in the range of ${what} (${range.text}): give an address from outside of the cluster that leads to its nodes`;
      return [invalidValue(`spec.externalIPs[${i}]`, text, why)];
    });
  }

  #whyNotPort(port: number, key: string): string | undefined {
    if (this.#ports.contains(port)) return this.#takenBy(this.#ports, port, key);
    // Kubernetes' words, by which scripts know it.
    return `provided port is not in the valid range. The range of valid ports is ${portsText(this.#ranges.ports)}`;
  }

  #takenBy(pool: NumberPool, number: number, key: string): string | undefined {
    const holder = pool.otherHolder(number, key);
    if (holder === undefined) return undefined;
    // Kubernetes' words, by which scripts know it.
    const what = pool === this.#ports ? 'port' : 'IP';
    return `provided ${what} is already allocated: it is taken by ${holderText(holder)}`;
  }

  /** Chooses what is missing. */
  #fill(spec: ServiceSpec): void {
    const own = new Set(numbersOf(spec).ports);
    if (lacksAddress(spec)) {
      const number = this.#addresses.choose(this.#random, new Set());
      if (number === undefined) throw noAddress(this.#ranges);
      spec.clusterIP = addressText(number);
    }
    if (spec.type !== 'ExternalName' && spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP];
    for (const port of portsWithoutNodePort(spec)) {
      port.nodePort = sharedNodePort(spec, port) ?? this.#choosePort(own);
      own.add(port.nodePort);
    }
    if (lacksHealthPort(spec)) spec.healthCheckNodePort = this.#choosePort(own);
  }

  #choosePort(own: ReadonlySet<number>): number {
    const port = this.#ports.choose(this.#random, own);
    if (port === undefined) throw noPort(this.#ranges);
    return port;
  }

  #hold(key: string, numbers: ServiceNumbers): Planned {
    const hold: Hold = { numbers };
    const all = this.#holds.get(key);
    if (all) all.add(hold);
    else this.#holds.set(key, new Set([hold]));
    this.#count(key, numbers, 'add');
    return {
      // Of a write that is stored the cache decides, so that a caller may end with this in any case.
      cancel: () => {
        if (hold.revision === undefined) this.#drop(key, hold);
      },
      settle: (revision) => {
        hold.revision = revision;
        if (revision <= (this.#cache?.revision ?? Number.POSITIVE_INFINITY)) this.#drop(key, hold);
      },
    };
  }

  /** The cache shows a version: the writes that are stored and not newer have been shown. */
  #release(key: string, revision: number): void {
    for (const hold of this.#holds.get(key) ?? [])
      if (hold.revision !== undefined && hold.revision <= revision) this.#drop(key, hold);
  }

  #drop(key: string, hold: Hold): void {
    const all = this.#holds.get(key);
    if (!all?.delete(hold)) return;
    if (all.size === 0) this.#holds.delete(key);
    this.#count(key, hold.numbers, 'remove');
  }

  #show(key: string, numbers: ServiceNumbers | undefined): void {
    const before = this.#shown.get(key);
    if (numbers) {
      this.#shown.set(key, numbers);
      this.#count(key, numbers, 'add');
    } else this.#shown.delete(key);
    if (before) this.#count(key, before, 'remove');
  }

  #count(key: string, { addresses, ports }: ServiceNumbers, change: 'add' | 'remove'): void {
    for (const address of addresses) this.#addresses[change](address, key);
    for (const port of ports) this.#ports[change](port, key);
  }
}

function numbersIn({ decoder }: KindCache, entry: Entry): ServiceNumbers {
  return numbersOf((decoder.decode(entry) as Service).spec);
}

const addressPrefix = keyPrefixOf(kindNamed('IPAddress'));

function holderText(key: string): string {
  return key.startsWith(addressPrefix) ? `the IPAddress "${placeOf(key).name}"` : `the service ${named(key)}`;
}

function named(key: string): string {
  const { namespace, name } = placeOf(key);
  return `"${namespace}/${name}"`;
}

function noAddress({ addresses }: ParsedServiceRanges): ApiError {
  const remedy = 'delete services, or start the server with a larger --service-cidr';
  return exhaustedRange(`no cluster address is free: all of ${addresses.range.text} are taken; ${remedy}`);
}

function noPort({ ports }: ParsedServiceRanges): ApiError {
  const remedy = 'delete services of type NodePort, or start the server with a larger --service-node-port-range';
  return exhaustedRange(`no node port is free: all of ${portsText(ports)} are taken; ${remedy}`);
}

/** Waiting does not help, so no client is asked to try again. */
function exhaustedRange(why: string): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'RangeFull', why);
}
