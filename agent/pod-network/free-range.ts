import type { AddressRange } from '../../api/meta/address-range.ts';
import { tableOf } from './firewall.ts';
import { gatewayLinkOf } from './gateway-link.ts';
import type { LinkOwner } from './link-commands.ts';
import type { Shell } from './shell.ts';

/** A route or an address, as `ip -json` has it. */
interface RouteEntry {
  readonly dst?: string;
  readonly dev?: string;
  readonly type?: string;
  readonly ifname?: string;
}

/** The machine, and which of its links are the node's. */
export interface RangeGround {
  readonly shell: Shell;
  readonly owner: LinkOwner;
  /** The link of the tunnel to other nodes, whether it is there or not. */
  readonly tunnel: string;
}

/** A range that the machine reaches in another way would be cut off by ours. Throws an Error that says what it is. */
export async function requireFreeRange(
  { shell, owner, tunnel }: RangeGround,
  { text: range }: AddressRange,
  of: 'pods' | 'services',
): Promise<void> {
  const shows = [`route show to root ${range}`, `route show to match ${range}`, `address show to ${range}`];
  // What an agent before made: the table comes before the route, and a flushed firewall leaves the link.
  const table = `nft list table ip ${tableOf(owner)} >/dev/null 2>&1`;
  const before = `if ${table} || [ -e /proc/sys/net/ipv4/conf/${gatewayLinkOf(owner)} ]; then echo '[{}]'; fi`;
  const answers = await shell.run([...shows.map((show) => `ip -json ${show}; echo ,`), before].join('\n'));
  // What has no entries may print nothing.
  const [inside = [], around = [], links = [], own = []] = answers
    .split(/^,$/m)
    .map((text) => JSON.parse(text.trim() || '[]') as RouteEntry[]);
  const isOwn = ({ dst, dev = '', type }: RouteEntry): boolean =>
    type === 'unreachable' ? dst === range && own.length > 0 : dev.startsWith('bth') || (of === 'services' && dev === 'lo');
  const foreign = [...inside, ...around].find((route) => route.dst !== 'default' && !isOwn(route));
  const holder = links.find(({ ifname }) => ifname && ![gatewayLinkOf(owner), tunnel].includes(ifname));
  const inUse = `the ${of}' range ${range} is in use on this machine`;
  if (holder) throw new Error(`${inUse}: ${holder.ifname} has an address of it; choose another range`);
  if (foreign)
    throw new Error(
      `${inUse}: there is a route to ${foreign.dst}${foreign.dev ? ` through ${foreign.dev}` : ''}; choose another range`,
    );
}
