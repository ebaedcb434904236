import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { IPBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../api/generated/types.ts';
import { allows, type End } from '../../test/fakes/policy-oracle.ts';
import { PolicyTableModel } from '../../test/fakes/policy-table-model.ts';
import { compilePolicy } from './compile-policy.ts';
import type { PolicyPod } from './facts.ts';
import { PolicyContent } from './policy-content.ts';
import { renderDifference, renderInChunks } from './render-difference.ts';

// Few of everything, so that policies meet.
const oneOf = fc.constantFrom;
const labels = fc.record({ app: oneOf('a', 'b'), tier: oneOf('x', 'y') });
const selector = fc.oneof(
  fc.constant({}),
  fc.record({ matchLabels: fc.record({ app: oneOf('a', 'b') }) }),
  fc.record({
    matchExpressions: fc.array(
      fc.record({
        key: oneOf('app', 'tier', 'none'),
        operator: oneOf('In', 'NotIn', 'Exists', 'DoesNotExist'),
        values: fc.subarray(['a', 'x']),
      }),
      { minLength: 1, maxLength: 2 },
    ),
  }),
);
const namespaceSelector = fc.oneof(fc.constant({}), fc.record({ matchLabels: fc.record({ team: oneOf('s', 't') }) }));
const block = oneOf<IPBlock>(
  { cidr: '10.42.0.0/16', except: ['10.42.1.0/24', '10.42.0.4/30'] },
  { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] },
  { cidr: '0.0.0.0/0' },
  { cidr: '10.42.0.7/29' },
  { cidr: '192.0.2.0/24', except: ['192.0.2.0/25', '192.0.2.200/32'] },
  { cidr: 'fd00::/8' },
);
const peer: fc.Arbitrary<NetworkPolicyPeer> = fc.oneof(
  fc.record({ podSelector: selector }),
  fc.record({ namespaceSelector }),
  fc.record({ podSelector: selector, namespaceSelector }),
  fc.record({ ipBlock: block }),
);
const port: fc.Arbitrary<NetworkPolicyPort> = fc.oneof(
  fc.record({ protocol: oneOf('TCP', 'UDP') }),
  fc.record({ protocol: oneOf('TCP', 'UDP'), port: oneOf({ type: 0, intVal: 80 }, { type: 0, intVal: 81 }) }),
  fc.record({ protocol: oneOf('TCP', 'UDP'), port: oneOf({ type: 1, strVal: 'web' }, { type: 1, strVal: 'dns' }) }),
  fc.constant({ protocol: 'TCP', port: { type: 0, intVal: 80 }, endPort: 90 }),
);
const few = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(of, { maxLength: 2 });
const policy: fc.Arbitrary<NetworkPolicy> = fc
  .record({
    namespace: oneOf('n1', 'n2'),
    podSelector: selector,
    ingress: few(fc.record({ from: few(peer), ports: few(port) })),
    egress: few(fc.record({ to: few(peer), ports: few(port) })),
    policyTypes: fc.subarray(['Ingress', 'Egress']),
  })
  .map(({ namespace, ...spec }) => ({ metadata: { namespace, name: 'p' }, spec }));

const places = ['10.42.0.2', '10.42.0.5', '10.42.0.9', '10.42.1.2', '10.42.1.9'] as const;
const isLocal = (address: string): boolean => address.startsWith('10.42.0.');
const named = [
  { name: 'web', protocol: 'TCP', containerPort: 80 },
  { name: 'web', protocol: 'TCP', containerPort: 85 },
  { name: 'dns', protocol: 'UDP', containerPort: 81 },
];
const teams = { n1: 's', n2: 't' };
const pod = fc
  .record({ namespace: oneOf('n1' as const, 'n2' as const), labels, ports: fc.subarray(named) })
  .map((facts) => ({ ...facts, namespaceLabels: { team: teams[facts.namespace] } }));

type Change =
  | { readonly kind: 'policy'; readonly key: string; readonly policy: NetworkPolicy | undefined }
  | { readonly kind: 'pod'; readonly address: string; readonly pod: Omit<PolicyPod, 'addresses'> | undefined };
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('policy' as const), key: oneOf('1', '2', '3'), policy: fc.option(policy, { nil: undefined }) }),
  fc.record({ kind: fc.constant('pod' as const), address: oneOf(...places), pod: fc.option(pod, { nil: undefined }) }),
);

function setIn(content: PolicyContent, each: Change): void {
  if (each.kind === 'policy') {
    content.setPolicy(each.key, each.policy && compilePolicy(each.policy));
    return;
  }
  content.setPeer(each.address, each.pod && { ...each.pod, addresses: [each.address] });
  if (isLocal(each.address)) content.setLocal(each.address, each.pod ?? null);
}

it('lets through what the policies say, after any changes, and comes to the same content as when built at once', () => {
  fc.assert(
    fc.property(fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { maxLength: 10 }), (batches) => {
      const [content, model] = [new PolicyContent(), new PolicyTableModel()];
      for (const batch of batches) {
        for (const each of batch) setIn(content, each);
        model.apply(content.difference());
      }
      const last = new Map(batches.flat().map((each) => [each.kind === 'policy' ? each.key : each.address, each]));
      const [fresh, atOnce, rebuilt] = [new PolicyContent(), new PolicyTableModel(), new PolicyTableModel()];
      for (const each of [...last.values()].reverse()) setIn(fresh, each);
      atOnce.apply(fresh.whole());
      rebuilt.apply(content.whole());
      expect(model.content()).toEqual(atOnce.content());
      expect(rebuilt.content()).toEqual(atOnce.content());

      const policies = [...last.values()].flatMap((each) => (each.kind === 'policy' && each.policy ? [each.policy] : []));
      const ends: End[] = [...last.values()].flatMap((each) =>
        each.kind === 'pod' && each.pod ? [{ address: each.address, pod: each.pod }] : [],
      );
      const outside: End[] = [{ address: '192.0.2.1' }, { address: '192.0.2.130' }, { address: '10.42.9.9' }];
      for (const from of [...ends, ...outside])
        for (const to of [...ends, ...outside])
          for (const [protocol, port] of [
            ['TCP', 80],
            ['TCP', 85],
            ['TCP', 91],
            ['UDP', 81],
            ['UDP', 80],
          ] as const) {
            const packet = { from: from.address, to: to.address, protocol, port };
            if (!isLocal(packet.from) && !isLocal(packet.to)) continue;
            const wanted = allowsHere(policies, from, to, protocol, port);
            expect(model.lets(packet), JSON.stringify({ packet, policies })).toBe(wanted);
          }
    }),
    { numRuns: 60 },
  );
});

/** What this node has to look at: the egress of its own pods, and their ingress. */
function allowsHere(policies: readonly NetworkPolicy[], from: End, to: End, protocol: string, port: number): boolean {
  const types = (policy: NetworkPolicy, type: string): NetworkPolicy[] => {
    const { policyTypes = [], egress = [] } = policy.spec ?? {};
    const own = policyTypes.length > 0 ? policyTypes : egress.length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
    return own.includes(type) ? [{ ...policy, spec: { ...policy.spec, policyTypes: [type] } }] : [];
  };
  const counted = policies.flatMap((policy) => [
    ...(isLocal(from.address) ? types(policy, 'Egress') : []),
    ...(isLocal(to.address) ? types(policy, 'Ingress') : []),
  ]);
  return allows(counted, { from, to, protocol, port });
}

const web = (address: string, app = 'web'): PolicyPod => ({
  ...{ namespace: 'shop', labels: { app }, ports: [], namespaceLabels: {}, addresses: [address] },
});
const fromWeb: NetworkPolicy = {
  metadata: { namespace: 'shop', name: 'db' },
  spec: {
    podSelector: { matchLabels: { app: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [
      { from: [{ podSelector: { matchLabels: { app: 'web' } } }], ports: [{ protocol: 'TCP', port: { type: 0, intVal: 5432 } }] },
    ],
  },
};

it('changes one element when a peer comes, and nothing when nothing has changed', () => {
  const content = new PolicyContent();
  content.setPolicy('shop/db', compilePolicy(fromWeb));
  content.setLocal('10.42.0.2', web('10.42.0.2', 'db'));
  const [first] = [...content.whole().addedChains];
  const set = first!.sets[0]!.name;
  expect(first!.rules).toEqual([`ip saddr @${set} meta l4proto . th dport { tcp . 5432 } return`, 'drop']);
  content.setPeer('1', web('10.42.1.7'));
  expect(renderDifference('T', content.difference())).toBe(`add element inet T ${set} { 10.42.1.7 }`);
  content.setPeer('1', web('10.42.1.7'));
  expect(renderDifference('T', content.difference())).toBe('');
  content.setPeer('1', undefined);
  expect(renderDifference('T', content.difference())).toBe(`delete element inet T ${set} { 10.42.1.7 }`);
});

it('shares a chain between pods of the same policies, and takes it away with the last', () => {
  const content = new PolicyContent();
  content.setPolicy('shop/db', compilePolicy(fromWeb));
  content.setLocal('10.42.0.2', web('10.42.0.2', 'db'));
  content.setLocal('10.42.0.3', web('10.42.0.3', 'db'));
  expect(content.difference()).toMatchObject({ addedChains: [{}], addedSets: [{}] });
  content.setLocal('10.42.0.2', null);
  expect(content.difference()).toMatchObject({ removedChains: [], removed: [{}, {}] });
  content.setLocal('10.42.0.3', null);
  const { removedChains, removedSets } = content.difference();
  expect([removedChains[0], removedSets[0]]).toEqual([expect.stringMatching(/^ingress_/), expect.stringMatching(/^pods_/)]);
  expect(content.elementCount).toBe(0);
});

it('closes a pod that nothing is known of while there is any policy', () => {
  const [content, model] = [new PolicyContent(), new PolicyTableModel()];
  const packet = { from: '10.42.1.1', to: '10.42.0.2', protocol: 'TCP', port: 80 };
  content.setLocal('10.42.0.2', undefined);
  model.apply(content.difference());
  expect(model.lets(packet)).toBe(true);
  content.setPolicy('other/p', compilePolicy({ ...fromWeb, metadata: { namespace: 'other', name: 'p' } }));
  model.apply(content.difference());
  expect([model.lets(packet), model.lets({ ...packet, from: packet.to, to: packet.from })]).toEqual([false, false]);
  content.setPolicy('other/p', undefined);
  model.apply(content.difference());
  expect(model.lets(packet)).toBe(true);
});

it('is written in transactions of a bounded number of elements, sets and chains first', () => {
  const content = new PolicyContent();
  content.setPolicy('shop/db', compilePolicy(fromWeb));
  content.setLocal('10.42.0.2', web('10.42.0.2', 'db'));
  for (let i = 1; i <= 20; i++) content.setPeer(`${i}`, web(`10.42.1.${i}`));
  const chunks = [...renderInChunks('T', content.whole(), { elements: 8, characters: 1_000 })];
  expect(chunks[0]).toMatch(/^add set inet T pods_\w+ { type ipv4_addr; }; add chain inet T ingress_\w+; add rule/);
  expect(chunks.slice(1).map((chunk) => chunk.split(/, |; /).length)).toEqual([8, 8, 6]);
});

/** `count` blocks, each with as many ports as make up 2,500 pieces with it. */
const large = (namespace: string, app: string, count: number): NetworkPolicy => ({
  metadata: { namespace, name: app },
  spec: {
    podSelector: { matchLabels: { app } },
    policyTypes: ['Ingress'],
    ingress: Array.from({ length: count }, (_, i) => ({
      from: [{ ipBlock: { cidr: `10.${app.length}.${i}.0/24` } }],
      ports: Array.from({ length: 2_498 }, (__, at) => ({ protocol: 'TCP', port: { type: 0, intVal: 1 + 2 * at } })),
    })),
  },
});
const fromBlocks = (namespace: string, count: number): NetworkPolicy => ({
  metadata: { namespace, name: 'bb' },
  spec: { ingress: [{ from: Array.from({ length: count }, (_, i) => ({ ipBlock: { cidr: `10.${i}.0.0/24` } })) }] },
});
const inNamespace = (namespace: string, app: string) => ({ ...{ namespace, labels: { app }, ports: [] } });
const verdictAt = (content: PolicyContent, address: string): string | undefined =>
  [...content.whole().added].find(({ set, key }) => set === 'ingress' && key === address)?.value.split('_')[0];

it('closes a pod alone whose policies have more than 10,000 pieces', () => {
  const content = new PolicyContent();
  content.setPolicy('shop/a', compilePolicy(large('shop', 'a', 5)));
  content.setPolicy('shop/bb', compilePolicy(large('shop', 'bb', 4)));
  content.setLocal('10.42.0.2', inNamespace('shop', 'a'));
  content.setLocal('10.42.0.3', inNamespace('shop', 'bb'));
  expect(['10.42.0.2', '10.42.0.3'].map((address) => verdictAt(content, address))).toEqual(['drop', 'jump ingress']);
  expect(content.closedPods()).toEqual([
    { address: '10.42.0.2', namespace: 'shop', direction: 'ingress', why: 'oversized', policies: ['shop/a'] },
  ]);
  // One that all is allowed for is open, whatever else is.
  content.setPolicy('shop/open', compilePolicy({ metadata: { namespace: 'shop' }, spec: { ingress: [{}] } }));
  expect(verdictAt(content, '10.42.0.2')).toBe(undefined);
});

it('closes further pods of a namespace whose chains have 50,000 pieces, and opens them when there is room', () => {
  const content = new PolicyContent();
  const apps = Array.from({ length: 6 }, (_, i) => 'x'.repeat(i + 1));
  for (const [i, app] of apps.entries()) {
    content.setPolicy(`shop/${app}`, compilePolicy(large('shop', app, 4)));
    content.setLocal(`10.42.0.${i}`, inNamespace('shop', app));
  }
  content.setPolicy('other/x', compilePolicy(large('other', 'x', 4)));
  content.setLocal('10.42.0.9', inNamespace('other', 'x'));
  // Shares the first's chain.
  content.setLocal('10.42.0.8', inNamespace('shop', 'x'));
  const verdicts = () => [0, 4, 5, 9, 8].map((at) => verdictAt(content, `10.42.0.${at}`));
  expect(verdicts()).toEqual(['jump ingress', 'jump ingress', 'drop', 'jump ingress', 'jump ingress']);
  expect(content.closedPods()).toMatchObject([{ address: '10.42.0.5', why: 'crowded' }]);
  content.setLocal('10.42.0.0', null);
  expect(verdicts()[2]).toBe('drop');
  content.setLocal('10.42.0.8', null);
  expect([verdicts()[2], content.closedPods()]).toEqual(['jump ingress', []]);
});

/** Lets in pods of all namespaces with a label of their own. */
const wide = (namespace: string, key: string): NetworkPolicy => ({
  metadata: { namespace, name: key },
  spec: {
    podSelector: { matchLabels: { app: key } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ namespaceSelector: {}, podSelector: { matchExpressions: [{ key, operator: 'DoesNotExist' }] } }] }],
  },
});

const setPeers = (content: PolicyContent, from: number, to: number): void => {
  for (let i = from; i < to; i++) content.setPeer(`${i}`, web(`10.42.${1 + Math.floor(i / 250)}.${i % 250}`));
};

it('closes pods whose namespace has too many peers, names the policies, and opens them when there are far fewer', () => {
  const [content, model] = [new PolicyContent({ namespace: 250, node: 10_000, always: 10 }), new PolicyTableModel()];
  const apps = ['a', 'b', 'c'];
  for (const [i, app] of apps.entries()) {
    content.setPolicy(`shop/${app}`, compilePolicy(wide('shop', app)));
    content.setLocal(`10.42.0.${i}`, inNamespace('shop', app));
  }
  const enters = (): boolean[] =>
    apps.map((_, i) => model.lets({ from: '10.42.1.1', to: `10.42.0.${i}`, protocol: 'TCP', port: 80 }));
  setPeers(content, 0, 80);
  model.apply(content.difference());
  expect(enters()).toEqual([true, true, true]);
  // Peers that come later count as well, and another namespace has room of its own.
  content.setPolicy('other/a', compilePolicy(wide('other', 'a')));
  content.setLocal('10.42.0.9', inNamespace('other', 'a'));
  setPeers(content, 80, 100);
  model.apply(content.difference());
  expect(enters()).toEqual([true, true, false]);
  expect(content.closedPods()).toMatchObject([{ address: '10.42.0.2', why: 'crowded', policies: ['shop/c'] }]);
  expect(content.pieceCount).toBeLessThanOrEqual(250 + 102);
  for (let i = 50; i < 100; i++) content.setPeer(`${i}`, undefined);
  model.apply(content.difference());
  expect(enters()).toEqual([true, true, true]);
  expect(content.closedPods()).toEqual([]);
});

it('bounds what all namespaces of a node have, and leaves those that need little their room', () => {
  const content = new PolicyContent({ namespace: 250, node: 500, always: 60 });
  setPeers(content, 0, 100);
  for (let i = 0; i < 20; i++) {
    content.setPolicy(`n${i}/a`, compilePolicy(wide(`n${i}`, `key${i}`)));
    content.setLocal(`10.42.0.${i}`, inNamespace(`n${i}`, `key${i}`));
  }
  content.difference();
  expect(content.closedPods()).toHaveLength(16);
  expect(content.pieceCount).toBeLessThanOrEqual(500);
  content.setPolicy('small/bb', compilePolicy(fromBlocks('small', 40)));
  content.setLocal('10.42.0.99', inNamespace('small', 'bb'));
  expect([verdictAt(content, '10.42.0.99'), content.closedPods().length]).toEqual(['jump ingress', 16]);
  setPeers(content, 100, 5_000);
  content.difference();
  expect(content.elementCount).toBeLessThan(700);
  expect(content.closedPods()).toHaveLength(20);
});

it('cuts the chains of a table that is built into transactions of a bounded length', () => {
  const content = new PolicyContent();
  for (const [i, app] of ['a', 'bb', 'ccc'].entries()) {
    content.setPolicy(`shop/${app}`, compilePolicy(large('shop', app, 1)));
    content.setLocal(`10.42.0.${i}`, inNamespace('shop', app));
  }
  const chunks = [...renderInChunks('T', content.whole(), { elements: 100, characters: 80_000 })];
  expect(chunks.map((chunk) => chunk.match(/add (chain|element)/g)?.join())).toEqual([
    'add chain,add chain',
    'add chain',
    'add element,add element',
  ]);
});
