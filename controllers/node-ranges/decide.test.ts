import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Node } from '../../api/generated/types.ts';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import { decideRanges, type Given, parseNodeRanges } from './decide.ts';

const ranges = parseNodeRanges();
const nodeOf = (name: string, podCIDR = '', seconds = 0): Node => ({
  metadata: { name, uid: `uid-${name}`, creationTimestamp: { seconds, nanos: 0 } },
  spec: { ...(podCIDR && { podCIDR, podCIDRs: [podCIDR] }) },
});
const none = new Map<string, Given>();

function plan(nodes: readonly Node[], given: ReadonlyMap<string, Given> = none, of = ranges): [string | undefined, string][] {
  return decideRanges(of, nodes, given).give.map(({ node, range }) => [node.metadata?.name, range.text]);
}

describe('the range of a node', () => {
  it('is the next one, in the order of the nodes’ creation', () => {
    expect(plan([nodeOf('c', '', 3), nodeOf('a', '', 1), nodeOf('b', '', 2)])).toEqual([
      ['a', '10.42.0.0/24'],
      ['b', '10.42.1.0/24'],
      ['c', '10.42.2.0/24'],
    ]);
    expect(plan([nodeOf('a', '10.42.7.0/24'), nodeOf('b')])).toEqual([['b', '10.42.8.0/24']]);
  });

  it('is one that was given before only when the others are used up', () => {
    const of = parseNodeRanges({ clusterCidr: '10.42.0.0/22' });
    expect(plan([nodeOf('c', '10.42.2.0/24'), nodeOf('d')], none, of)).toEqual([['d', '10.42.3.0/24']]);
    expect(plan([nodeOf('d', '10.42.3.0/24'), nodeOf('e')], none, of)).toEqual([['e', '10.42.0.0/24']]);
  });

  it('has no address of another’s, also of another size, and none of a node that is on its way out', () => {
    const of = parseNodeRanges({ clusterCidr: '10.42.0.0/22' });
    const leaving = nodeOf('l', '10.42.3.0/24');
    leaving.metadata = { ...leaving.metadata, deletionTimestamp: { seconds: 1, nanos: 0 } };
    expect(plan([nodeOf('a', '10.42.0.0/23'), nodeOf('b', '10.42.2.128/26'), leaving, nodeOf('c')], none, of)).toEqual([]);
    expect(
      decideRanges(of, [nodeOf('a', '10.0.0.0/8'), nodeOf('c')], none).without.map(({ metadata }) => metadata?.name),
    ).toEqual(['c']);
    expect(plan([nodeOf('a', '192.0.2.0/24'), nodeOf('v', 'fd00::/64'), nodeOf('c')], none, of)).toEqual([['c', '10.42.0.0/24']]);
  });

  it('is the same again where it was given already, but not for a later node of the name', () => {
    const given = new Map([['a', { uid: 'uid-a', range: parseAddressRange('10.42.9.0/24') }]]);
    expect(plan([nodeOf('a'), nodeOf('b')], given)).toEqual([
      ['a', '10.42.9.0/24'],
      ['b', '10.42.10.0/24'],
    ]);
    const later = { ...nodeOf('a'), metadata: { name: 'a', uid: 'other' } };
    expect(plan([later], given)).toEqual([['a', '10.42.0.0/24']]);
  });

  it.each([
    [{ clusterCidr: '10.42.0.0' }, '--cluster-cidr "10.42.0.0" must be a range of addresses'],
    [{ clusterCidr: 'fd00::/48' }, 'IPv6 is not there yet'],
    [{ clusterCidr: '10.0.0.0/8', nodeCidrMaskSize: 25 }, '--node-cidr-mask-size 25 must be between 8 and 24 for 10.0.0.0/8'],
  ])('is of a range that makes sense: %j', (settings, why) => expect(() => parseNodeRanges(settings)).toThrow(why));

  it('is never two nodes’, whatever comes, goes and is written', () => {
    const step = fc.record({ name: fc.constantFrom(...'abcdefg'), what: fc.constantFrom('come', 'go', 'look', 'lost', 'shown') });
    const of = parseNodeRanges({ clusterCidr: '10.42.0.0/22' });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
        /** As the server has them, and as the informer shows them. */
        const [stored, shown] = [new Map<string, Node>(), new Map<string, Node>()];
        const given = new Map<string, Given>();
        let uid = 0;
        const show = (): void => {
          shown.clear();
          for (const [name, node] of stored) shown.set(name, node);
          for (const [name, each] of given) {
            const node = shown.get(name);
            if (node?.metadata?.uid !== each.uid || node.spec?.podCIDR) given.delete(name);
          }
        };
        for (const { name, what } of steps) {
          if (what === 'come' && !stored.has(name)) stored.set(name, { metadata: { name, uid: String(++uid) }, spec: {} });
          if (what === 'go') stored.delete(name);
          if (what === 'shown') show();
          if (what !== 'look' && what !== 'lost') continue;
          for (const { node, range } of decideRanges(of, [...shown.values()], given).give) {
            const key = node.metadata?.name ?? '';
            given.set(key, { uid: node.metadata?.uid ?? '', range });
            const target = stored.get(key);
            if (what === 'lost' || target?.metadata?.uid !== node.metadata?.uid || target?.spec?.podCIDR) continue;
            stored.set(key, { ...target, spec: { podCIDR: range.text } });
          }
          const held = [...stored.values()].flatMap(({ spec }) => spec?.podCIDR || []);
          expect(new Set(held).size).toBe(held.length);
        }
        show();
        expect(plan([...shown.values()], given, of).length).toBe(
          Math.min(
            [...shown.values()].filter(({ spec }) => !spec?.podCIDR).length,
            4 - [...shown.values()].filter(({ spec }) => spec?.podCIDR).length,
          ),
        );
      }),
      { numRuns: 300 },
    );
  });
});
