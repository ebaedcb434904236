import { expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import type { TableService } from '../service-table/service.ts';
import type { RelayOptions } from './relay.ts';
import { parseServer, RelayKeeper, relayedService } from './relay-keeper.ts';

const service: TableService = {
  ...{ clusterAddresses: ['10.43.0.1'], externalAddresses: ['192.0.2.9'], loadBalancerAddresses: ['192.0.2.10'] },
  ports: [
    { protocol: 'TCP', port: 443, nodePort: 31_000, endpoints: [] },
    { protocol: 'UDP', port: 443, endpoints: [] },
  ],
  ...{ internalPolicy: 'Local', externalPolicy: 'Local', publishNotReadyAddresses: true },
};

const key = 'default/berth';
const server = { host: '192.0.2.5', port: 7443 };

function open() {
  const [clock, logger, metrics, ending] = [createFakeClock(), createFakeLogger(), new MetricsRegistry(), new AbortController()];
  const tables: (TableService | undefined)[] = [];
  const keys: string[] = [];
  const changed: string[] = [];
  const started: { options: RelayOptions; die: (why: string) => void; close: () => void }[] = [];
  const world = { refuse: '', tables, keys, changed, started, clock, logger, metrics };
  const keeper = new RelayKeeper({
    ...{ address: '10.42.0.1', nodeName: 'n1', metrics, clock, logger },
    services: [
      { key, isOurs: ({ clusterAddresses }) => clusterAddresses.includes('10.43.0.1'), server: () => server },
      {
        key: 'default/kubernetes',
        isOurs: ({ provider }) => provider === 'kubernetes',
        server: () => undefined,
        changed: () => changed.push('kubernetes'),
      },
    ],
    isAllowed: (source) => source === '10.42.0.9',
    setTable(of, table) {
      keys.push(of);
      tables.push(table);
    },
    async start(options) {
      if (world.refuse !== '') throw new Error(world.refuse);
      let [close, reject] = [(): void => {}, (_: Error): void => {}];
      const ended = new Promise<void>((...both) => {
        [close, reject] = both;
      });
      started.push({ options, die: (why) => reject(new Error(why)), close });
      return { ports: [40_000 + started.length, 50_000 + started.length], open: () => 3, ended, close };
    },
  });
  const ended = keeper.run(ending.signal);
  const endpoints = () => tables.at(-1)?.ports.flatMap((port) => port.endpoints.map(({ address, port }) => `${address}:${port}`));
  const end = () => {
    ending.abort();
    return ended;
  };
  return Object.assign(world, { keeper, endpoints, end });
}

it('leads the Service to the relay of this node, at its cluster address only', async () => {
  const { keeper, tables, started, endpoints, end } = open();
  await expect.poll(() => started.length).toBe(1);
  expect(started[0]!.options.address).toBe('10.42.0.1');
  expect(started[0]!.options.targets.map((target) => target())).toEqual([server, undefined]);
  expect(['10.42.0.9', '10.42.1.9'].map(started[0]!.options.isAllowed)).toEqual([true, false]);
  keeper.take(key, service);
  expect(endpoints()).toEqual(['10.42.0.1:40001']);
  expect(tables.at(-1)).toMatchObject({ clusterAddresses: ['10.43.0.1'], externalAddresses: [], loadBalancerAddresses: [] });
  expect(tables.at(-1)?.ports).toMatchObject([{ protocol: 'TCP', port: 443 }]);
  expect(tables.at(-1)?.ports[0]).not.toHaveProperty('nodePort');
  keeper.take(key, undefined);
  expect(tables.at(-1)).toBeUndefined();
  await end();
});

it('leads each of the Services to a port of its own, and tells which have changed', async () => {
  const { keeper, started, tables, keys, changed, endpoints, end } = open();
  const kubernetes = { ...service, clusterAddresses: ['10.43.0.2'], provider: 'kubernetes' };
  expect(keeper.take('default/kubernetes', kubernetes)).toBe(true);
  expect([keys, endpoints(), changed]).toEqual([['default/kubernetes'], [], ['kubernetes']]);
  await expect.poll(() => started.length).toBe(1);
  await expect.poll(endpoints).toEqual(['10.42.0.1:50001']);
  expect(tables.at(-1)?.clusterAddresses).toEqual(['10.43.0.2']);
  expect(keeper.take(key, service)).toBe(true);
  expect([keys.at(-1), endpoints(), changed]).toEqual([key, ['10.42.0.1:40001'], ['kubernetes']]);
  expect(keeper.take('default/kubernetes', service)).toBe(false);
  expect([keys.at(-1), tables.at(-1)]).toEqual(['default/kubernetes', undefined]);
  expect(keeper.take('default/other', service)).toBe(false);
  await end();
});

it('starts a relay again that fails, on another port, and leads nowhere meanwhile', async () => {
  const { keeper, started, endpoints, clock, logger, end } = open();
  await expect.poll(() => started.length).toBe(1);
  keeper.take(key, service);
  started[0]!.die('listen EADDRNOTAVAIL');
  await expect.poll(endpoints).toEqual([]);
  await clock.advance(10_000);
  await expect.poll(() => started.length).toBe(2);
  expect(endpoints()).toEqual(['10.42.0.1:40002']);
  expect(logger.lines.map(({ message }) => message)).toEqual([
    'pods do not reach the API server through this node: listen EADDRNOTAVAIL',
  ]);
  await end();
});

it('tells once of a failure that goes on, and leaves the table as it is at the end', async () => {
  const world = open();
  const { keeper, started, endpoints, clock, logger, end } = world;
  await expect.poll(() => started.length).toBe(1);
  keeper.take(key, service);
  world.refuse = 'no address';
  started[0]!.die('gone');
  for (let i = 0; i < 10; i++) await clock.advance(10_000);
  expect(logger.lines).toHaveLength(2);
  world.refuse = '';
  await clock.advance(10_000);
  await expect.poll(endpoints).toEqual(['10.42.0.1:40002']);
  await end();
  expect(endpoints()).toEqual(['10.42.0.1:40002']);
});

it('counts refusals, and tells each reason once in a minute', async () => {
  const { started, clock, logger, metrics, end } = open();
  await expect.poll(() => started.length).toBe(1);
  const { onRefused } = started[0]!.options;
  for (let i = 0; i < 3; i++) onRefused('rate', '10.42.0.9');
  onRefused('server', '10.42.0.9', 'connect ECONNREFUSED');
  expect(logger.lines.map(({ fields: { reason } }) => reason)).toEqual(['rate', 'server']);
  await clock.advance(60_000);
  onRefused('rate', '10.42.0.9');
  expect(logger.lines).toHaveLength(3);
  const samples = metrics.snapshot().map(({ definition, samples }) => [definition.name, samples]);
  expect(samples).toEqual([
    ['berth_agent_api_relay_connections', [{ labels: [], value: 3 }]],
    [
      'berth_agent_api_relay_refused_total',
      [
        { labels: ['rate'], value: 4 },
        { labels: ['server'], value: 1 },
      ],
    ],
  ]);
  await end();
});

it('has no endpoint while there is no relay', () =>
  expect(relayedService(service, 'n1', undefined).ports).toEqual([{ protocol: 'TCP', port: 443, endpoints: [] }]));

it.each([
  ['192.0.2.5:7443', '192.0.2.5', 7443],
  ['berth.example.com:7443', 'berth.example.com', 7443],
  ['[2001:db8::1]:7443', '2001:db8::1', 7443],
  ['berth.example.com', 'berth.example.com', 443],
])('reads the server’s address %s', (address, host, port) => expect(parseServer(address)).toEqual({ host, port }));

it('leaves a Service of this name that a user made to the table, and gives it back when it goes', () => {
  const { keeper, tables } = open();
  const foreign = { ...service, clusterAddresses: ['10.43.7.7'] };
  expect([keeper.take(key, foreign), keeper.take(key, undefined), tables]).toEqual([false, false, []]);
  expect([keeper.take(key, service), keeper.take(key, undefined)]).toEqual([true, true]);
  expect(tables.at(-1)).toBeUndefined();
  keeper.take(key, service);
  expect(keeper.take(key, foreign)).toBe(false);
});
