import type { NetCheck } from '../../api/generated/types.ts';
import { plainTable } from '../printers/plain-table.ts';
import type { NodeCheck } from './check-nodes.ts';

/** What is wrong with one node's network. */
export interface NodeProblem {
  readonly nodeName: string;
  readonly check: string;
  readonly problem: string;
  readonly remedy: string;
}

/** All that is wrong, node by node. Pure. */
export function problemsOf(checks: readonly NodeCheck[]): NodeProblem[] {
  return checks.flatMap((each): NodeProblem[] => {
    const { nodeName } = each;
    if ('error' in each) {
      const remedy = `"berth get nodes" says whether it is Ready: start its agent, or plug its cable in`;
      return [{ nodeName, check: 'agent', problem: `it does not answer: ${each.error}`, remedy }];
    }
    const wrong = (each.check.items ?? []).filter(({ ok }) => ok !== true);
    return wrong.map(({ check = '', problem = '', remedy = '' }) => ({ nodeName, check, problem, remedy }));
  });
}

/** Whether pods of some node are in the routed network. */
export const isRouted = (checks: readonly NodeCheck[]): boolean =>
  checks.some((each) => 'check' in each && each.check.podNetwork === 'routed');

const headings = ['NODE', 'NETWORK', 'POD-CIDR', 'MTU', 'ROUTES', 'FIREWALL', 'SERVICES', 'NAMES', 'NODES', 'ENGINE-PODS'];

/** A row for each node, and below them what is wrong, with what to do about it. Pure. */
export function checkTable(checks: readonly NodeCheck[]): string {
  const rows = checks.map((each) => [each.nodeName, ...('error' in each ? ['unknown'] : cellsOf(each.check))]);
  const full = rows.map((row) => [...row, ...Array<string>(headings.length - row.length).fill('-')]);
  const told = problemsOf(checks).map(({ nodeName, problem, remedy }) => `\n${nodeName}: ${problem}\n  ${remedy}\n`);
  return plainTable(headings, full) + told.join('');
}

function cellsOf(check: NetCheck): string[] {
  const { podNetwork = '', podCIDR = '', mtu = 0, peers = [], enginePods = 0 } = check;
  const of = (name: string): string => stateOf(check, name);
  const pods = String(enginePods);
  if (podNetwork !== 'routed') return [podNetwork, '-', '-', '-', '-', '-', '-', '-', pods];
  const routes = of('routes') === 'ok' ? waysOf(check) : of('routes');
  const packets = mtu === 0 ? '-' : of('mtu') === 'failed' ? `${mtu} failed` : String(mtu);
  const nodes = of('nodes') === '-' ? '-' : `${peers.filter(({ reached }) => reached).length}/${peers.length}`;
  return [podNetwork, podCIDR || '-', packets, routes, of('firewall'), of('services'), of('names'), nodes, pods];
}

function stateOf({ items = [] }: NetCheck, name: string): '-' | 'ok' | 'failed' {
  const found = items.filter(({ check }) => check === name);
  if (found.length === 0) return '-';
  return found.every(({ ok }) => ok) ? 'ok' : 'failed';
}

/** "ok", "2 direct" or "1 direct, 3 tunnel". */
function waysOf({ peers = [] }: NetCheck): string {
  const counts = ['direct', 'tunnel'].map((way) => ({ way, count: peers.filter((peer) => peer.way === way).length }));
  return (
    counts
      .filter(({ count }) => count > 0)
      .map(({ way, count }) => `${count} ${way}`)
      .join(', ') || 'ok'
  );
}

/** For programs: every field of every node. Pure. */
export function checkJson(checks: readonly NodeCheck[]): object {
  const items = checks.map((each) => {
    if ('error' in each) return { nodeName: each.nodeName, error: each.error };
    const { podNetwork = '', podCIDR = '', mtu = 0, enginePods = 0, peers = [], items: looked = [] } = each.check;
    return {
      ...{ nodeName: each.nodeName, podNetwork, podCIDR, mtu, enginePods },
      peers: peers.map(({ nodeName = '', gateway = '', way = '', reached = false, mtu = 0 }) => ({
        ...{ nodeName, gateway, way, reached, mtu },
      })),
      items: looked.map(({ check = '', ok = false, problem = '', remedy = '' }) =>
        ok ? { check, ok } : { check, ok, problem, remedy },
      ),
    };
  });
  return { kind: 'NetCheckList', ok: problemsOf(checks).length === 0, items };
}
