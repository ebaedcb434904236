import { expect, it } from 'vitest';
import type { Node, NodeNetwork, Service, ServiceCIDR } from '../../api/generated/types.ts';
import type { Informer } from '../../client/index.ts';
import { createNodeNetworks } from './controller.ts';

/** A controller that was told 10.43.0.0/16, over objects that informers show; writes reach the informer at once. */
function createWorld() {
  const networks = new Map<string, NodeNetwork>();
  const ranges = new Map<string, ServiceCIDR>();
  const warned: unknown[] = [];
  const services = new Map<string, Service>();
  const handlers: ((range: ServiceCIDR) => void)[] = [];
  const ofServices: ((service: Service) => void)[] = [];
  const informerOf = <T>(objects: ReadonlyMap<string, T>, follow: (tell: (object: T) => void) => void = () => {}) =>
    ({
      lister: { get: (name: string) => objects.get(name), list: () => [...objects.values()] },
      addHandler: ({ onAdd }: { onAdd(object: T): void }) => {
        follow(onAdd);
        return () => {};
      },
    }) as unknown as Informer<T & object>;
  const write = async (object: NodeNetwork) => {
    networks.set(object.metadata!.name!, object);
    return object;
  };
  const node: Node = { metadata: { name: 'a' }, spec: { podCIDR: '10.42.0.0/24' } };
  const controller = createNodeNetworks({
    client: { nodeNetworks: { create: write, update: write, delete: async () => ({}) } },
    nodes: informerOf(new Map([['a', node]])),
    networks: informerOf(networks),
    serviceCidrs: informerOf(ranges, (tell) => handlers.push(tell)),
    services: informerOf(services, (tell) => ofServices.push(tell)),
    settings: { serviceCidr: '10.43.0.0/16' },
    logger: { warn: (fields) => warned.push(fields) },
  });
  const woken: string[] = [];
  for (const source of controller.sources) source.connect((key) => woken.push(key));
  return {
    warned,
    woken,
    show(name: string, cidr: string): void {
      const range: ServiceCIDR = { metadata: { name }, spec: { cidrs: [cidr] } };
      ranges.set(name, range);
      for (const tell of handlers) tell(range);
    },
    serve(clusterIP: string): Service {
      const service: Service = { metadata: { name: clusterIP }, spec: { clusterIPs: [clusterIP] } };
      services.set(clusterIP, service);
      for (const tell of ofServices) tell(service);
      return service;
    },
    /** The informer's handlers tell of what came and of what has gone alike. */
    unserve(service: Service): void {
      services.delete(service.metadata!.name!);
      for (const tell of ofServices) tell(service);
    },
    hide: (name: string) => ranges.delete(name),
    async look(): Promise<readonly string[] | undefined> {
      await controller.reconcile('a', new AbortController().signal);
      return networks.get('a')?.serviceCIDRs;
    },
  };
}

it('tells nodes the range of Services that the server has, and warns once that it was told another', async () => {
  const world = createWorld();
  expect(await world.look()).toEqual(['10.43.0.0/16']);
  world.show('kubernetes', '10.50.0.0/16');
  expect(world.woken).toEqual(['a']);
  expect(await world.look()).toEqual(['10.50.0.0/16']);
  expect(await world.look()).toEqual(['10.50.0.0/16']);
  expect(world.warned).toEqual([{ controllers: '10.43.0.0/16', server: '10.50.0.0/16' }]);
});

it('keeps the range while the server replaces its ServiceCIDR, and leaves ServiceCIDRs of users out', async () => {
  const world = createWorld();
  world.show('kubernetes', '10.50.0.0/16');
  await world.look();
  world.hide('kubernetes');
  world.show('mine', '10.60.0.0/16');
  expect(world.woken).toEqual(['a']);
  expect(await world.look()).toEqual(['10.50.0.0/16']);
});

it('tells nodes the range of before until the last Service with an address of it has gone', async () => {
  const world = createWorld();
  await world.look();
  const service = world.serve('10.43.0.7');
  world.show('kubernetes', '10.50.0.0/16');
  expect(await world.look()).toEqual(['10.50.0.0/16', '10.43.0.0/16']);
  world.woken.length = 0;
  world.unserve(world.serve('10.50.0.7'));
  expect(world.woken).toEqual([]);
  world.unserve(service);
  expect(world.woken).toEqual(['a']);
  expect(await world.look()).toEqual(['10.50.0.0/16']);
});
