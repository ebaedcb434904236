import { type AddressRange, addressText, parseAddressRange } from '../../api/meta/address-range.ts';
import { namesOffset } from '../../api/meta/cluster-ranges.ts';
import { gatewayMac, type LinkOwner, tagOf } from './link-commands.ts';
import { feed } from './shell.ts';

const prefix = 'bgw';
/** Behind a range's own address; no pod gets it. */
const gatewayOffset = 1;

/** The node's own address in its range, at which pods find what the node does for them, such as names. */
export const gatewayAddressOf = ({ first }: AddressRange): string => addressText(first + gatewayOffset);

/** The address at which the resolvers of the other nodes answer. */
export const namesAddressOf = (serviceRange: string): string => addressText(parseAddressRange(serviceRange).first + namesOffset);

/** 11 characters; a bridge without ports holds the node's address (machines may have no dummy links). */
export const gatewayLinkOf = (owner: LinkOwner): string => `${prefix}${tagOf(owner)}`;

/** Whether it is some node's. */
export const isGatewayLink = (name: string): boolean => name.startsWith(prefix);

/** A shell script that makes the link, where it is not there. */
export function gatewayScript(owner: LinkOwner, range: AddressRange): string {
  const name = gatewayLinkOf(owner);
  const commands = [
    `link set dev ${name} addrgenmode none`,
    `link set dev ${name} up`,
    `addr replace ${gatewayAddressOf(range)}/32 dev ${name}`,
  ];
  return [
    `[ -e /proc/sys/net/ipv4/conf/${name} ] || ip link add ${name} address ${gatewayMac} type bridge`,
    feed('ip -batch -', commands),
  ].join('\n');
}

/**
 * For `ip -batch`: what is sent to Services and translated by no rule stays on the machine, and there is a route where
 * the machine has no default one: without it a packet of the machine's own is refused before any rule sees it. `source`
 * is the machine's own address.
 */
export const serviceRouteCommands = (ranges: readonly AddressRange[], source: string): string[] =>
  ranges.map(({ text }) => `route replace ${text} dev lo src ${source}`);

/** A line of a shell script. */
export const removeServiceRoute = ({ text }: AddressRange): string => `ip route delete ${text} dev lo 2>/dev/null || :`;
