import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { PolicyPod } from '../../agent/network-policy/facts.ts';
import { createPolicyTable, type PolicyTable, removePolicyTable } from '../../agent/network-policy/policy-table.ts';
import type { NetworkPolicy } from '../../api/generated/types.ts';
import { pause } from '../../client/clock.ts';
import {
  clientAddress,
  createServiceNetwork,
  nodeAddress,
  type Peer,
  podAddress,
  type ServiceNetwork,
} from '../fakes/service-network.ts';

// Real packets in network namespaces of its own: a client outside, a node, three pods of it. Needs root.

type Spec = NonNullable<NetworkPolicy['spec']>;
const owner = { cluster: 'test', node: 'node1' };
/** The node's own address in its range, and the service address of the other nodes' resolvers. */
const gateway = '10.42.0.1';
const names = '10.43.0.10';
const ports = [{ name: 'web', protocol: 'TCP', containerPort: 8080 }];
const warnings: string[] = [];
const logger = {
  debug() {},
  info() {},
  warn: (fields: object, text: string) => void warnings.push(`${text} ${String((fields as { err?: Error }).err ?? '')}`),
  error() {},
};
let network: ServiceNetwork;
let table: PolicyTable;
let stop: () => Promise<void>;
const [a, b, c] = [0, 1, 2];

const podOf = (index: number): PolicyPod => ({
  ...{ namespace: 'shop', labels: { app: `${'abc'[index]}` }, ports, namespaceLabels: { team: 's' } },
  addresses: [podAddress(index)],
});
const policy = (spec: Spec): NetworkPolicy => ({ metadata: { namespace: 'shop', name: 'p' }, spec });
const app = (name: string) => ({ matchLabels: { app: name } });
const tcp = (intVal: number, endPort?: number) => ({ protocol: 'TCP', port: { type: 0, intVal }, ...(endPort && { endPort }) });

function startTable(): void {
  const aborter = new AbortController();
  table = createPolicyTable({ ...owner, podLinks: 'pod*', gateway, names, prefix: network.prefix, logger });
  for (const index of network.pods.keys()) {
    table.setPeer(`${index}`, podOf(index));
    table.setLocal(podAddress(index), podOf(index));
  }
  const running = table.run(aborter.signal);
  stop = async () => {
    aborter.abort();
    await running;
  };
}

/** Fails with what the table has logged unless it is in force within 5 s. */
async function settle(): Promise<void> {
  const tooLate = new AbortController();
  const late = pause(5_000, tooLate.signal).then(() => `not in force: ${warnings.slice(-3).join('; ')}`);
  expect(await Promise.race([table.settled().then(() => 'in force'), late])).toBe('in force');
  tooLate.abort();
}

async function put(spec: Spec | undefined, name = 'shop/p'): Promise<void> {
  table.setPolicy(name, spec && policy(spec));
  await settle();
}

const isOpen = async (from: Peer, to: number | string, port = 8080): Promise<boolean> => {
  const { text, error } = await from.ask('dial', { host: typeof to === 'string' ? to : podAddress(to), port, ms: 400 });
  if (text === undefined) expect(error).toBe('TIMEOUT');
  return text !== undefined;
};
const isHeard = async (from: Peer, to: number | string, port = 5353): Promise<boolean> =>
  (await from.ask('ask', { host: typeof to === 'string' ? to : podAddress(to), port, ms: 400 })).text !== undefined;

/** "ab ba" for each pair of pods and the client "o" whose connection succeeds. */
async function openPairs(port = 8080): Promise<string> {
  const sources: (readonly [string, Peer])[] = [
    ...network.pods.map((pod, i) => ['abc'[i]!, pod] as const),
    ['o', network.client],
  ];
  const tries = sources.flatMap(([name, peer]) =>
    [a, b, c].filter((to) => 'abc'[to] !== name).map(async (to) => ((await isOpen(peer, to, port)) ? `${name}${'abc'[to]}` : '')),
  );
  return (await Promise.all(tries)).filter(Boolean).sort().join(' ');
}
const tableTurn = (): string => /berthpolicy_test_node1_([01])/.exec(network.inNode('nft', 'list', 'tables'))?.[1] ?? '';
const allPairs = 'ab ac ba bc ca cb oa ob oc';
const without = (...pairs: string[]): string =>
  allPairs
    .split(' ')
    .filter((pair) => !pairs.includes(pair))
    .join(' ');

beforeAll(async () => {
  network = await createServiceNetwork(fileURLToPath(new URL('../fakes/service-peer.js', import.meta.url)));
  network.inNode('ip', 'address', 'add', `${gateway}/32`, 'dev', 'lo');
  for (const [index, pod] of network.pods.entries()) {
    const name = 'abc'[index];
    await pod.ask('serve', { name, tcp: 8080, udp: 5353 });
    await pod.ask('serve', { name: `${name}2`, tcp: 8081 });
  }
  await network.node.ask('serve', { name: 'dns', address: gateway, tcp: 53, udp: 53 });
  await network.node.ask('serve', { name: 'node', tcp: 9000 });
  await network.client.ask('serve', { name: 'out', tcp: 53, udp: 53 });
  await network.client.ask('serve', { name: 'web', tcp: 8080 });
  startTable();
  await settle();
});
beforeEach(() => {
  warnings.length = 0;
});
afterEach(async () => {
  for (const name of ['shop/p', 'shop/q']) table.setPolicy(name, undefined);
  await settle();
});
afterAll(async () => {
  await stop?.();
  await removePolicyTable(owner, network.prefix);
  expect(network.inNode('nft', 'list', 'tables')).not.toContain('berth');
  await network?.close();
});

it('leaves all connections open without a policy', async () => expect(await openPairs()).toBe(allPairs));

it.each<[string, Spec, string]>([
  ['a default deny of ingress', { podSelector: {}, policyTypes: ['Ingress'] }, ''],
  ['a default deny of egress', { podSelector: {}, policyTypes: ['Egress'] }, 'oa ob oc'],
  [
    'ingress from pods',
    { podSelector: app('a'), policyTypes: ['Ingress'], ingress: [{ from: [{ podSelector: app('b') }] }] },
    without('ca', 'oa'),
  ],
  [
    'ingress from namespaces',
    {
      podSelector: app('a'),
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: 's' } } }] }],
    },
    without('oa'),
  ],
  [
    'ingress from a block with holes',
    {
      ...{ podSelector: app('a'), policyTypes: ['Ingress'] },
      ingress: [{ from: [{ ipBlock: { cidr: '0.0.0.0/0', except: [`${podAddress(b)}/32`, '192.0.2.128/25'] } }] }],
    },
    without('ba'),
  ],
  [
    'ingress at a range of ports',
    { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ ports: [tcp(8000, 8080)] }] },
    allPairs,
  ],
  ['ingress at another port', { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ ports: [tcp(8000, 8079)] }] }, ''],
  [
    'ingress at a port by name',
    { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ ports: [{ protocol: 'TCP', port: { type: 1, strVal: 'web' } }] }] },
    allPairs,
  ],
  [
    'egress to pods',
    { podSelector: app('a'), policyTypes: ['Egress'], egress: [{ to: [{ podSelector: app('b') }], ports: [tcp(8080)] }] },
    without('ac'),
  ],
  [
    'egress to a port by name',
    {
      ...{ podSelector: app('a'), policyTypes: ['Egress'] },
      egress: [{ to: [{ podSelector: app('b') }], ports: [{ protocol: 'TCP', port: { type: 1, strVal: 'web' } }] }],
    },
    without('ac'),
  ],
])('carries out %s', async (_title, spec, expected) => {
  await put(spec);
  expect(await openPairs()).toBe(expected);
  await put(undefined);
  expect(await openPairs()).toBe(allPairs);
});

it('tells ports, and UDP from TCP', async () => {
  await put({
    podSelector: app('a'),
    policyTypes: ['Ingress'],
    ingress: [{ ports: [{ protocol: 'UDP', port: { type: 0, intVal: 5353 } }] }],
  });
  expect([await isOpen(network.pods[b]!, a), await isHeard(network.pods[b]!, a)]).toEqual([false, true]);
  await put({ podSelector: app('a'), policyTypes: ['Ingress'], ingress: [{ ports: [tcp(8081)] }] });
  expect([await isOpen(network.pods[b]!, a), await isOpen(network.pods[b]!, a, 8081)]).toEqual([false, true]);
});

it('adds policies up', async () => {
  await put({ podSelector: {}, policyTypes: ['Ingress'] });
  await put({ podSelector: app('a'), ingress: [{ from: [{ podSelector: app('c') }] }] }, 'shop/q');
  expect(await openPairs()).toBe('ca');
});

it('follows labels and peers that come and go', async () => {
  await put({ podSelector: app('a'), policyTypes: ['Ingress'], ingress: [{ from: [{ podSelector: app('b') }] }] });
  table.setPeer('2', { ...podOf(c), labels: { app: 'b' } });
  table.setPeer('1', undefined);
  await settle();
  expect(await openPairs()).toBe(without('ba', 'oa'));
  table.setPeer('1', podOf(b));
  table.setPeer('2', podOf(c));
  await settle();
  expect(await openPairs()).toBe(without('ca', 'oa'));
});

it('lets established connections go on, and errors about them through', async () => {
  const answer = await network.pods[b]!.ask('dial', { host: podAddress(a), port: 8080, keep: 'kept' });
  expect(answer.text).toContain('a');
  await put({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  expect((await network.pods[b]!.ask('say', { keep: 'kept', text: 'still' })).text).toBe('a:still');
  // The egress of b alone is open: a refusal of a's machine, which is ICMP for UDP, comes back.
  await put({ podSelector: app('a'), policyTypes: ['Egress'] });
  expect(await network.pods[b]!.ask('ask', { host: podAddress(a), port: 9 })).toMatchObject({ error: 'ECONNREFUSED' });
});

it('lets the node reach its pods, and pods names, whatever policies say; nothing else of the node', async () => {
  await put({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  expect(await isOpen(network.node, a)).toBe(true);
  expect([await isOpen(network.pods[a]!, gateway, 53), await isHeard(network.pods[a]!, gateway, 53)]).toEqual([true, true]);
  expect(await isOpen(network.pods[a]!, nodeAddress, 9000)).toBe(false);
  await put(undefined);
  expect(await isOpen(network.pods[a]!, nodeAddress, 9000)).toBe(true);
});

it('lets pods reach names at the address of the other resolvers, and no other port of it', async () => {
  const dnat = `add table ip other; add chain ip other pre { type nat hook prerouting priority -100; }; add rule ip other pre ip daddr ${names} dnat to ${clientAddress}`;
  network.inNode('nft', dnat);
  await put({ podSelector: {}, policyTypes: ['Egress'] });
  expect([await isOpen(network.pods[a]!, names, 53), await isHeard(network.pods[a]!, names, 53)]).toEqual([true, true]);
  expect(await isOpen(network.pods[a]!, names)).toBe(false);
  expect(await isOpen(network.pods[a]!, clientAddress, 53)).toBe(false);
  network.inNode('nft', 'delete table ip other');
});

it('lets a pod reach itself through a Service', async () => {
  const service = '10.43.0.77';
  network.inNode(
    'nft',
    `add table ip other; add chain ip other pre { type nat hook prerouting priority -100; }; add rule ip other pre ip daddr ${service} dnat to ${podAddress(a)}; add chain ip other post { type nat hook postrouting priority 100; }; add rule ip other post ip saddr ${podAddress(a)} ip daddr ${podAddress(a)} masquerade`,
  );
  await put({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  expect(await isOpen(network.pods[a]!, service)).toBe(true);
  expect(await isOpen(network.pods[b]!, service)).toBe(false);
  network.inNode('nft', 'delete table ip other');
});

it('closes a pod that nothing is known of, before it has a link', async () => {
  await put({ podSelector: app('none') });
  table.setLocal(podAddress(c), undefined);
  await settle();
  expect(await openPairs()).toBe(without('ac', 'bc', 'oc', 'ca', 'cb'));
  table.setLocal(podAddress(c), podOf(c));
  await settle();
  expect(await openPairs()).toBe(allPairs);
});

const elsewhere = '198.51.100.7';
/** Sends a datagram from a pod; nothing answers. */
const send = (family: 'udp4' | 'udp6', to: string, from: string): string =>
  `const s=require('dgram').createSocket('${family}');s.bind({address:'${from}'},()=>s.send('x',9,'${to}',()=>s.close()))`;
/** A pod sends to such an address only with a route that comes before that of its own loopback. */
const loopbackRoute = (verb: 'add' | 'del'): string[] => [
  ...['ip', 'route', verb, '127.0.0.9/32', 'via', '169.254.1.1', 'dev', 'eth0', 'table', 'local'],
];

it.each([
  ['the address of another pod', 'ip', `ip saddr ${podAddress(c)}`, send('udp4', podAddress(b), podAddress(c)), 'forward'],
  ['an address from elsewhere', 'ip', `ip saddr ${elsewhere}`, send('udp4', podAddress(b), elsewhere), 'forward'],
  ["the node's loopback addresses as destination", 'ip', 'udp dport 9', send('udp4', '127.0.0.9', podAddress(a)), 'input'],
  ['IPv6, to all on its link', 'ip6', 'udp dport 9', send('udp6', 'ff02::1%eth0', '::'), 'input'],
])('drops what a pod sends with %s', async (_title, family, what, program, hook) => {
  const seen = (chain: string): number =>
    Number(/packets (\d+)/.exec(network.inNode('nft', 'list', 'chain', family, 'other', chain))?.[1]);
  const count = (chain: string, at: string): string =>
    `add chain ${family} other ${chain} { type filter hook ${at}; }; add rule ${family} other ${chain} iifname pod1 ${what} counter`;
  const counters = [count('came', 'prerouting priority -400'), count('passed', `${hook} priority 100`)];
  network.inNode('nft', [`add table ${family} other`, ...counters].join('; '));
  for (const address of [podAddress(c), elsewhere]) network.inPod(a, 'ip', 'address', 'add', `${address}/32`, 'dev', 'eth0');
  network.inPod(a, ...loopbackRoute('add'));
  network.inPod(a, process.execPath, '-e', program);
  await expect.poll(() => seen('came')).toBe(1);
  expect(seen('passed')).toBe(0);
  // Without the table it gets through.
  network.inNode('nft', `flush chain inet berthpolicy_test_node1_${tableTurn()} arriving`);
  network.inPod(a, process.execPath, '-e', program);
  await expect.poll(() => seen('passed')).toBe(1);
  for (const address of [podAddress(c), elsewhere]) network.inPod(a, 'ip', 'address', 'del', `${address}/32`, 'dev', 'eth0');
  network.inPod(a, ...loopbackRoute('del'));
  network.inNode('nft', 'flush', 'ruleset');
  await expect.poll(() => network.inNode('nft', 'list', 'tables'), { timeout: 5_000 }).toContain('berthpolicy');
});

it('is there again within 5 s after nft flush ruleset, and stays as it was when another agent starts', async () => {
  await put({ podSelector: app('a'), policyTypes: ['Ingress'] });
  network.inNode('nft', 'flush', 'ruleset');
  expect(await isOpen(network.pods[b]!, a)).toBe(true);
  await expect.poll(() => isOpen(network.pods[b]!, a), { timeout: 5_000, interval: 200 }).toBe(false);
  expect(warnings.join()).toContain('another program removed the table of network policies');

  await stop();
  startTable();
  table.setPolicy('shop/p', policy({ podSelector: app('b'), policyTypes: ['Ingress'] }));
  // Built with what is known then: never without a policy.
  await settle();
  expect(await openPairs()).toBe(without('ab', 'cb', 'ob'));
});
