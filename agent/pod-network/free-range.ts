import { type AddressRange, parseAddressRange } from '../../api/meta/address-range.ts';
import { defaultNetwork } from '../../api/meta/cluster-ranges.ts';
import { tableOf } from './firewall.ts';
import { proposeRanges, rangesOfRoutes } from './free-ranges.ts';
import { gatewayLinkOf, isGatewayLink } from './gateway-link.ts';
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

/**
 * A range that the machine reaches in another way would be cut off by ours. Throws an Error that says what it is, and
 * which ranges of the flag's size are free; `cluster`: the ranges that it has.
 */
export async function requireFreeRange(
  ground: RangeGround,
  { text: range, length }: AddressRange,
  of: 'pods' | 'services',
  cluster: { readonly pods: readonly AddressRange[]; readonly services: readonly AddressRange[] },
): Promise<void> {
  const { shell, owner, tunnel } = ground;
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
  const why = holder
    ? `${holder.ifname} has an address of it${leftBehind(holder.ifname ?? '', range)}`
    : foreign && `there is a route to ${foreign.dst}${foreign.dev ? ` through ${foreign.dev}` : ''}`;
  if (why === undefined) return;
  // Each node's range is a part of the cluster's, which is what an operator chooses.
  const wanted = of === 'pods' ? Math.min(length, ...cluster.pods.map((each) => each.length), clusterLength) : length;
  throw new Error(`${inUse}: ${why}; ${await proposal(ground, of, wanted, [...cluster.pods, ...cluster.services])}`);
}

/** A link of another agent: one that was lost with its data directory cannot be purged any more. */
function leftBehind(link: string, range: string): string {
  if (!isGatewayLink(link)) return '';
  const remove = `"ip link delete ${link}; ip route delete unreachable ${range}"`;
  return ` (another node of Berth made it; where that one is gone with its data directory, ${remove} frees the range)`;
}

const clusterLength = parseAddressRange(defaultNetwork.clusterCidr).length;

/** What this machine does not use; other machines may. */
async function proposal(
  { shell }: RangeGround,
  of: 'pods' | 'services',
  length: number,
  others: readonly AddressRange[],
): Promise<string> {
  const routes = await shell.run('ip -4 route show table all | sed "s/^[a-z]* \\([0-9]\\)/\\1/" | cut -d" " -f1');
  const free = proposeRanges(length, [...others, ...rangesOfRoutes(routes.split('\n'))], 2).map(({ text }) => text);
  const flag = of === 'pods' ? '--cluster-cidr' : '--service-cidr';
  return `choose another range${free.length > 0 ? `, such as ${flag} ${free.join(' or ')}, free on this machine` : ''}`;
}
