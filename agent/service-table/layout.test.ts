import { expect, it } from 'vitest';
import { checkSettings, rulesOfChain, type TableSettings } from './layout.ts';

const settings: TableSettings = {
  cluster: 'prod',
  node: 'node-1.example',
  podRanges: ['10.42.0.0/16'],
  serviceRanges: ['10.43.0.0/16'],
};

it.each([
  [{ cluster: 'a_b' }, '"a_b" is no name of a cluster'],
  [{ node: 'x; flush ruleset' }, '"x; flush ruleset" is no name of a node'],
  [{ podRanges: [] }, 'podRanges names no range'],
  [{ serviceRanges: ['10.43.0.0'] }, '"10.43.0.0" of serviceRanges is no IPv4 range'],
  [{ podRanges: ['fd00::/8'] }, '"fd00::/8" of podRanges is no IPv4 range'],
])('rejects %j', (wrong, message) => {
  expect(() => checkSettings({ ...settings, ...wrong })).toThrow(message);
});

it('chooses among as many endpoints as a chain is for, those for traffic from outside in places of their own', () => {
  expect(rulesOfChain({ scope: 'address', from: 'any', count: 3 })).toEqual([
    'ct mark set numgen random mod 3',
    'dnat ip to ip daddr . meta l4proto . th dport . ct mark map @endpoints',
  ]);
  expect(rulesOfChain({ scope: 'port', from: 'outside', count: 2 })).toEqual([
    'ct mark set numgen random mod 2 offset 1048576',
    'dnat ip to meta l4proto . th dport . ct mark map @port_endpoints',
  ]);
});
