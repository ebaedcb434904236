import { describe, expect, it } from 'vitest';
import { fromJson } from '../../codec/json.ts';
import type { NetworkPolicy } from '../../generated/types.ts';
import type { JsonObject } from '../../meta/merge-patch.ts';
import { kindNamed, kindOf } from '../index.ts';
import type { Kind } from '../kind.ts';

const kind = kindNamed('NetworkPolicy');
const { apiVersion } = kind;

/** A policy as the server stores it. */
function policyOf(spec?: JsonObject): NetworkPolicy {
  const json: JsonObject = {
    apiVersion,
    kind: 'NetworkPolicy',
    metadata: { name: 'p', namespace: 'default' },
    ...(spec && { spec }),
  };
  const object = fromJson<NetworkPolicy>(kind as Kind, json);
  kind.defaults(object);
  return object;
}
const refused = (spec?: JsonObject): string[] => kind.validate(policyOf(spec)).map(({ field }) => field);
const port = (value: JsonObject): JsonObject => ({ ingress: [{ ports: [value] }] });
const from = (...peers: JsonObject[]): JsonObject => ({ ingress: [{ from: peers }] });
const block = (cidr: string, ...except: string[]): JsonObject => from({ ipBlock: { cidr, except } });
const AT = 'spec.ingress[0].from[0]';
const PORT = 'spec.ingress[0].ports[0]';
const noOperator = { matchExpressions: [{ key: 'a', operator: 'Like' }] };

describe('a network policy', () => {
  it.each<[string, JsonObject | undefined, string[]]>([
    ['nothing', undefined, []],
    ['no rules', { podSelector: {} }, []],
    ['a rule that allows all', { podSelector: {}, ingress: [{}], egress: [{}] }, []],
    ['peers of all types', from({ podSelector: {} }, { namespaceSelector: {} }, { podSelector: {}, namespaceSelector: {} }), []],
    ['an empty peer', from({}), [AT]],
    ['ipBlock beside podSelector', from({ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }), [AT]],
    ['ipBlock beside namespaceSelector', from({ namespaceSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }), [AT]],
    ['an empty peer of egress', { egress: [{ to: [{}] }] }, ['spec.egress[0].to[0]']],
    ['selectors that are none', from({ podSelector: noOperator }), [`${AT}.podSelector.matchExpressions[0].operator`]],
    [
      'a namespace selector that is none',
      from({ namespaceSelector: noOperator }),
      [`${AT}.namespaceSelector.matchExpressions[0].operator`],
    ],
    ['a pod selector that is none', { podSelector: noOperator }, ['spec.podSelector.matchExpressions[0].operator']],
    ['a block', block('10.0.0.0/8', '10.1.0.0/16', '10.2.3.4/32'), []],
    ['a block of IPv6', block('2001:db8::/32', '2001:db8:1::/48'), []],
    ['a block with bits behind its length', block('10.1.2.3/8', '10.9.9.9/16'), []],
    ['a block without cidr', from({ ipBlock: {} }), [`${AT}.ipBlock.cidr`]],
    ['an address for a block', block('10.0.0.1'), [`${AT}.ipBlock.cidr`]],
    ['a text for a block', block('all', '10.0.0.0/8'), [`${AT}.ipBlock.cidr`]],
    ['a hole that is no range', block('10.0.0.0/8', '10.1.1.1'), [`${AT}.ipBlock.except[0]`]],
    ['a hole outside', block('10.0.0.0/8', '10.1.0.0/16', '11.0.0.0/16'), [`${AT}.ipBlock.except[1]`]],
    ['a hole as large as the block', block('10.0.0.0/8', '10.0.0.0/8'), [`${AT}.ipBlock.except[0]`]],
    ['a hole larger than the block', block('10.1.0.0/16', '10.0.0.0/8'), [`${AT}.ipBlock.except[0]`]],
    ['a hole of the other version', block('10.0.0.0/8', 'fd00::/64'), [`${AT}.ipBlock.except[0]`]],
    ['a range of ports', port({ port: 80, endPort: 90 }), []],
    ['a range of one port', port({ port: 80, endPort: 80 }), []],
    ['a port by name', port({ port: 'http' }), []],
    ['a protocol alone', port({ protocol: 'UDP' }), []],
    ['port 0', port({ port: 0 }), [`${PORT}.port`]],
    ['port 65536', port({ port: 65_536 }), [`${PORT}.port`]],
    ['a name that is none', port({ port: 'Http' }), [`${PORT}.port`]],
    ['an end before the port', port({ port: 80, endPort: 79 }), [`${PORT}.endPort`]],
    ['an end that is no port', port({ port: 80, endPort: 65_536 }), [`${PORT}.endPort`]],
    ['an end with a port by name', port({ port: 'http', endPort: 90 }), [`${PORT}.endPort`]],
    ['an end without a port', port({ endPort: 90 }), [`${PORT}.endPort`]],
    ['SCTP', port({ port: 80, protocol: 'SCTP' }), []],
    ['a protocol that does not exist', port({ port: 80, protocol: 'tcp' }), [`${PORT}.protocol`]],
    ['an empty protocol', port({ port: 80, protocol: '' }), [`${PORT}.protocol`]],
    ['a port of egress', { egress: [{ ports: [{ port: -1 }] }] }, ['spec.egress[0].ports[0].port']],
    ['both types', { policyTypes: ['Ingress', 'Egress'] }, []],
    ['a type that does not exist', { policyTypes: ['ingress'] }, ['spec.policyTypes[0]']],
    ['three types', { policyTypes: ['Ingress', 'Egress', 'Ingress'] }, ['spec.policyTypes']],
  ])('is judged when it has %s', (_title, spec, expected) => expect(refused(spec)).toEqual(expected));

  it('isolates for Ingress by default, and for Egress where it has egress rules', () => {
    expect(policyOf().spec).toEqual({ podSelector: {}, policyTypes: ['Ingress'] });
    expect(policyOf({ ingress: [{}] }).spec?.policyTypes).toEqual(['Ingress']);
    expect(policyOf({ egress: [{}] }).spec?.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(policyOf({ egress: [{}], policyTypes: ['Egress'] }).spec?.policyTypes).toEqual(['Egress']);
  });

  it('has TCP as the protocol of ports by default', () => {
    const { spec } = policyOf({ ingress: [{ ports: [{ port: 80 }] }], egress: [{ ports: [{ protocol: 'UDP' }, {}] }] });
    expect(spec?.ingress?.[0]?.ports?.map(({ protocol }) => protocol)).toEqual(['TCP']);
    expect(spec?.egress?.[0]?.ports?.map(({ protocol }) => protocol)).toEqual(['UDP', 'TCP']);
  });

  it('is stored with a warning of each port with SCTP', () => {
    expect(kind.warnings?.(policyOf())).toEqual([]);
    expect(kind.warnings?.(policyOf({ ...port({ port: 1 }), egress: [{ ports: [{}, { protocol: 'SCTP' }] }] }))).toEqual([
      "spec.egress[0].ports[1].protocol is not acted on: SCTP is not carried by Berth's network",
    ]);
  });

  it('shows what kubectl shows', () => {
    expect(kindOf('netpol')).toBe(kind);
    const cells = (spec?: JsonObject) => kind.columns.map(({ name, cell }) => [name, cell(policyOf(spec), new Date())]);
    expect(cells().slice(0, 2)).toEqual([
      ['NAME', 'p'],
      ['POD-SELECTOR', '<none>'],
    ]);
    const podSelector = {
      matchLabels: { b: '2', a: '1' },
      matchExpressions: [{ key: 'c', operator: 'NotIn', values: ['y', 'x'] }],
    };
    expect(cells({ podSelector })[1]).toEqual(['POD-SELECTOR', 'a=1,b=2,c notin (x,y)']);
    expect(kind.columns.map(({ name }) => name)).toEqual(['NAME', 'POD-SELECTOR', 'AGE']);
  });
});
