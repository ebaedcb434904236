import { type AddressRange, addressText } from '../../api/meta/address-range.ts';
import { macOf } from './link-commands.ts';

/** Another node, as far as its pods are concerned. */
export interface Neighbour {
  readonly name: string;
  /** Its InternalIP. */
  readonly address: string;
  readonly range: AddressRange;
}

export interface Tunnel {
  readonly name: string;
  /** The VXLAN network identifier. */
  readonly id: number;
  readonly port: number;
  /** This node's address: where the tunnel ends. */
  readonly local: string;
}

/** Of every cluster's tunnels: of two clusters that share machines one has to do without. */
export const tunnelId = 4_817;
/** The port of VXLAN in Linux; IANA's 4789 is often taken by other tunnels. */
export const tunnelPort = 8472;
/** What a tunnel's headers take of each packet, in bytes. */
export const tunnelOverhead = 50;

/** For `ip -batch`: makes the tunnel's end. It learns nothing by itself: all entries are written. */
export function tunnelCommands({ name, id, port, local }: Tunnel, own: AddressRange, mtu: number): string[] {
  return [
    `link add ${name} address ${macOf(local)} mtu ${mtu - tunnelOverhead} type vxlan id ${id} local ${local} dstport ${port} nolearning`,
    `link set dev ${name} addrgenmode none up`,
    `addr replace ${addressText(own.first)}/32 dev ${name}`,
  ];
}

/**
 * What leads to one neighbour's pods: commands of `ip` and of `bridge`. `dev` is the link to the neighbour, where both
 * are on one.
 */
export function routeCommands(
  { address, range }: Neighbour,
  way: { readonly way: 'direct'; readonly dev: string } | { readonly way: 'tunnel'; readonly tunnel: Tunnel },
): { readonly ip: string[]; readonly bridge: string[] } {
  if (way.way === 'direct') return { ip: [`route replace ${range.text} via ${address} dev ${way.dev}`], bridge: [] };
  const { name } = way.tunnel;
  const peer = addressText(range.first);
  return {
    ip: [
      `neigh replace ${peer} lladdr ${macOf(address)} dev ${name} nud permanent`,
      `route replace ${range.text} via ${peer} dev ${name} onlink`,
    ],
    bridge: [`fdb replace ${macOf(address)} dev ${name} dst ${address} permanent`],
  };
}

/** What `ip -json route get ADDRESS` says: the link to a neighbour that needs no router, or undefined. */
export function linkTo(answer: string): string | undefined {
  const [route] = JSON.parse(answer) as readonly { readonly dev?: string; readonly gateway?: string; readonly type?: string }[];
  if (route?.dev === undefined || route.gateway !== undefined || (route.type !== undefined && route.type !== 'unicast'))
    return undefined;
  return route.dev;
}
