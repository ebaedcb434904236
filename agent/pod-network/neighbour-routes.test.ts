import { expect, it } from 'vitest';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import { NeighbourRoutes, type WayChoice } from './neighbour-routes.ts';
import type { Neighbour } from './node-routes.ts';

const near: Neighbour = { name: 'h2', address: '10.0.0.2', range: parseAddressRange('10.42.2.0/24') };
const far: Neighbour = { name: 'h3', address: '10.9.0.3', range: parseAddressRange('10.42.3.0/24') };

/** A machine that has h2 on its link and h3 behind a router. */
function open(choice: WayChoice) {
  const [scripts, warnings]: [string[], string[]] = [[], []];
  const run = async (script: string): Promise<string> => {
    scripts.push(script);
    const via = script.includes(far.address) ? ',"gateway":"10.0.0.254"' : '';
    return script.startsWith('ip -json route get') ? `[{"dev":"eth0"${via}}]` : '';
  };
  const owner = { dataDir: '/d', nodeName: 'h1' };
  const own = { range: parseAddressRange('10.42.1.0/24'), address: '10.0.0.1', before: [] };
  const routes = new NeighbourRoutes({ shell: { run }, owner, ...own, choice, warn: (message) => warnings.push(message) });
  routes.linkMtu = 1_500;
  /** What leads to ranges, in the order of the commands. */
  const made = () => scripts.splice(0).flatMap((script) => script.match(/(?<=^route replace ).*/gm) ?? []);
  return { routes, warnings, made, tunnel: routes.tunnel.name };
}

it.each<[WayChoice, (tunnel: string) => string[]]>([
  ['auto', (tunnel) => ['10.42.2.0/24 via 10.0.0.2 dev eth0', `10.42.3.0/24 via 10.42.3.0 dev ${tunnel} onlink`]],
  ['vxlan', (tunnel) => [`10.42.2.0/24 via 10.42.2.0 dev ${tunnel} onlink`, `10.42.3.0/24 via 10.42.3.0 dev ${tunnel} onlink`]],
  ['direct', () => ['10.42.2.0/24 via 10.0.0.2 dev eth0', '10.42.3.0/24 via 10.0.0.254 dev eth0']],
])('takes with "%s" these ways to a node on the link, and to one behind a router', async (choice, expected) => {
  const { routes, warnings, made, tunnel } = open(choice);
  await routes.set([near, far]);
  expect(made()).toEqual(expected(tunnel));
  expect([near, far].map((each) => routes.isTunnelled(each))).toEqual([choice === 'vxlan', choice !== 'direct']);
  expect(warnings).toEqual([]);
});

it('writes what was measured, as long as it is less, and forgets it with the node', async () => {
  const { routes, made } = open('auto');
  await routes.set([near]);
  made();
  await routes.measured(new Map([['10.42.2.0/24', 1_400]]));
  expect(made()).toEqual(['10.42.2.1/32 via 10.0.0.2 dev eth0', '10.42.2.0/24 via 10.0.0.2 dev eth0 mtu 1400']);
  expect([[...routes.small], routes.destinations]).toEqual([[['h2', 1_400]], ['10.42.2.0/24', '10.42.2.1']]);
  await routes.measured(new Map([['10.42.2.0/24', 1_400]]));
  expect(made()).toEqual([]);
  await routes.measured(new Map([['10.42.2.0/24', 1_500]]));
  expect(made()).toEqual(['10.42.2.0/24 via 10.0.0.2 dev eth0']);
  await routes.measured(new Map([['10.42.2.0/24', 1_400]]));
  await routes.set([]);
  await routes.set([near]);
  expect([...routes.small]).toEqual([]);
});

it.each<[WayChoice, number, number]>([
  ['auto', 1_450, 1_500],
  ['vxlan', 1_450, 1_450],
  ['direct', 1_500, 1_500],
])(
  'has with "%s" room for %d bytes before the other nodes are known, and for %d with a node on the link',
  async (choice, before, after) => {
    const { routes } = open(choice);
    expect(routes.mtu).toBe(before);
    await routes.set([near]);
    expect(routes.mtu).toBe(after);
  },
);

it('has room for all bytes of the link until a way leads through the tunnel, and for less where less was measured', async () => {
  const { routes } = open('auto');
  await routes.set([]);
  expect(routes.mtu).toBe(1_500);
  await routes.set([near, far]);
  expect([routes.mtu, ...routes.neighbours.map(({ room }) => room)]).toEqual([1_450, 1_500, 1_450]);
  await routes.measured(
    new Map([
      ['10.42.2.0/24', 1_470],
      ['10.42.3.0/24', 1_450],
    ]),
  );
  expect([routes.mtu, [...routes.small]]).toEqual([1_450, [['h2', 1_470]]]);
  await routes.set([near]);
  expect(routes.mtu).toBe(1_470);
});

it('has less room where a node moved behind a router', async () => {
  const { routes, made, tunnel } = open('auto');
  await routes.set([near]);
  made();
  await routes.set([{ ...near, address: far.address }]);
  expect([made(), routes.mtu]).toEqual([[`10.42.2.0/24 via 10.42.2.0 dev ${tunnel} onlink`], 1_450]);
});
