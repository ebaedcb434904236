import type { Condition, LoadBalancerIngress, Service } from '../../api/generated/types.ts';
import { addressNumber, addressText } from '../../api/meta/address-range.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { objectKey } from '../../api/meta/key.ts';
import { isBalancedHere, loadBalancerCondition } from '../../api/meta/load-balancers.ts';
import { type AddressPool, freeAddress, isInPool } from './address-pool.ts';

export interface LoadBalancerFacts {
  /** Undefined: the operator gave none. */
  readonly pool: AddressPool | undefined;
  /** All there are. */
  readonly services: readonly Service[];
  /**
   * Of nodes, by address, with their names. They are nodes' own words, so they keep no service from an address of the
   * pool: others are given first, and a service that has one of them is told.
   */
  readonly nodes: ReadonlyMap<number, string>;
}

/** What a service's status should say and does not. */
export interface StatusChange {
  readonly service: Service;
  readonly ingress: readonly LoadBalancerIngress[];
  /** Undefined: the condition goes. */
  readonly condition: Pick<Condition, 'type' | 'status' | 'reason' | 'message'> | undefined;
}

export interface LoadBalancerPlan {
  readonly changes: readonly StatusChange[];
  /** Addresses of the pool that services have: each has a Lease. */
  readonly held: ReadonlySet<string>;
}

type Reason =
  | 'Allocated'
  | 'AlsoOfNode'
  | 'OutsidePool'
  | 'NoPool'
  | 'PoolExhausted'
  | 'AddressTaken'
  | 'AddressNotInPool'
  | 'InvalidAddress';

/** What becomes of one service; an address also beside an obstacle: the one that it had before. */
interface Outcome {
  readonly address?: number | undefined;
  readonly reason: Reason;
  readonly message: string;
}

const flag = '--load-balancer-addresses';
const noPool = `the cluster has no addresses for load balancers: start the server with ${flag}, e.g. 192.0.2.10-192.0.2.20`;

/**
 * Gives each service of type LoadBalancer (of Berth's class, or of none) an address of the pool. A service keeps the
 * address that its status says as long as it is of that type; of two that say one, the older keeps it. Then wishes
 * (`spec.loadBalancerIP`) are met, oldest first, then the others are served. The search begins behind the last address
 * that is held, so that one that was given back is given again late. A service whose wish cannot be met waits, or
 * keeps what it has. Pure; the same facts give the same plan, and after its writes an empty one.
 */
export function decideLoadBalancers(facts: LoadBalancerFacts): LoadBalancerPlan {
  const { pool, services } = facts;
  const balanced = services
    .filter((service) => isBalancedHere(service) && !service.metadata?.deletionTimestamp)
    .toSorted(byCreation);
  const holders = new Map<number, string>();
  // Addresses in services that end or have another class are theirs until they are gone.
  const isServed = new Set(balanced);
  for (const service of services) if (!isServed.has(service)) claimAll(holders, service);
  const kept = new Map<Service, number>();
  for (const service of balanced) {
    const address = addressOf(service);
    if (address === undefined || holders.has(address)) continue;
    holders.set(address, objectKey(service));
    kept.set(service, address);
  }
  const outcomes = new Map<Service, Outcome>();
  const isWished = (service: Service): boolean => Boolean(service.spec?.loadBalancerIP);
  for (const service of balanced.filter(isWished)) outcomes.set(service, meetWish(facts, holders, service, kept.get(service)));
  const next = searchIn(facts, holders);
  for (const service of balanced.filter((each) => !isWished(each)))
    outcomes.set(service, serve(facts, service, kept.get(service), next));
  const held = services.filter(isBalancedHere).flatMap((service) => {
    const outcome = outcomes.get(service);
    const address = outcome ? outcome.address : addressOf(service);
    return address !== undefined && pool && isInPool(pool, address) ? [addressText(address)] : [];
  });
  return { changes: services.flatMap((service) => changeOf(service, outcomes.get(service))), held: new Set(held) };
}

function byCreation(a: Service, b: Service): number {
  const at = ({ metadata }: Service) => Number(metadata?.creationTimestamp?.seconds ?? 0);
  return at(a) - at(b) || (objectKey(a) < objectKey(b) ? -1 : 1);
}

const addressesOf = ({ status }: Service): number[] =>
  (status?.loadBalancer?.ingress ?? []).flatMap(({ ip = '' }) => addressNumber(ip) ?? []);

/** A service has one; further ones are from another program, and go. */
const addressOf = (service: Service): number | undefined => addressesOf(service)[0];

function claimAll(holders: Map<number, string>, service: Service): void {
  if (service.spec?.type !== 'LoadBalancer') return;
  for (const address of addressesOf(service)) if (!holders.has(address)) holders.set(address, objectKey(service));
}

function meetWish(facts: LoadBalancerFacts, holders: Map<number, string>, service: Service, had: number | undefined): Outcome {
  const { pool } = facts;
  const text = service.spec?.loadBalancerIP ?? '';
  const wish = addressNumber(text);
  const key = objectKey(service);
  const refuse = (reason: Reason, why: string): Outcome => {
    const keeps = had === undefined ? '' : `; it keeps ${addressText(had)}`;
    return { address: had, reason, message: `${why}${keeps}` };
  };
  if (wish !== undefined && wish === had) return keep(facts, had);
  if (!pool) return refuse('NoPool', noPool);
  if (wish === undefined) return refuse('InvalidAddress', `spec.loadBalancerIP "${text}" is no IPv4 address`);
  if (!isInPool(pool, wish)) return refuse('AddressNotInPool', `spec.loadBalancerIP ${text} is not in the pool ${pool.text}`);
  const holder = holders.get(wish);
  if (holder !== undefined && holder !== key)
    return refuse('AddressTaken', `spec.loadBalancerIP ${text} is the address of the service "${holder}"`);
  if (had !== undefined) holders.delete(had);
  holders.set(wish, key);
  return keep(facts, wish);
}

/** Gives one free address after another, from behind the last that is held, and knows when there are no more. */
function searchIn({ pool, nodes }: LoadBalancerFacts, holders: Map<number, string>): (key: string) => number | undefined {
  const inPool = [...holders.keys()].filter((address) => pool && isInPool(pool, address));
  let last: number | undefined = inPool.reduce((most, address) => Math.max(most, address), 0);
  return (key) => {
    if (!pool || last === undefined) return undefined;
    const before = last;
    last =
      freeAddress(pool, before, (each) => holders.has(each) || nodes.has(each)) ??
      freeAddress(pool, before, (each) => holders.has(each));
    if (last !== undefined) holders.set(last, key);
    return last;
  };
}

function serve(facts: LoadBalancerFacts, service: Service, had: number | undefined, next: ReturnType<typeof searchIn>): Outcome {
  const { pool } = facts;
  if (had !== undefined) return keep(facts, had);
  if (!pool) return { reason: 'NoPool', message: noPool };
  const address = next(objectKey(service));
  if (address !== undefined) return keep(facts, address);
  const remedy = `delete services of type LoadBalancer, or start the server with a larger ${flag}`;
  return { reason: 'PoolExhausted', message: `all ${pool.size} addresses of the pool ${pool.text} are taken; ${remedy}` };
}

const allocated = (address: number): Outcome => ({
  address,
  reason: 'Allocated',
  message: `${addressText(address)} is the service's address`,
});

/** A node that lies would else take the addresses of all services; one that does not is to get another address. */
function alsoOfNode(address: number, node: string): Outcome {
  const text = addressText(address);
  const message = `${text} is the service's address, but the node "${node}" says that it is its own: give one of them another`;
  return { address, reason: 'AlsoOfNode', message };
}

/** An address of a pool that was changed since, or that another program wrote, stays; no node announces it. */
function keep({ pool, nodes }: LoadBalancerFacts, address: number): Outcome {
  const node = nodes.get(address);
  if (pool && isInPool(pool, address)) return node === undefined ? allocated(address) : alsoOfNode(address, node);
  const where = pool ? `the pool ${pool.text}` : `any pool (${flag} is not given)`;
  const message = `${addressText(address)} is kept, but is not in ${where}: no node announces it`;
  return { address, reason: 'OutsidePool', message };
}

function changeOf(service: Service, outcome: Outcome | undefined): StatusChange[] {
  const { spec, status = {}, metadata } = service;
  const before = findCondition(status.conditions, loadBalancerCondition);
  const ingress = status.loadBalancer?.ingress ?? [];
  if (outcome === undefined) {
    // What ends keeps its address to the end, and one of another class is another program's.
    if (metadata?.deletionTimestamp || (spec?.type === 'LoadBalancer' && !before)) return [];
    const left = spec?.type === 'LoadBalancer' ? ingress : [];
    return ingress.length === left.length && !before ? [] : [{ service, ingress: left, condition: undefined }];
  }
  const { address, reason, message } = outcome;
  const isMet = reason === 'Allocated' || reason === 'AlsoOfNode' || reason === 'OutsidePool';
  const condition = { type: loadBalancerCondition, status: isMet ? 'True' : 'False', reason, message };
  const next = nextIngress(ingress, address, reason);
  const isSame = before?.status === condition.status && before.reason === reason && before.message === message;
  return isSame && equalValues(ingress, next) ? [] : [{ service, ingress: next, condition }];
}

/** What another program wrote about an address outside of the pool (a host name, ports) is left as it is. */
function nextIngress(
  before: readonly LoadBalancerIngress[],
  address: number | undefined,
  reason: Reason,
): readonly LoadBalancerIngress[] {
  if (address === undefined) return reason === 'NoPool' ? before : [];
  if (reason === 'OutsidePool') return before;
  return [{ ip: addressText(address), ipMode: 'VIP' }];
}
