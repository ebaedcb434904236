import { describe, expect, it } from 'vitest';
import type { Service } from '../../api/generated/types.ts';
import { addressNumber } from '../../api/meta/address-range.ts';
import { loadBalancerClass, loadBalancerCondition } from '../../api/meta/load-balancers.ts';
import { parseAddressPool } from './address-pool.ts';
import { decideLoadBalancers } from './decide.ts';

interface Given {
  readonly spec?: Service['spec'];
  readonly has?: string;
  readonly createdAt?: number;
  readonly deleted?: boolean;
}

const service = (name: string, { spec, has, createdAt = 1, deleted }: Given = {}): Service => ({
  metadata: {
    ...{ namespace: 'a', name, creationTimestamp: { seconds: createdAt } },
    ...(deleted && { deletionTimestamp: { seconds: 9 } }),
  },
  spec: { type: 'LoadBalancer', ...spec },
  ...(has && { status: { loadBalancer: { ingress: [{ ip: has, ipMode: 'VIP' }] } } }),
});

const decide = (pool: string, services: readonly Service[], nodes: Readonly<Record<string, string>> = {}) =>
  decideLoadBalancers({
    ...{ pool: parseAddressPool(pool), services },
    nodes: new Map(Object.entries(nodes).map(([address, name]) => [addressNumber(address) ?? 0, name])),
  });

/** What each service whose status changes gets: "name address reason: message". */
const told = (...args: Parameters<typeof decide>): string[] =>
  decide(...args).changes.map(({ service: { metadata }, ingress, condition }) =>
    [
      metadata?.name,
      ingress[0]?.ip ?? '-',
      condition ? `${condition.status} ${condition.reason}: ${condition.message}` : '-',
    ].join(' '),
  );

/** The services with what a plan writes. */
function applied(services: readonly Service[], { changes }: ReturnType<typeof decide>): Service[] {
  return services.map((each) => {
    const change = changes.find(({ service: { metadata } }) => metadata?.name === each.metadata?.name);
    if (!change) return each;
    const { ingress, condition } = change;
    return { ...each, status: { loadBalancer: { ingress: [...ingress] }, conditions: condition ? [condition] : [] } };
  });
}

const pool = '192.0.2.10-192.0.2.11';

describe('decideLoadBalancers', () => {
  it('gives services of type LoadBalancer the addresses of the pool, the oldest first, and then changes nothing', () => {
    const services = [service('new', { createdAt: 2 }), service('old'), service('plain', { spec: { type: 'NodePort' } })];
    expect(told(pool, services)).toEqual([
      "new 192.0.2.11 True Allocated: 192.0.2.11 is the service's address",
      "old 192.0.2.10 True Allocated: 192.0.2.10 is the service's address",
    ]);
    const plan = decide(pool, services);
    expect(plan.held).toEqual(new Set(['192.0.2.10', '192.0.2.11']));
    expect(plan.changes[0]?.ingress).toEqual([{ ip: '192.0.2.11', ipMode: 'VIP' }]);
    expect(decide(pool, applied(services, plan))).toEqual({ changes: [], held: plan.held });
  });

  it('lets services keep what they have, and goes on behind it', () => {
    const services = [service('a', { createdAt: 5, has: '192.0.2.10' }), service('b')];
    expect(told('192.0.2.9-192.0.2.12', applied(services, decide('192.0.2.9-192.0.2.12', services)))).toEqual([]);
    expect(told('192.0.2.9-192.0.2.12', services)[1]).toContain('b 192.0.2.11 ');
  });

  it('of two services with one address lets the older keep it, and gives the other another', () => {
    const services = [service('young', { createdAt: 2, has: '192.0.2.10' }), service('old', { has: '192.0.2.10' })];
    expect(told(pool, services).map((line) => line.slice(0, 16))).toEqual(['young 192.0.2.11', 'old 192.0.2.10 T']);
  });

  it('says when all are taken, and serves the one that waits when one comes back', () => {
    const services = [service('a', { has: '192.0.2.10' }), service('b', { has: '192.0.2.11' }), service('c')];
    expect(told(pool, services)[2]).toBe(
      'c - False PoolExhausted: all 2 addresses of the pool 192.0.2.10-192.0.2.11 are taken; delete services of type LoadBalancer, or start the server with a larger --load-balancer-addresses',
    );
    expect(told(pool, services.slice(1))[1]).toContain('c 192.0.2.10 ');
  });

  it('says that there is no pool, and leaves what another program wrote', () => {
    const services = [service('a'), service('b', { has: '198.51.100.7' })];
    expect(told('', services)).toEqual([
      'a - False NoPool: the cluster has no addresses for load balancers: start the server with --load-balancer-addresses, e.g. 192.0.2.10-192.0.2.20',
      'b 198.51.100.7 True OutsidePool: 198.51.100.7 is kept, but is not in any pool (--load-balancer-addresses is not given): no node announces it',
    ]);
    expect(decide('', services).held.size).toBe(0);
  });

  it('keeps an address that a later pool does not have, without a Lease', () => {
    const { changes, held } = decide(pool, [service('a', { has: '198.51.100.7' })]);
    expect(changes[0]).toMatchObject({ ingress: [{ ip: '198.51.100.7' }], condition: { status: 'True', reason: 'OutsidePool' } });
    expect(held.size).toBe(0);
  });

  it.each<[string, Service['spec'], string]>([
    ['is met', { loadBalancerIP: '192.0.2.11' }, "a 192.0.2.11 True Allocated: 192.0.2.11 is the service's address"],
    [
      'is taken',
      { loadBalancerIP: '192.0.2.10' },
      'a - False AddressTaken: spec.loadBalancerIP 192.0.2.10 is the address of the service "a/other"',
    ],
    [
      'that a node says it has is met',
      { loadBalancerIP: '192.0.2.12' },
      'a 192.0.2.12 True AlsoOfNode: 192.0.2.12 is the service\'s address, but the node "n1" says that it is its own: give one of them another',
    ],
    [
      'is not in the pool',
      { loadBalancerIP: '198.51.100.7' },
      'a - False AddressNotInPool: spec.loadBalancerIP 198.51.100.7 is not in the pool 192.0.2.10-192.0.2.12',
    ],
    ['is none', { loadBalancerIP: 'fd00::1' }, 'a - False InvalidAddress: spec.loadBalancerIP "fd00::1" is no IPv4 address'],
  ])('a wish %s', (_, spec, line) => {
    const other = applied([service('other', { has: '192.0.2.10' })], decide(pool, [service('other', { has: '192.0.2.10' })]));
    expect(told('192.0.2.10-192.0.2.12', [service('a', { spec }), ...other], { '192.0.2.12': 'n1' })).toContain(line);
  });

  it('meets wishes before it serves those without, though they are older', () => {
    const services = [service('old'), service('wishes', { createdAt: 2, spec: { loadBalancerIP: '192.0.2.10' } })];
    expect(told(pool, services).map((line) => line.slice(0, 17))).toEqual(['old 192.0.2.11 Tr', 'wishes 192.0.2.10']);
  });

  it('a new wish moves the service; one that cannot be met leaves it where it is', () => {
    const has = '192.0.2.10';
    expect(told(pool, [service('a', { has, spec: { loadBalancerIP: '192.0.2.11' } })])[0]).toContain('a 192.0.2.11 True');
    expect(told(pool, [service('a', { has, spec: { loadBalancerIP: '10.0.0.1' } })])).toEqual([
      'a 192.0.2.10 False AddressNotInPool: spec.loadBalancerIP 10.0.0.1 is not in the pool 192.0.2.10-192.0.2.11; it keeps 192.0.2.10',
    ]);
  });

  it('gives addresses that a node says it has last, so that no node blocks the pool', () => {
    const services = [service('a'), service('b', { createdAt: 2 }), service('c', { createdAt: 3 })];
    expect(told(pool, services, { '192.0.2.10': 'n1' }).map((line) => line.split(':')[0])).toEqual([
      'a 192.0.2.11 True Allocated',
      'b 192.0.2.10 True AlsoOfNode',
      'c - False PoolExhausted',
    ]);
  });

  it.each([{}, { loadBalancerIP: '192.0.2.10' }])(
    'lets a service keep an address that a node says it has as well, and tells of it: %j',
    (spec) => {
      const nodes = { '192.0.2.10': 'n1', '192.0.2.11': 'n1' };
      const services = [service('a', { has: '192.0.2.10', spec })];
      expect(told(pool, services, nodes)).toEqual([
        'a 192.0.2.10 True AlsoOfNode: 192.0.2.10 is the service\'s address, but the node "n1" says that it is its own: give one of them another',
      ]);
      const plan = decide(pool, services, nodes);
      expect(plan.held).toEqual(new Set(['192.0.2.10']));
      expect(decide(pool, applied(services, plan), nodes)).toEqual({ changes: [], held: plan.held });
      expect(told(pool, applied(services, plan))[0]).toContain('a 192.0.2.10 True Allocated');
    },
  );

  it('leaves another class alone, and does not give its addresses', () => {
    const foreign = service('f', { has: '192.0.2.10', spec: { loadBalancerClass: 'example.com/lb' } });
    expect(told(pool, [foreign, service('a', { createdAt: 2, spec: { loadBalancerClass } })])).toEqual([
      "a 192.0.2.11 True Allocated: 192.0.2.11 is the service's address",
    ]);
    expect(decide(pool, [foreign]).held.size).toBe(0);
  });

  it('frees the address of a service of another type', () => {
    const before = applied([service('a')], decide(pool, [service('a')]));
    const changed = before.map((each) => ({ ...each, spec: { type: 'ClusterIP' } }));
    const plan = decide(pool, changed);
    expect(plan.changes).toMatchObject([{ ingress: [], condition: undefined }]);
    expect(plan.held.size).toBe(0);
    expect(decide(pool, applied(changed, plan)).changes).toEqual([]);
  });

  it('a service that ends keeps its address to the end', () => {
    const services = [service('ends', { has: '192.0.2.10', deleted: true }), service('b')];
    expect(told(pool, services).map((line) => line.slice(0, 13))).toEqual(['b 192.0.2.11 ']);
    expect(decide(pool, services).held).toEqual(new Set(['192.0.2.10', '192.0.2.11']));
  });

  it('replaces the condition when what it says is other', () => {
    const waiting = applied([service('a')], decide('', [service('a')]));
    expect(waiting[0]?.status?.conditions?.[0]).toMatchObject({ type: loadBalancerCondition, reason: 'NoPool' });
    expect(told(pool, waiting)[0]).toContain('a 192.0.2.10 True Allocated');
  });
});
