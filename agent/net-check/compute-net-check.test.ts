import { describe, expect, it } from 'vitest';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import type { NetworkPlan } from '../pod-network/pod-network.ts';
import { computeNetCheck, type NetFacts, type PeerFacts } from './compute-net-check.ts';
import type { ProbeResult } from './dns-probe.ts';
import type { MachineFacts } from './machine-facts.ts';

const answered: ProbeResult = { result: 'answered' };
const silent: ProbeResult = { result: 'silent' };
const peer = (n: number, change: Partial<PeerFacts> = {}): PeerFacts => ({
  ...{ name: `h${n}`, address: `10.0.0.${n}`, gateway: `10.42.${n}.1`, range: parseAddressRange(`10.42.${n}.0/24`) },
  ...{ room: n === 3 ? 1_450 : 1_500, small: answered, large: answered },
  ...change,
});
const plan: NetworkPlan = {
  ...{
    range: '10.42.1.0/24',
    gateway: '10.42.1.1',
    gatewayLink: 'bgw1',
    mtu: 1450,
    small: new Map(),
    neighbours: [],
  },
  ...{ services: ['10.43.0.0/16'], tunnel: 'bvx1', table: 'berth-1', hasForward: '' },
};
const machine: MachineFacts = {
  ...{ forwards: true, accepts: true, hasGateway: true, tables: new Set(['berth-1', 'berth_1_0']) },
  routes: new Set(['default', '10.42.1.0/24', '10.43.0.0/16', '10.42.2.0/24', '10.42.3.0/24']),
  ways: new Map([
    ['10.42.2.1', { dev: 'eth0', gateway: '10.0.0.2' }],
    ['10.42.3.1', { dev: 'bvx1', gateway: '10.42.3.0' }],
  ]),
};
const state = { plan, why: '', domain: 'cluster.local', refused: [], damaged: new Set<string>() };
const facts: NetFacts = {
  ...{ nodeName: 'h1', state, machine, own: answered, peers: [peer(2), peer(3)] },
  ...{ table: { table: 'berth_1_0', waiting: 0 }, enginePods: [] },
};
const check = (change: Partial<NetFacts> = {}) => computeNetCheck({ ...facts, ...change });
const onMachine = (change: Partial<MachineFacts>) => check({ machine: { ...machine, ...change } });
/** "check: problem" of what is wrong; each has a remedy. */
const wrong = ({ items = [] }: ReturnType<typeof check>): string[] => {
  const found = items.filter(({ ok }) => !ok);
  for (const { remedy } of found) expect(remedy).toBeTruthy();
  return found.map((item) => `${item.check}: ${item.problem}`);
};

describe('a node', () => {
  it('with all that it is to have has nothing wrong, and tells its ways', () => {
    expect(check()).toEqual({
      ...{ nodeName: 'h1', podNetwork: 'routed', podCIDR: '10.42.1.0/24', mtu: 1450, enginePods: 0 },
      peers: [
        { nodeName: 'h2', gateway: '10.42.2.1', way: 'direct', reached: true, mtu: 1500 },
        { nodeName: 'h3', gateway: '10.42.3.1', way: 'tunnel', reached: true, mtu: 1450 },
      ],
      items: ['network', 'routes', 'firewall', 'services', 'names', 'mtu', 'nodes', 'pods'].map((name) => ({
        check: name,
        ok: true,
      })),
    });
  });

  it('without a network says why, and nothing else', () => {
    const found = check({ state: { ...state, plan: undefined, why: 'node h1 has no range of addresses for pods yet' } });
    expect(wrong(found)).toEqual(['network: node h1 has no range of addresses for pods yet']);
    expect(found.items).toHaveLength(1);
  });

  it('whose machine cannot be read says why', () =>
    expect(wrong(check({ machine: 'nft: not found' }))).toEqual([
      'network: routes and rules of the machine cannot be read: nft: not found',
    ]));

  it.each<[string, Partial<MachineFacts>, string[]]>([
    [
      'without routes',
      { routes: new Set(['default']), ways: new Map([['10.42.2.1', { dev: 'eth0', gateway: '10.0.0.254' }]]) },
      [
        'routes: the route for 10.42.1.0/24 is missing',
        'routes: the route for 10.43.0.0/16 is missing',
        "routes: the route to the pods of node h2 (10.42.2.0/24) is not the cluster's: it goes through eth0 to 10.0.0.254",
        "routes: the route to the pods of node h3 (10.42.3.0/24) is not the cluster's: there is none",
      ],
    ],
    ['without its gateway', { hasGateway: false }, ['routes: the address 10.42.1.1 is missing (link bgw1)']],
    ['that does not forward', { forwards: false }, ['firewall: the machine forwards no packets (net.ipv4.ip_forward is 0)']],
    [
      'with a flushed firewall',
      { accepts: false, tables: new Set() },
      [
        "firewall: the rules that accept the pods' packets (chain FORWARD) are missing",
        'firewall: the nftables table berth-1 is missing',
        'services: the nftables table of Services is not there',
      ],
    ],
  ])('%s says so', (_, change, problems) => expect(wrong(onMachine(change))).toEqual(problems));

  it.each<[string, NetFacts['table'], string]>([
    ['does not carry Services', undefined, 'services: Services are not carried'],
    ['builds the table of Services', { table: undefined, waiting: 0 }, 'services: the nftables table of Services is not there'],
    ['lags', { table: 'berth_1_0', waiting: 7 }, 'services: 7 changes of Services are not in force yet'],
  ])('that %s says so', (_, table, problem) => expect(wrong(check({ table }))).toEqual([problem]));

  it.each<[ProbeResult, string]>([
    [{ result: 'refused' }, 'names: the resolver at 10.42.1.1 does not run'],
    [silent, 'names: the resolver at 10.42.1.1 does not answer'],
    [
      { result: 'failed', why: 'there is no route to it' },
      'names: the resolver at 10.42.1.1 cannot be asked: there is no route to it',
    ],
  ])('whose resolver is %o says so', (own, problem) => expect(wrong(check({ own }))).toEqual([problem]));

  it('whose range is another one than that of its pods says so', () =>
    expect(wrong(check({ state: { ...state, movedTo: '10.42.7.0/24' } }))).toEqual([
      "network: the node's range is 10.42.7.0/24 now, and its pods are still in 10.42.1.0/24, where other nodes do not look for them: restart the agent",
    ]));

  it('names pods that are still in the other network, but not those that have to be', () => {
    const old = (count: number) => Array.from({ length: count }, (_, n) => ({ key: `a/p${n}`, staysThere: false }));
    expect(wrong(check({ enginePods: [{ key: 'a/port', staysThere: true }] }))).toEqual([]);
    const [one] = wrong(check({ enginePods: old(1) }));
    expect(one).toMatch(/do not reach them: a\/p0$/);
    expect(wrong(check({ enginePods: old(7) }))[0]).toMatch(/: a\/p0, a\/p1, a\/p2, a\/p3, a\/p4 and 2 more$/);
    expect(check({ enginePods: old(7) }).enginePods).toBe(7);
  });
});

describe('another node', () => {
  const seen = (change: Partial<PeerFacts>, n = 2) => check({ peers: [peer(n, { large: undefined, ...change })] });

  it('that is silent is not reached, and the remedy is that of the way to it', () => {
    expect(wrong(seen({ small: silent }))).toEqual([
      'nodes: node h2 is not reached: its gateway 10.42.2.1, directly to 10.0.0.2, does not answer',
    ]);
    expect(seen({ small: silent }).peers?.[0]?.reached).toBe(false);
    const remedyOf = (n: number) => seen({ small: silent }, n).items?.find(({ ok }) => !ok)?.remedy;
    expect(remedyOf(2)).toMatch(/packets of 10\.42\.2\.0\/24 pass/);
    expect(remedyOf(3)).toMatch(/UDP port 8472/);
  });

  it('whose resolver does not run is reached: its own check tells of that', () => {
    expect(wrong(seen({ small: { result: 'refused' } }))).toEqual([]);
    expect(seen({ small: { result: 'refused' } }).peers?.[0]?.reached).toBe(true);
  });

  it('that gets small packets only is told by its name', () =>
    expect(wrong(seen({ large: silent }))).toEqual([
      'mtu: packets of 1500 bytes, which pods send, do not get through to node h2, while small ones do',
    ]));

  it('behind a link with a smaller MTU is told with what it is, and what there is room for', () => {
    const learned = new Map([...machine.ways, ['10.42.3.1', { dev: 'bvx1', gateway: '10.42.3.0', mtu: 1_350 }]] as const);
    // Packets beyond it are sent in fragments.
    const found = check({ machine: { ...machine, ways: learned } });
    expect(wrong(found)).toEqual([
      "mtu: the network between this node and node h3 has an MTU of 1400: pods' packets may have 1350 bytes, not 1450",
    ]);
    expect(found.items?.find(({ ok }) => !ok)?.remedy).toMatch(/towards 10\.0\.0\.3 to 1400 and restart the agent$/);
    expect(found.peers?.map(({ mtu }) => mtu)).toEqual([1_500, 1_350]);
    const measured = { ...state, plan: { ...plan, small: new Map([['h2', 1_300]]) } };
    const bare = check({ state: measured, peers: [peer(2, { large: silent }), peer(3)] });
    expect(wrong(bare)).toEqual([
      "mtu: the network between this node and node h2 has an MTU of 1300: pods' packets may have 1300 bytes, not 1500",
    ]);
    // Nothing is put around packets on the direct way.
    expect(bare.items?.find(({ ok }) => !ok)?.remedy).toMatch(/towards 10\.0\.0\.2 to 1300 and restart the agent$/);
  });

  it('that drops damaged packets is told with the package that is missing', () => {
    const found = check({
      state: { ...state, damaged: new Set(['h3']) },
      peers: [peer(2), peer(3, { small: silent, large: undefined })],
    });
    expect(wrong(found)).toEqual([
      expect.stringMatching(/^nodes: packets through the tunnel reach node h3 with wrong checksums/),
    ]);
    expect(found.items?.find(({ ok }) => !ok)?.remedy).toMatch(/package ethtool/);
  });

  it('whose agent carries Services for ranges of before is told to restart it', () => {
    const found = check({ state: { ...state, isOutdated: true } });
    expect(wrong(found)).toEqual([
      "services: the cluster's ranges of addresses, or its domain, are others than when the agent started",
    ]);
    expect(found.items?.find(({ ok }) => !ok)?.remedy).toMatch(/^restart the agent/);
  });

  it('whose range is refused is told', () =>
    expect(wrong(check({ state: { ...state, refused: ['pods of node h4 cannot be reached from here: ...'] } }))).toEqual([
      'nodes: pods of node h4 cannot be reached from here: ...',
    ]));
});
