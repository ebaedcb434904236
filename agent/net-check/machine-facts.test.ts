import { expect, it } from 'vitest';
import type { NetworkPlan } from '../pod-network/pod-network.ts';
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

it('ask for each gateway, in one script', async () => {
  const scripts: string[] = [];
  const shell = {
    run: async (script: string) => {
      scripts.push(script);
      return printed;
    },
  };
  const plan = { gatewayLink: 'bgw1', gateway: '10.42.0.1', hasForward: '{ iptables -C x; } 2>/dev/null' };
  await readMachine(shell, plan as NetworkPlan, ['10.42.1.1', '10.42.2.1']);
  expect(scripts).toHaveLength(1);
  expect(scripts[0]).toContain('route get 10.42.1.1\nroute get 10.42.2.1\n');
  expect(scripts[0]).toContain('if { iptables -C x; } 2>/dev/null; then echo yes; fi');
});
