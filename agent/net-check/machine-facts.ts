import type { NetworkPlan } from '../pod-network/pod-network.ts';
import { feed, type Shell } from '../pod-network/shell.ts';
import { mtuOf } from '../pod-network/way-measurer.ts';

/** What the machine has of its network. */
export interface MachineFacts {
  /** Whether it forwards packets at all (net.ipv4.ip_forward). */
  readonly forwards: boolean;
  /** Whether the rules that accept the pods' packets are there. */
  readonly accepts: boolean;
  /** The names of nftables' tables of IPv4. */
  readonly tables: ReadonlySet<string>;
  /** Whether the node's own address in its range is there. */
  readonly hasGateway: boolean;
  /** The destinations of routes. */
  readonly routes: ReadonlySet<string>;
  /** Where packets to other nodes' gateways go, by their address. */
  readonly ways: ReadonlyMap<string, Way>;
}

export interface Way {
  readonly dev?: string;
  readonly gateway?: string;
  /** What a router has said that it has room for, in bytes. */
  readonly mtu?: number;
}

/** Reads what a plan speaks of, in one shell. Throws an Error when that cannot be done. */
export async function readMachine(shell: Shell, plan: NetworkPlan, gateways: readonly string[]): Promise<MachineFacts> {
  const text = await shell.run(
    [
      'cat /proc/sys/net/ipv4/ip_forward; echo ,',
      `if ${plan.hasForward}; then echo yes; fi; echo ,`,
      'nft list tables; echo ,',
      `ip -json -4 address show dev ${plan.gatewayLink} 2>/dev/null || :; echo ,`,
      'ip -json -4 route show; echo ,',
      // An address without a route ends neither the others nor the script.
      `{ ${feed(
        'ip -json -force -batch - 2>/dev/null',
        gateways.map((each) => `route get ${each}`),
      )}\n} || :`,
    ].join('\n'),
  );
  return parseMachine(text, plan.gateway);
}

interface AddressEntry {
  readonly addr_info?: readonly { readonly local?: string }[];
}

interface RouteEntry extends Omit<Way, 'mtu'> {
  readonly dst?: string;
  readonly metrics?: readonly { readonly mtu?: number }[];
}

/** What the script prints. Pure. */
export function parseMachine(text: string, gateway: string): MachineFacts {
  const [forward = '', accepts = '', tables = '', addresses = '', routes = '', ways = ''] = text.split(/^,$/m);
  const local = jsonOf<AddressEntry>(addresses).flatMap(({ addr_info = [] }) => addr_info.map((each) => each.local));
  return {
    forwards: forward.trim() === '1',
    accepts: accepts.trim() === 'yes',
    tables: new Set(tables.split('\n').flatMap((line) => /^table ip (\S+)/.exec(line)?.[1] ?? [])),
    hasGateway: local.includes(gateway),
    routes: new Set(jsonOf<RouteEntry>(routes).flatMap(({ dst }) => dst ?? [])),
    ways: new Map(ways.split('\n').flatMap((line) => jsonOf<RouteEntry>(line).flatMap((each) => wayOf(each)))),
  };
}

function wayOf({ dst, dev, gateway, metrics }: RouteEntry): [string, Way][] {
  const mtu = mtuOf({ metrics });
  return dst === undefined ? [] : [[dst, { ...(dev && { dev }), ...(gateway && { gateway }), ...(mtu && { mtu }) }]];
}

/** What has no entries may print nothing. */
const jsonOf = <T>(text: string): readonly T[] => (text.trim() === '' ? [] : (JSON.parse(text) as readonly T[]));
