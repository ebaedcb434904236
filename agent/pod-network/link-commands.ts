import { createHash } from 'node:crypto';

/** A pod's gateway. Link-local: no route to it leaves the machine, and it needs no address of the range. */
export const gateway = '169.254.1.1';
/** Of the machine's end of every pod's pair: each is a link of its own, so that they may be equal. */
export const gatewayMac = '0a:be:27:00:00:01';
/** What the pair is called inside the pod. */
export const podLink = 'eth0';
/** Of the machine's ends: "bth" and 12 digits; no engine names its links so. */
const linkName = /^bth[0-9a-f]{12}$/;

/** Who made a link: agents of several installations may share a machine. */
export interface LinkOwner {
  /** The installation, by its data directory. */
  readonly dataDir: string;
  readonly nodeName: string;
}

export interface PodLink {
  readonly address: string;
  /** A process in the pod's network namespace. */
  readonly pid: number;
  /** What the pair carries, in bytes. */
  readonly linkMtu: number;
  /** How large packets may be that the pod sends, in bytes. */
  readonly mtu: number;
}

/** The machine's end of a pod's pair. 15 characters, the longest that Linux takes. */
export function linkNameOf(owner: LinkOwner, address: string): string {
  return `bth${digestOf(`${owner.dataDir}/${owner.nodeName}/${address}`, 12)}`;
}

/** Names of tables, chains and tunnels carry it: several owners may share a machine. */
export const tagOf = ({ dataDir, nodeName }: LinkOwner): string => digestOf(`${dataDir}/${nodeName}`, 8);

/** Stands at the link as its alias, and says to whom it belongs. */
const aliasOf = (owner: LinkOwner): string => `berth ${tagOf(owner)}`;

const digestOf = (text: string, digits: number): string => createHash('sha256').update(text).digest('hex').slice(0, digits);

export function isOurs(link: { readonly ifname?: string; readonly ifalias?: string }, owner: LinkOwner): boolean {
  return linkName.test(link.ifname ?? '') && link.ifalias === aliasOf(owner);
}

/** The hardware address of a pod, computed from its IP address; locally administered, as the second digit says. */
export function macOf(address: string): string {
  const bytes = address.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
  return `0a:58:${bytes.join(':')}`;
}

/**
 * The machine's half, for `ip -batch`: the pair with one end in the pod, its route, and the pod's hardware address, so
 * that no ARP request is needed. `source` is the machine's address towards pods: there may be no default route
 * that says which.
 */
export function machineCommands(owner: LinkOwner, { address, pid, linkMtu: mtu }: PodLink, source: string): string[] {
  const name = linkNameOf(owner, address);
  return [
    `link add ${name} address ${gatewayMac} mtu ${mtu} type veth peer name ${podLink} address ${macOf(address)} mtu ${mtu} netns ${pid}`,
    `link set dev ${name} addrgenmode none`,
    `link set dev ${name} alias "${aliasOf(owner)}" up`,
    ...reachCommands(owner, address, source),
  ];
}

/** The route to a pod over its link: the part that a network manager may remove. */
export function reachCommands(owner: LinkOwner, address: string, source: string): string[] {
  const name = linkNameOf(owner, address);
  return [
    `neigh replace ${address} lladdr ${macOf(address)} dev ${name} nud permanent`,
    `route replace ${address}/32 dev ${name} src ${source}`,
  ];
}

/** A pod's way to all others; `mtu`: packets may have so many bytes at most. */
export const defaultRoute = (address: string, mtu?: number): string =>
  `default via ${gateway} dev ${podLink} src ${address}${mtu === undefined ? '' : ` mtu ${mtu}`}`;

/**
 * The pod's half, inside of its namespace. Where a way has room for less than the link its route says so, not the link:
 * that would drop larger packets, which arrive over other ways.
 */
export function podCommands({ address, mtu, linkMtu }: Omit<PodLink, 'pid'>): string[] {
  return [
    `addr replace ${address}/32 dev ${podLink}`,
    'link set dev lo up',
    `link set dev ${podLink} up`,
    `neigh replace ${gateway} lladdr ${gatewayMac} dev ${podLink} nud permanent`,
    `route replace ${gateway}/32 dev ${podLink} scope link`,
    `route replace ${defaultRoute(address, mtu < linkMtu ? mtu : undefined)}`,
  ];
}
