import { type AddressRange, addressText } from '../../api/meta/address-range.ts';
import { gatewayAddressOf } from './gateway-link.ts';
import { macOf } from './link-commands.ts';

/** Another node, as far as its pods are concerned. */
export interface Neighbour {
  readonly name: string;
  /** Its InternalIP. */
  readonly address: string;
  readonly range: AddressRange;
}

/** Another node, and the way to its pods. */
export interface RoutedNeighbour extends Neighbour {
  /** What packets have room for there if no less was measured, in bytes. */
  readonly room: number;
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

/** How packets get to a neighbour's pods. `via`: the router that knows where they are; absent: the neighbour itself. */
export type Way =
  | { readonly way: 'direct'; readonly dev: string; readonly via?: string }
  | { readonly way: 'tunnel'; readonly tunnel: Tunnel };

/**
 * For `ip -batch`: makes the tunnel's end. It learns nothing by itself: all entries are written. Packets that may not
 * be fragmented are not inside of the tunnel either, so that routers tell what they have no room for.
 */
export function tunnelCommands({ name, id, port, local }: Tunnel, own: AddressRange, mtu: number): string[] {
  return [
    `link add ${name} address ${macOf(local)} mtu ${mtu} type vxlan id ${id} local ${local} dstport ${port} nolearning df inherit`,
    `link set dev ${name} addrgenmode none up`,
    `addr replace ${addressText(own.first)}/32 dev ${name}`,
  ];
}

/**
 * What leads to one neighbour's pods: commands of `ip` and of `bridge`, the routes last. With `mtu` the way carries
 * less than the links do: the kernel tells pods so, and TCP's clamp follows it. The neighbour's gateway then has a
 * route without it, on which the way is measured again.
 */
export function routeCommands(
  { address, range }: Neighbour,
  way: Way,
  mtu?: number,
): { readonly neighbours: string[]; readonly bridge: string[]; readonly routes: string[] } {
  const lead = (hop: string): string[] =>
    mtu === undefined
      ? [`route replace ${range.text} ${hop}`]
      : [`route replace ${gatewayAddressOf(range)}/32 ${hop}`, `route replace ${range.text} ${hop} mtu ${mtu}`];
  if (way.way === 'direct') {
    const routes = lead(`via ${way.via ?? address} dev ${way.dev}`);
    return { neighbours: [], bridge: [], routes };
  }
  const { name } = way.tunnel;
  const peer = addressText(range.first);
  return {
    neighbours: [`neigh replace ${peer} lladdr ${macOf(address)} dev ${name} nud permanent`],
    bridge: [`fdb replace ${macOf(address)} dev ${name} dst ${address} permanent`],
    routes: lead(`via ${peer} dev ${name} onlink`),
  };
}

/** What `ip -json route get ADDRESS` says: the link to a neighbour, and the router where it needs one; or undefined. */
export function hopTo(answer: string): { readonly dev: string; readonly via?: string } | undefined {
  const [route] = JSON.parse(answer) as readonly { readonly dev?: string; readonly gateway?: string; readonly type?: string }[];
  if (route?.dev === undefined || (route.type !== undefined && route.type !== 'unicast')) return undefined;
  return { dev: route.dev, ...(route.gateway !== undefined && { via: route.gateway }) };
}
