import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { NftProcess } from '../../agent/nft/nft-process.ts';
import type { TableEndpoint, TablePort, TableService } from '../../agent/service-table/service.ts';
import { createServiceTable, removeServiceTable, type ServiceTable } from '../../agent/service-table/service-table.ts';
import { pause } from '../../client/clock.ts';
import { allocatorSettings } from '../../host/processes/process-settings.ts';
import { endpoint, port, tableService, terminating } from '../builders/table-service.ts';
import {
  clientAddress,
  createServiceNetwork,
  nodeAddress,
  type Peer,
  type PeerAnswer,
  podAddress,
  type ServiceNetwork,
} from '../fakes/service-network.ts';

// Real packets in network namespaces of its own: a client outside, a node, three pods of it. Needs root.

const settings = {
  cluster: 'test',
  node: 'node1',
  podRanges: ['10.42.0.0/16'],
  serviceRanges: ['10.43.0.0/16'],
};
const cluster = '10.43.0.1';
const udp: Partial<TablePort> = { protocol: 'UDP' };
let network: ServiceNetwork;
let table: ServiceTable;
let stop: () => Promise<void>;
const used = new Set<string>();
const warnings: string[] = [];
const logger = {
  debug() {},
  info() {},
  warn: (fields: object, text: string) => void warnings.push(`${text} ${String((fields as { err?: Error }).err ?? '')}`),
  error() {},
};

const pods = (...indexes: number[]): TableEndpoint[] => indexes.map((index) => endpoint(podAddress(index)));

/** As the agent does: what is known is set before the table runs. */
/** How often the table was found to be gone. */
let lost = 0;

function startTable(known?: TableService): void {
  const aborter = new AbortController();
  table = createServiceTable({ ...settings, prefix: network.prefix, logger, onLost: () => lost++ });
  if (known) table.set('default/web', known);
  const running = table.run(aborter.signal);
  stop = async () => {
    aborter.abort();
    await running;
  };
}

/** Puts a Service, and fails with what the table has logged unless it is in force within 5 s. */
async function put(service: TableService | undefined, key = 'default/web'): Promise<void> {
  if (service) used.add(key);
  table.set(key, service);
  const tooLate = new AbortController();
  const late = pause(5_000, tooLate.signal).then(() => `not in force: ${warnings.slice(-3).join('; ')}`);
  expect(await Promise.race([table.settled().then(() => 'in force'), late])).toBe('in force');
  expect(table.status()).toEqual({ table: expect.stringMatching(/^berth_/), waiting: 0 });
  tooLate.abort();
}

async function dial(from: Peer, host = cluster, at = 80): Promise<PeerAnswer> {
  return from.ask('dial', { host, port: at });
}

/** How often each server answered so many connections; errors by their code. */
async function spread(from: Peer, count: number, host = cluster, at = 80): Promise<Record<string, number>> {
  const names: Record<string, number> = {};
  for (let i = 0; i < count; i++) {
    const { text, error } = await dial(from, host, at);
    const name = error ?? text!.split(' ')[0]!;
    names[name] = (names[name] ?? 0) + 1;
  }
  return names;
}

/** Processes of this test that run nft. */
function nftPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        return stat.includes('(nft)') && Number(stat.replace(/^.*\) /, '').split(' ')[1]) === process.pid;
      } catch {
        return false;
      }
    });
}

beforeAll(async () => {
  network = await createServiceNetwork(fileURLToPath(new URL('../fakes/service-peer.js', import.meta.url)));
  for (const [index, pod] of network.pods.entries()) await pod.ask('serve', { name: `e${index + 1}`, tcp: 8080, udp: 5353 });
  startTable();
});
afterAll(async () => {
  await stop();
  await network.close();
});
beforeEach(async () => {
  for (const key of used) table.set(key, undefined);
  await table.settled();
  used.clear();
});

it('spreads connections to a cluster address over its ready endpoints, from outside, the node and pods', async () => {
  await put(tableService(cluster, [port(80, [...pods(0, 1), endpoint(podAddress(2), 8080, { ready: false, serving: false })])]));
  for (const from of [network.client, network.node, network.pods[2]!]) {
    const names = await spread(from, 40);
    expect(Object.keys(names).sort()).toEqual(['e1', 'e2']);
    expect(Math.min(...Object.values(names))).toBeGreaterThan(4);
  }
});

it('refuses at once what has no endpoints, and addresses of the range that no Service has', async () => {
  await put(
    tableService(cluster, [port(80, [endpoint(podAddress(0), 8080, { ready: false, serving: false })]), port(53, [], udp)]),
  );
  for (const from of [network.client, network.node, network.pods[0]!]) {
    for (const host of [cluster, '10.43.77.77']) {
      const { error, ms } = await dial(from, host);
      expect(error).toBe('ECONNREFUSED');
      expect(ms).toBeLessThan(500);
    }
    expect((await from.ask('ask', { host: cluster, port: 53 })).error).toBe('ECONNREFUSED');
  }
});

it('gives endpoints that terminate and still serve new connections only when no other is left', async () => {
  await put(tableService(cluster, [port(80, [...pods(0), terminating(podAddress(1))])]));
  expect(await spread(network.client, 10)).toEqual({ e1: 10 });
  await put(tableService(cluster, [port(80, [terminating(podAddress(1))])]));
  expect(await spread(network.client, 10)).toEqual({ e2: 10 });
});

it('keeps a client with its endpoint, and moves it once when that endpoint goes', async () => {
  const sticky = (...indexes: number[]) => tableService(cluster, [port(80, pods(...indexes))], { affinitySeconds: 100 });
  await put(sticky(0, 1, 2));
  for (const from of [network.client, network.node]) {
    const first = await spread(from, 12);
    expect(Object.values(first)).toEqual([12]);
  }
  const before = Number((await dial(network.client)).text![1]) - 1;
  const left = [0, 1, 2].filter((index) => index !== before);
  await put(sticky(...left));
  const moved = await spread(network.client, 12);
  expect(Object.values(moved)).toEqual([12]);
  expect(Object.keys(moved)).not.toEqual([`e${before + 1}`]);
  // The address is remembered, not its place among the others.
  await put(sticky(0, 1, 2));
  expect(await spread(network.client, 12)).toEqual(moved);
});

it('forgets a client after the seconds of its affinity', async () => {
  await put(tableService(cluster, [port(80, pods(0, 1, 2))], { affinitySeconds: 1 }));
  const seen = new Set<string>();
  await expect
    .poll(async () => seen.add((await dial(network.client)).text!.split(' ')[0]!).size, { interval: 1_200 })
    .toBeGreaterThan(1);
});

it('leaves marks of packets alone and no mark on connections, so that rules of others route as before', async () => {
  // Whatever carries a mark is routed into nothing.
  network.inNode('ip', 'rule', 'add', 'fwmark', '0x1/0x1', 'table', '99', 'priority', '10');
  network.inNode('ip', 'rule', 'add', 'fwmark', '0xa000000/0xa000000', 'table', '99', 'priority', '11');
  network.inNode('ip', 'route', 'add', 'blackhole', 'default', 'table', '99');
  try {
    await put(tableService(cluster, [port(80, pods(0, 1, 2), { nodePort: 30080 })], { affinitySeconds: 100 }));
    for (const from of [network.client, network.node]) {
      for (const [host, at] of [
        [cluster, 80],
        [nodeAddress, 30080],
      ] as const) {
        expect(Object.values(await spread(from, 6, host, at))).toEqual([6]);
      }
    }
    const connections = network.inNode('conntrack', '-L', '-p', 'tcp');
    expect(connections).toContain(`dst=${cluster}`);
    expect(connections).not.toMatch(/mark=[1-9]/);
  } finally {
    for (const priority of ['10', '11']) network.inNode('ip', 'rule', 'del', 'priority', priority);
  }
});

it('answers on node ports of all addresses of the node, hiding the client where endpoints may be elsewhere', async () => {
  await put(
    tableService(cluster, [
      port(80, pods(0, 1), { nodePort: 30080 }),
      port(53, [endpoint(podAddress(0), 5353)], { ...udp, nodePort: 30053 }),
    ]),
  );
  expect(Object.keys(await spread(network.client, 20, nodeAddress, 30080)).sort()).toEqual(['e1', 'e2']);
  expect(Object.keys(await spread(network.node, 20, '127.0.0.1', 30080)).sort()).toEqual(['e1', 'e2']);
  expect(Object.keys(await spread(network.pods[2]!, 20, '169.254.1.1', 30080)).sort()).toEqual(['e1', 'e2']);
  expect((await dial(network.client, nodeAddress, 30080)).text).not.toContain(clientAddress);
  expect((await network.client.ask('ask', { host: nodeAddress, port: 30053 })).text).toMatch(/^e1 /);
  // An address that is not the node's is none of its node ports.
  expect((await network.node.ask('dial', { host: clientAddress, port: 30080 })).error).toBe('ECONNREFUSED');
});

it('with policy Local keeps the address of clients outside and uses only endpoints of this node', async () => {
  const external = '192.0.2.77';
  const away = endpoint('10.42.7.7', 8080, { node: 'node2' });
  const service = (...endpoints: TableEndpoint[]) =>
    tableService(cluster, [port(80, endpoints, { nodePort: 30080 })], {
      externalPolicy: 'Local',
      externalAddresses: [external],
    });
  network.inNode('ip', 'address', 'add', `${external}/32`, 'dev', 'eth0');
  await put(service(...pods(1), away));
  for (const [host, at] of [
    [external, 80],
    [nodeAddress, 30080],
  ] as const) {
    expect(await spread(network.client, 10, host, at)).toEqual({ e2: 10 });
    expect((await dial(network.client, host, at)).text).toBe(`e2 ${clientAddress}`);
  }
  await put(service(away));
  expect((await network.client.ask('dial', { host: external, port: 80, ms: 700 })).error).toBe('TIMEOUT');
  // Pods and the node use all endpoints.
  await put(service(...pods(0, 1)), 'default/web');
  expect(Object.keys(await spread(network.pods[2]!, 20, external)).sort()).toEqual(['e1', 'e2']);
  await put(service());
  expect((await dial(network.client, external)).error).toBe('ECONNREFUSED');
});

it('brings a pod to itself through its Service', async () => {
  await put(tableService(cluster, [port(80, pods(0))]));
  const { text } = await dial(network.pods[0]!);
  expect(text).toMatch(/^e1 /);
  // The answer has to come back through the node.
  expect(text).not.toContain(podAddress(0));
});

it('keeps the address of pods that dial other pods', async () => {
  await put(tableService(cluster, [port(80, pods(0))]));
  expect((await dial(network.pods[1]!)).text).toBe(`e1 ${podAddress(1)}`);
});

it('leaves a node port to a program that listens on it, and takes it when the program has gone', async () => {
  await network.node.ask('serve', { name: 'own', tcp: 30090, address: nodeAddress });
  await put(tableService(cluster, [port(80, pods(0), { nodePort: 30090 })]));
  expect(await spread(network.client, 5, nodeAddress, 30090)).toEqual({ own: 5 });
  // The program holds one address; the port is the Service's on the others.
  expect(await spread(network.node, 5, '127.0.0.1', 30090)).toEqual({ e1: 5 });
  await network.node.ask('serve', { name: 'late', tcp: 30091 });
  await put(tableService(cluster, [port(80, pods(0), { nodePort: 30091 })]));
  expect(await spread(network.client, 5, nodeAddress, 30091)).toEqual({ late: 5 });
  await network.node.ask('leave', { name: 'late' });
  // One that listens on the loopback address alone keeps that one.
  await network.node.ask('serve', { name: 'near', tcp: 30092, address: '127.0.0.1' });
  await put(tableService(cluster, [port(80, pods(0), { nodePort: 30092 })]), 'default/near');
  expect(await spread(network.node, 5, '127.0.0.1', 30092)).toEqual({ near: 5 });
  expect(await spread(network.client, 5, nodeAddress, 30092)).toEqual({ e1: 5 });
  await expect.poll(() => spread(network.client, 3, nodeAddress, 30091), { interval: 200 }).toEqual({ e1: 3 });
});

it('carries UDP, and moves a sender with a fixed port when its endpoint or its Service goes and returns', async () => {
  const dns = (...indexes: number[]) =>
    tableService(cluster, [
      port(
        53,
        indexes.map((index) => endpoint(podAddress(index), 5353)),
        udp,
      ),
    ]);
  const ask = async () => (await network.client.ask('ask', { host: cluster, port: 53, from: 4000, ms: 200 })).text?.split(' ')[0];
  await put(dns(0));
  expect(await ask()).toBe('e1');
  await put(dns(1));
  await expect.poll(ask).toBe('e2');
  await put(dns());
  await expect.poll(ask).toBe(undefined);
  await put(dns(2));
  await expect.poll(ask).toBe('e3');
  await put(undefined);
  await expect.poll(ask).toBe(undefined);
  await put(dns(0));
  await expect.poll(ask).toBe('e1');
  // It terminates: flows go on with it, new ones do not begin.
  await put(tableService(cluster, [port(53, [terminating(podAddress(0), 5353), endpoint(podAddress(1), 5353)], udp)]));
  expect(await ask()).toBe('e1');
  expect((await network.client.ask('ask', { host: cluster, port: 53, from: 4001 })).text).toMatch(/^e2/);
});

it('drains an endpoint under load: no new connection fails, and established ones go on', async () => {
  await put(tableService(cluster, [port(80, pods(0, 1, 2))]));
  const keep = { host: cluster, port: 80, keep: 'long' };
  const name = (await network.client.ask('dial', keep)).text!.split(' ')[0]!;
  const drained = Number(name[1]) - 1;
  const left = [0, 1, 2].filter((index) => index !== drained);
  await network.client.ask('start', { host: cluster, port: 80 });
  for (let round = 0; round < 20; round++) {
    await put(tableService(cluster, [port(80, [...pods(...left), terminating(podAddress(drained))])]));
    await put(tableService(cluster, [port(80, round === 19 ? pods(...left) : pods(0, 1, 2))]));
  }
  const { errors, answers } = await network.client.ask('stop');
  expect(errors).toEqual({});
  expect(Object.values(answers!).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(50);
  expect(Object.keys(await spread(network.client, 20))).not.toContain(name);
  expect((await network.client.ask('say', { keep: 'long', text: 'still' })).text).toBe(`${name}:still`);
});

it('lets only the sources that are named use the address of a load balancer, from outside, the node and pods', async () => {
  const address = '198.51.100.9';
  const balanced = (...sourceRanges: string[]) =>
    tableService(cluster, [port(80, pods(0), { nodePort: 30091 })], { loadBalancerAddresses: [address], sourceRanges });
  network.inNode('ip', 'address', 'add', `${address}/32`, 'dev', 'lo');
  const answersTo = async (from: Peer, at = 80) =>
    (await from.ask('dial', { host: address, port: at, ms: 400 })).text?.slice(0, 2);
  try {
    await put(balanced(`${clientAddress}/32`));
    expect([await answersTo(network.client), await answersTo(network.pods[1]!)]).toEqual(['e1', undefined]);
    await put(balanced('10.42.0.0/16', '10.42.0.0/24', '203.0.113.0/24'));
    expect([await answersTo(network.client), await answersTo(network.pods[1]!)]).toEqual([undefined, 'e1']);
    expect(await answersTo(network.node)).toBe('e1');
    // Not around it either: the node port answers at the node's own address alone.
    expect([await answersTo(network.client, 30091), await answersTo(network.pods[1]!, 30091)]).toEqual([undefined, undefined]);
    expect((await dial(network.client, nodeAddress, 30091)).text).toMatch(/^e1/);
    await put(balanced('fd00::/8'));
    expect([await answersTo(network.client), await answersTo(network.pods[1]!)]).toEqual([undefined, undefined]);
    await put(balanced('0.0.0.0/0'));
    expect([await answersTo(network.client), await answersTo(network.client, 30091)]).toEqual(['e1', 'e1']);
  } finally {
    network.inNode('ip', 'address', 'del', `${address}/32`, 'dev', 'lo');
  }
});

it.each([
  ['the ruleset was', () => ['ruleset']],
  ['the rules of the table were', () => ['table', 'ip', table.status().table!]],
])('is whole again within 5 s after %s flushed', async (_, what) => {
  await put(tableService(cluster, [port(80, pods(0))]));
  lost = 0;
  network.inNode('nft', 'flush', ...what());
  const beganAt = Date.now();
  await expect
    .poll(async () => (await network.client.ask('dial', { host: cluster, port: 80, ms: 300 })).text, { interval: 50 })
    .toMatch(/^e1/);
  expect(Date.now() - beganAt).toBeLessThan(5_000);
  expect(lost).toBe(1);
});

it('goes on after its nft process was killed, between changes and within one', async () => {
  await put(tableService(cluster, [port(80, pods(0))]));
  for (let round = 0; round < 5; round++) {
    for (const pid of nftPids()) process.kill(pid, 'SIGKILL');
    await put(tableService(cluster, [port(80, pods(1))]));
    expect(await spread(network.client, 3)).toEqual({ e2: 3 });
    table.set('default/web', tableService(cluster, [port(80, pods(2))]));
    await new Promise(setImmediate);
    for (const pid of nftPids()) process.kill(pid, 'SIGKILL');
    await table.settled();
    expect(await spread(network.client, 3)).toEqual({ e3: 3 });
  }
});

it('replaces the table of the agent before it without a failed connection, and leaves nothing when removed', async () => {
  await put(tableService(cluster, [port(80, pods(0, 1))]));
  await put(tableService('10.43.0.2', [port(80, pods(0))]), 'default/deleted-meanwhile');
  await network.client.ask('start', { host: cluster, port: 80 });
  for (let round = 0; round < 3; round++) {
    await stop();
    startTable(tableService(cluster, [port(80, pods(0, 1))]));
    await table.settled();
  }
  expect((await network.client.ask('stop')).errors).toEqual({});
  expect((await dial(network.client, '10.43.0.2')).error).toBe('ECONNREFUSED');
  const ofOthers = 'add table ip berth_test_node2_0; add table ip other';
  network.inNode('nft', ofOthers);
  await stop();
  await removeServiceTable(settings, network.prefix);
  expect(
    network
      .inNode('nft', 'list', 'ruleset')
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('table')),
  ).toEqual(['table ip berth_test_node2_0 {', 'table ip other {']);
  network.inNode('nft', 'delete table ip berth_test_node2_0; delete table ip other');
  startTable();
});

it('changes a table step by step into what it is when built at once', async () => {
  // nft lists elements in an order of its own.
  const listed = () =>
    execFileSync(network.prefix[0]!, [...network.prefix.slice(1), 'nft', '-s', 'list', 'ruleset'], { encoding: 'utf8' })
      .replace(/berth_test_node1_\d/g, 'TABLE')
      .split(/[,{}\n]/)
      .map((line) => line.trim().replace(/^elements = ?/, ''))
      .filter((line) => line !== '')
      .sort();
  const step = (round: number, index: number): TableService | undefined => {
    const at = round * 7 + index * 3;
    if (at % 5 === 0) return undefined;
    const endpoints = Array.from({ length: (at * 5) % 19 }, (_, i) =>
      endpoint(`10.42.${i % 2}.${i + 1}`, 80, { node: `node${(i % 2) + 1}` }),
    );
    return tableService(
      `10.43.1.${index % 5}`,
      [port(80, endpoints, { nodePort: 30100 + (index % 6) }), port(53, endpoints, udp)],
      {
        ...(at % 3 === 0 && { affinitySeconds: 10 + (at % 2) }),
        externalPolicy: at % 2 ? 'Local' : 'Cluster',
        externalAddresses: at % 4 ? ['198.51.100.1'] : [],
        loadBalancerAddresses: at % 2 ? ['198.51.100.2'] : [],
        ...(at % 7 < 4 && { sourceRanges: [`10.${at % 3}.0.0/${8 + (at % 9)}`, '10.0.0.0/9', '192.0.2.0/24'] }),
      },
    );
  };
  warnings.length = 0;
  for (let round = 0; round < 25; round++) {
    for (let index = 0; index < 8; index++) await put(step(round, index), `default/s${index}`);
  }
  const stepped = listed();
  expect(warnings).toEqual([]);
  network.inNode('nft', 'flush', 'ruleset');
  await expect.poll(listed, { interval: 300 }).toEqual(stepped);
});

it("costs nft few page faults for each transaction, also with the agent's memory settings", async () => {
  for (const [name, value] of Object.entries(allocatorSettings('agent'))) vi.stubEnv(name, value);
  const nft = new NftProcess({ prefix: network.prefix });
  const run = async (count: number): Promise<number> => {
    for (let i = 0; i < count; i++) await nft.run('add table ip costs; delete table ip costs');
    return Number(
      readFileSync(`/proc/${nft.pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')[7],
    );
  };
  try {
    const before = await run(10);
    expect((await run(20)) - before).toBeLessThan(20 * 50);
  } finally {
    nft.close();
    vi.unstubAllEnvs();
  }
});

it('leads pods to the relay of their own agent where a machine has two, also when the other has ended', async () => {
  const address = '10.43.9.1';
  const relay = (relayPort: number) => tableService(address, [port(443, [endpoint(nodeAddress, relayPort)])]);
  // Pod 1 is of the first agent, pods 2 and 3 of the second.
  for (const [index, range] of ['10.42.0.8/30', '10.42.0.12/30'].entries()) {
    const [relayPort, aborter] = [8_501 + index, new AbortController()];
    await network.node.ask('serve', { name: `relay${index + 1}`, tcp: relayPort });
    const both = { ...settings, node: `agent${index + 1}`, relayed: { addresses: ['10.43.9.200', address], range } };
    const own = createServiceTable({ ...both, prefix: network.prefix, logger });
    own.set('default/berth', relay(relayPort));
    const running = own.run(aborter.signal);
    await own.settled();
    aborter.abort();
    await running;
  }
  try {
    const answers = async () =>
      Promise.all(network.pods.map(async (pod) => (await dial(pod, address, 443)).text?.split(' ')[0] ?? 'none'));
    expect(await answers()).toEqual(['relay1', 'relay2', 'relay2']);
    await network.node.ask('leave', { name: 'relay1' });
    expect(await answers()).toEqual(['none', 'relay2', 'relay2']);
  } finally {
    for (const node of ['agent1', 'agent2']) await removeServiceTable({ cluster: settings.cluster, node }, network.prefix);
  }
});
