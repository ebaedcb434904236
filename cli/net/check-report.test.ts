import { expect, it } from 'vitest';
import type { NodeCheck } from './check-nodes.ts';
import { checkJson, checkTable, isRouted, problemsOf } from './check-report.ts';

const checks = ['network', 'routes', 'firewall', 'services', 'names', 'mtu', 'nodes', 'pods'];
const peer = (nodeName: string, way: string, reached = true) => ({ nodeName, gateway: '10.42.1.1', way, reached });
const routed = (nodeName: string, wrong: Record<string, string> = {}, peers = [peer('b', 'direct')]): NodeCheck => ({
  nodeName,
  check: {
    ...{ nodeName, podNetwork: 'routed', podCIDR: '10.42.0.0/24', mtu: 1450, peers, enginePods: 0 },
    // What is false is not on the wire.
    items: checks.map((check) =>
      check in wrong ? { check, problem: wrong[check], remedy: `mend ${check}` } : { check, ok: true },
    ),
  },
});
const engine: NodeCheck = { nodeName: 'e', check: { nodeName: 'e', podNetwork: 'engine', enginePods: 3 } };
const away: NodeCheck = { nodeName: 'x', error: 'node "x" is not connected' };

const heading = 'NODE   NETWORK   POD-CIDR       MTU    ROUTES   FIREWALL   SERVICES   NAMES   NODES   ENGINE-PODS\n';

it('is one row for a node whose network is whole', () => {
  expect(checkTable([routed('a')])).toBe(
    `${heading.replace('ROUTES  ', 'ROUTES    ')}a      routed    10.42.0.0/24   1450   1 direct   ok         ok         ok      1/1     0\n`,
  );
  expect(problemsOf([routed('a')])).toEqual([]);
});

it.each([
  [[], 'ok', '0/0'],
  [[peer('b', 'tunnel'), peer('c', 'tunnel')], '2 tunnel', '2/2'],
  [[peer('b', 'tunnel'), peer('c', 'direct', false)], '1 direct, 1 tunnel', '1/2'],
])('tells the ways to %j as "%s"', (peers, ways, reached) => {
  const [, row = ''] = checkTable([routed('a', {}, peers)]).split('\n');
  expect(row.split(/ {3,}/).slice(4, 9)).toEqual([ways, 'ok', 'ok', 'ok', reached]);
});

it('tells below the rows what is wrong, and what to do', () => {
  const table = checkTable([routed('a', { routes: 'a route is missing', mtu: 'packets are lost' }), away, engine]);
  expect(
    table
      .split('\n')
      .slice(1, 4)
      .map((row) => row.split(/ {3,}/)),
  ).toEqual([
    ['a', 'routed', '10.42.0.0/24', '1450 failed', 'failed', 'ok', 'ok', 'ok', '1/1', '0'],
    ['x', 'unknown', '-', '-', '-', '-', '-', '-', '-', '-'],
    ['e', 'engine', '-', '-', '-', '-', '-', '-', '-', '3'],
  ]);
  expect(table).toContain('\n\na: a route is missing\n  mend routes\n\na: packets are lost\n  mend mtu\n');
  expect(table).toMatch(/\nx: it does not answer: node "x" is not connected\n {2}"berth get nodes" says/);
});

it('tells little of a node without a network', () => {
  const check = { nodeName: 'a', podNetwork: 'routed', items: [{ check: 'network', problem: 'no range', remedy: 'wait' }] };
  const [, row = ''] = checkTable([{ nodeName: 'a', check }]).split('\n');
  expect(row.split(/ {3,}/)).toEqual(['a', 'routed', '-', '-', '-', '-', '-', '-', '-', '0']);
});

it('has all of it for programs', () => {
  expect(checkJson([routed('a', { names: 'silent' }), away])).toMatchObject({
    ...{ kind: 'NetCheckList', ok: false },
    items: [
      {
        ...{ nodeName: 'a', podNetwork: 'routed', podCIDR: '10.42.0.0/24', mtu: 1450, enginePods: 0 },
        peers: [{ nodeName: 'b', gateway: '10.42.1.1', way: 'direct', reached: true }],
        items: checks.map((check) =>
          check === 'names' ? { check, ok: false, problem: 'silent', remedy: 'mend names' } : { check, ok: true },
        ),
      },
      { nodeName: 'x', error: 'node "x" is not connected' },
    ],
  });
  expect(checkJson([engine])).toMatchObject({ ok: true, items: [{ peers: [], items: [] }] });
});

it('knows whether any node has the routed network', () => {
  expect(isRouted([engine, away])).toBe(false);
  expect(isRouted([engine, routed('a')])).toBe(true);
});
