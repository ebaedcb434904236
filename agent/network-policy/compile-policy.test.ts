import { describe, expect, it } from 'vitest';
import type { NetworkPolicy } from '../../api/generated/types.ts';
import { compileGroup } from './compile-group.ts';
import { compilePolicy } from './compile-policy.ts';
import type { PodFacts } from './facts.ts';
import { addressesOf, mergeRanges, subtractRanges } from './ranges.ts';

type Spec = NonNullable<NetworkPolicy['spec']>;
const compiled = (spec: Spec) => compilePolicy({ metadata: { namespace: 'shop', name: 'p' }, spec });
const pod: PodFacts = {
  ...{ namespace: 'shop', labels: {} },
  ports: [{ name: 'http', protocol: 'TCP', containerPort: 8080 }],
};
/** The rules of a pod's chain without the last, or what becomes of all its connections. */
function rulesOf(spec: Spec, direction: 'ingress' | 'egress' = 'ingress'): unknown {
  const rules = compiled(spec)[direction];
  const isolation = rules === undefined ? 'not isolated' : (compileGroup(direction, rules, pod) ?? 'open');
  return typeof isolation === 'string' ? isolation : isolation.rules.slice(0, -1);
}
const ports = (...list: NonNullable<NonNullable<Spec['ingress']>[0]['ports']>): Spec => ({ ingress: [{ ports: list }] });
const from = (...peers: NonNullable<NonNullable<Spec['ingress']>[0]['from']>): Spec => ({ ingress: [{ from: peers }] });

describe('a policy', () => {
  it.each<[string, Spec, unknown]>([
    ['without rules', {}, 'closed'],
    ['with a rule that allows all', { ingress: [{}] }, 'open'],
    ['of egress alone', { policyTypes: ['Egress'] }, 'not isolated'],
    ['with a block of all addresses', from({ ipBlock: { cidr: '0.0.0.0/0' } }), 'open'],
    [
      'with a block and holes',
      from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/16', '10.255.255.255/32'] } }),
      ['ip saddr { 10.1.0.0-10.255.255.254 } return'],
    ],
    ['with a block of IPv6', from({ ipBlock: { cidr: 'fd00::/8' } }), 'closed'],
    [
      'with overlapping ports',
      ports(
        { port: { type: 0, intVal: 80 }, endPort: 85 },
        { port: { type: 0, intVal: 84 }, endPort: 90 },
        { protocol: 'UDP' },
        { protocol: 'SCTP', port: { type: 0, intVal: 7 } },
      ),
      ['meta l4proto . th dport { sctp . 7, tcp . 80-90, udp . 0-65535 } return'],
    ],
    ['with a port by name', ports({ port: { type: 1, strVal: 'http' } }), ['meta l4proto . th dport { tcp . 8080 } return']],
    ['with a name of another protocol', ports({ protocol: 'UDP', port: { type: 1, strVal: 'http' } }), 'closed'],
  ])('%s compiles to its rules', (_title, spec, expected) => expect(rulesOf(spec)).toEqual(expected));

  it('of egress asks for ports by name in a set of addresses and ports', () => {
    expect(rulesOf({ egress: [{ ports: [{ port: { type: 1, strVal: 'http' } }] }] }, 'egress')).toEqual([
      expect.stringMatching(/^ip daddr \. meta l4proto \. th dport @ports_\w{16} return$/),
    ]);
    const to = [{ ipBlock: { cidr: '10.42.0.0/16' } }];
    expect(rulesOf({ egress: [{ to, ports: [{ port: { type: 1, strVal: 'http' } }] }] }, 'egress')).toEqual([
      expect.stringMatching(
        /^ip daddr \{ 10\.42\.0\.0-10\.42\.255\.255 \} ip daddr \. meta l4proto \. th dport @ports_\w{16} return$/,
      ),
    ]);
  });

  it.each<[string, Spec, unknown]>([
    ['a peer that is empty', from({}), 'closed'],
    [
      'a selector with an unknown operator',
      from({ podSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } }),
      'closed',
    ],
    ['a block that is none', from({ ipBlock: { cidr: '10.0.0.0' } }), 'closed'],
    ['a hole that is none', from({ ipBlock: { cidr: '10.0.0.0/8', except: ['all'] } }), 'closed'],
    ['an unknown protocol', ports({ protocol: 'QUIC' }), 'closed'],
    ['a port that is none', ports({ port: { type: 0, intVal: 70_000 } }), 'closed'],
    ['a range that ends before it begins', ports({ port: { type: 0, intVal: 80 }, endPort: 79 }), 'closed'],
    ['an unknown type', { policyTypes: ['Sideways'], ingress: [] }, 'closed'],
  ])('fails closed with %s', (_title, spec, expected) => expect(rulesOf(spec)).toEqual(expected));

  it('isolates all pods of the namespace, and allows nothing, where its pod selector is not understood', () => {
    const policy = compiled({ podSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] }, ingress: [{}] });
    expect([policy.selects({ a: 'b' }), policy.ingress]).toEqual([true, []]);
  });
});

it('peers by pod selector alone are those of the namespace of the policy, also beside other namespaces', () => {
  const policy = compiled(
    from({ podSelector: { matchLabels: { app: 'a' } } }, { namespaceSelector: { matchLabels: { team: 't' } }, podSelector: {} }),
  );
  const group = policy.ingress?.[0]?.peers?.pods;
  const has = (namespace: string, app: string, team: string) =>
    group?.has({ namespace, labels: { app }, namespaceLabels: { team }, ports: [], addresses: [] });
  expect([has('shop', 'a', 's'), has('shop', 'b', 's'), has('other', 'a', 's'), has('other', 'b', 't')]).toEqual([
    ...[true, false, false, true],
  ]);
  expect(group?.namespace).toBeUndefined();
});

describe('ranges', () => {
  it('are merged and cut', () => {
    expect(
      mergeRanges([
        { first: 5, last: 9 },
        { first: 1, last: 4 },
        { first: 11, last: 12 },
      ]),
    ).toEqual([
      { first: 1, last: 9 },
      { first: 11, last: 12 },
    ]);
    expect(
      subtractRanges({ first: 1, last: 9 }, [
        { first: 0, last: 2 },
        { first: 5, last: 5 },
        { first: 9, last: 20 },
      ]),
    ).toEqual([
      { first: 3, last: 4 },
      { first: 6, last: 8 },
    ]);
    expect(subtractRanges({ first: 1, last: 2 }, [{ first: 0, last: 9 }])).toEqual([]);
  });

  it('are read of blocks, whatever bits stand behind the length', () => {
    expect(addressesOf('0.0.0.9/29')).toEqual({ first: 8, last: 15 });
    expect(addressesOf('fd00::/8')).toBeUndefined();
  });
});

it('asks a pod for few labels, however many selectors a rule has', () => {
  let reads = 0;
  const labels = new Proxy<Record<string, string>>(
    { app: 'a1999' },
    {
      getOwnPropertyDescriptor(target, key) {
        reads++;
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
    },
  );
  const peers = Array.from({ length: 2_000 }, (_, i) => ({ podSelector: { matchLabels: { app: `a${i}` } } }));
  const group = compiled(from(...peers, { podSelector: { matchExpressions: [{ key: 'tier', operator: 'Exists' }] } }))
    .ingress?.[0]?.peers?.pods;
  const has = (own: Record<string, string>) =>
    group?.has({ namespace: 'shop', ports: [], namespaceLabels: {}, addresses: [], labels: own });
  expect([has(labels), has({ app: 'b' }), has({ tier: 'x' })]).toEqual([true, false, true]);
  expect(reads).toBeLessThan(10);
});
