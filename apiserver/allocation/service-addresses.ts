import type { Logger } from 'pino';
import type { IPAddress, ParentReference, Service } from '../../api/generated/types.ts';
import { addressLabels, addressManager } from '../../api/meta/address-objects.ts';
import { addressText } from '../../api/meta/address-range.ts';
import { equalValues } from '../../api/meta/equal.ts';
import type { ServerOptions } from '../options.ts';
import type { AnyObject } from '../registry/any-object.ts';
import { cloneObject } from '../registry/clone-object.ts';
import { createObject } from '../registry/create.ts';
import { Keeper } from '../registry/keepers/keeper.ts';
import { KeyIndex } from '../registry/key-index.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { nextVersion } from '../registry/next-version.ts';
import type { Registry } from '../registry/registry.ts';
import { serverContext } from '../registry/server-context.ts';
import { type Entry, placeOf } from '../watch/entry.ts';
import { keepServiceCidr } from './own-service-cidr.ts';
import { parseServiceRanges } from './ranges.ts';
import { repairServices } from './repair-services.ts';
import type { ServiceAllocator } from './service-allocator.ts';
import { numbersOf } from './service-numbers.ts';

/** How many IPAddresses are written at once: a burst of Services shares commits of the store. */
const workers = 16;

const labels: Readonly<Record<string, string>> = {
  [addressLabels.family]: 'IPv4',
  [addressLabels.managedBy]: addressManager,
};

/**
 * Gives services of an earlier store what they lack, makes what clients see of the server's range and of the addresses
 * given from it, and keeps that until the signal aborts.
 */
export async function keepServiceAddresses(
  { registry, allocator }: { readonly registry: Registry; readonly allocator: ServiceAllocator },
  { serviceRanges, log }: Pick<ServerOptions, 'serviceRanges' | 'log'>,
  signal: AbortSignal,
): Promise<Promise<void>[]> {
  await repairServices(registry, allocator, log);
  const { text: range } = parseServiceRanges(serviceRanges).addresses.range;
  const cidr = await keepServiceCidr({ registry, range, log }, signal);
  return [cidr.ended, runServiceAddresses(registry, log, signal)];
}

/**
 * Keeps an IPAddress for each cluster address of a Service, behind the Service: what is given is decided by the
 * allocator alone, and a create of a Service does not wait for the IPAddress. Until the signal aborts.
 */
async function runServiceAddresses(registry: Registry, log: Logger, signal: AbortSignal): Promise<void> {
  const [services, addresses] = [registry.stores.get('Service'), registry.stores.get('IPAddress')];
  if (!services || !addresses) return;
  const holders = new KeyIndex(services.cache, (entry) => addressesOf(services, entry));
  const leave = holders.observe();
  const keeper = new Keeper({
    ...{ what: 'the IPAddresses of Services', workers, log },
    sources: [
      { cache: services.cache, keysOf: (entry) => addressesOf(services, entry) },
      { cache: addresses.cache, keysOf: ({ key }) => [placeOf(key).name] },
    ],
    all: () => [...holders.names(), ...addresses.cache.range(addresses.keyPrefix).map(({ key }) => placeOf(key).name)],
    // One holder, but for a store of an earlier build.
    sync: (address) => syncAddress({ registry, addresses, log }, address, holders.of(address).toSorted()[0]),
  });
  await keeper.run(signal).finally(leave);
}

interface AddressStore {
  readonly registry: Registry;
  readonly addresses: KindStore;
  readonly log: Logger;
}

async function syncAddress({ registry, addresses, log }: AddressStore, address: string, holder?: string): Promise<boolean> {
  const at = { namespace: '', name: address };
  const entry = await addresses.read(at);
  const stored = entry && (addresses.cache.decoder.decode(entry) as IPAddress);
  const parentRef = holder === undefined ? undefined : parentOf(holder);
  const step = decideAddress(stored, parentRef);
  if (step === 'nothing') return false;
  if (step === 'create') {
    const take = () => ({ metadata: { name: address, labels: { ...labels } }, spec: { parentRef } }) as AnyObject;
    await createObject(addresses, registry.admission, { ...serverContext, take });
    return true;
  }
  const { metadata: { resourceVersion } = {} } = stored ?? {};
  if (step === 'remove') {
    if (parentRef) log.warn({ address, ...placeOf(holder!) }, 'the IPAddress of a Service names another object: making it anew');
    await addresses.change(at, { context: serverContext, verb: 'delete', resourceVersion, compute: () => 'remove' });
    return true;
  }
  const compute = (previous: AnyObject): AnyObject => {
    const next = cloneObject(previous);
    next.metadata = { ...next.metadata, labels: { ...next.metadata?.labels, ...labels } };
    return nextVersion(addresses, 'object', next, previous);
  };
  await addresses.change(at, { context: serverContext, verb: 'update', compute });
  return true;
}

/**
 * What is to be done with the IPAddress that is stored; `parentRef` names the Service that has the address. What
 * clients have made stays where no Service has the address. A reference cannot change, so one with another is made
 * anew. Pure.
 */
export function decideAddress(
  stored: IPAddress | undefined,
  parentRef: ParentReference | undefined,
): 'nothing' | 'create' | 'remove' | 'label' {
  if (stored === undefined) return parentRef ? 'create' : 'nothing';
  const found = stored.metadata?.labels ?? {};
  if (parentRef === undefined) return found[addressLabels.managedBy] === addressManager ? 'remove' : 'nothing';
  if (!equalValues(referred(stored.spec?.parentRef), referred(parentRef))) return 'remove';
  return Object.entries(labels).every(([key, value]) => found[key] === value) ? 'nothing' : 'label';
}

const referred = ({ group = '', resource = '', namespace = '', name = '' }: ParentReference = {}): string[] => [
  ...[group, resource, namespace, name],
];

function parentOf(serviceKey: string): ParentReference {
  const { namespace, name } = placeOf(serviceKey);
  return { resource: 'services', namespace, name };
}

function addressesOf({ cache }: KindStore, entry: Entry): string[] {
  return numbersOf((cache.decoder.decode(entry) as Service).spec).addresses.map(addressText);
}
