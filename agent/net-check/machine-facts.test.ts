import { expect, it } from 'vitest';
import type { NetworkPlan } from '../pod-network/pod-network.ts';
import { createShell } from '../pod-network/shell.ts';
import { parseMachine, readMachine } from './machine-facts.ts';

const printed = `1
,
yes
,
table ip berth-1a2b3c4d
table ip6 nat
table inet firewall
table ip nat
,
[{"ifname":"bgw1a2b3c4d","addr_info":[{"family":"inet","local":"10.42.0.1","prefixlen":32}]}]
,
[{"dst":"default","gateway":"10.0.0.254","dev":"eth0"},{"type":"unreachable","dst":"10.42.0.0/24"},{"dst":"10.42.1.0/24","gateway":"10.0.0.2","dev":"eth0"}]
,
[{"dst":"10.42.1.1","gateway":"10.0.0.2","dev":"eth0","prefsrc":"10.0.0.1"}]
[{"type":"local","dst":"10.42.9.1","dev":"lo"}]
`;

it('are read from what programs print', () =>
  expect(parseMachine(printed, '10.42.0.1')).toEqual({
    ...{ forwards: true, accepts: true, hasGateway: true },
    tables: new Set(['berth-1a2b3c4d', 'nat']),
    routes: new Set(['default', '10.42.0.0/24', '10.42.1.0/24']),
    ways: new Map([
      ['10.42.1.1', { dev: 'eth0', gateway: '10.0.0.2' }],
      ['10.42.9.1', { dev: 'lo' }],
    ]),
  }));

it('are all missing where nothing is printed', () =>
  expect(parseMachine('0\n,\n,\n,\n,\n,\n', '10.42.0.1')).toEqual({
    ...{ forwards: false, accepts: false, hasGateway: false },
    ...{ tables: new Set(), routes: new Set(), ways: new Map() },
  }));

it('ask for each gateway in one script, which goes on where one has no route', async () => {
  // Programs of this name, as a shell has them: what they print is known, and the last one fails.
  const programs = `
    iptables() { :; }
    nft() { echo 'table ip t'; }
    ip() { case "$*" in *batch*) sed 's/route get \\(.*\\)/[{"dst":"\\1","dev":"eth0"}]/'; return 1;; *) echo '[]';; esac; }
  `;
  const plan = { gatewayLink: 'bgw1', gateway: '10.42.0.1', hasForward: '{ iptables -C x; } 2>/dev/null' } as NetworkPlan;
  const read = (gateways: readonly string[]) =>
    readMachine({ run: (script) => createShell().run(programs + script) }, plan, gateways);
  const { accepts, tables, ways } = await read(['10.42.1.1', '10.42.2.1']);
  expect([accepts, [...tables], [...ways.keys()]]).toEqual([true, ['t'], ['10.42.1.1', '10.42.2.1']]);
  expect((await read([])).ways.size).toBe(0);
});
