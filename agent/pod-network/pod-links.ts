import { type AddressRange, addressNumber, isInRange } from '../../api/meta/address-range.ts';
import {
  isOurs,
  type LinkOwner,
  linkNameOf,
  machineCommands,
  type PodLink,
  podCommands,
  podLink,
  reachCommands,
} from './link-commands.ts';
import { feed, type Shell } from './shell.ts';

export interface PodLinksOptions {
  readonly shell: Shell;
  readonly owner: LinkOwner;
  /** The machine's own address, which pods see when it speaks to them. */
  readonly source: string;
}

/** A link of the machine, as `ip -json link` has it. */
interface LinkEntry {
  readonly ifname?: string;
  readonly ifalias?: string;
}

/**
 * The pairs of interfaces that join pods to the machine: each pod has one with an address of its own and a route to it,
 * and no bridge joins them, so that the machine's rules see all that pods send.
 */
export class PodLinks {
  readonly #options: PodLinksOptions;

  constructor(options: PodLinksOptions) {
    this.#options = options;
  }

  /**
   * Joins a pod to the network. What an earlier try left is replaced. When it returns, both ends are up, with address
   * and routes. Throws an Error.
   */
  async attach(link: PodLink): Promise<void> {
    const { shell, owner, source } = this.#options;
    const name = linkNameOf(owner, link.address);
    // Strict: only the pod's own address may come out of it.
    const settings = [
      'ipv4/conf/NAME/rp_filter=1',
      'ipv6/conf/NAME/disable_ipv6=1',
      // Ports of the machine lead to pods from 127.0.0.1 as well, and the answers come back for it.
      'ipv4/conf/NAME/route_localnet=1',
    ];
    const sysctls = settings.map((setting) => {
      const [path = '', value] = setting.replace('NAME', name).split('=');
      return `[ ! -e /proc/sys/net/${path} ] || echo ${value} > /proc/sys/net/${path}`;
    });
    const ofPod = `/proc/${link.pid}/ns/net`;
    const inPod = `nsenter --net=${ofPod} ip -batch -`;
    await shell.run(
      [
        // The pod's process may have ended, and its number be a process's of the machine by now.
        `if [ ${ofPod} -ef /proc/self/ns/net ]; then echo 'process ${link.pid} is in the network of the machine' >&2; exit 1; fi`,
        `ip link delete ${name} 2>/dev/null || :`,
        // What a pod before this one had open at the address would be let in as established.
        ...forgetCommands(link.address),
        feed('ip -batch -', machineCommands(owner, link, source)),
        ...sysctls,
        feed(inPod, podCommands(link)),
        // Verified in the pod itself: nothing of it may start before.
        `nsenter --net=${ofPod} ip -4 -oneline address show dev ${podLink} up | grep -q ' ${link.address}/32 '`,
      ].join('\n'),
    );
  }

  /** Makes the routes to pods anew, where their links are there. */
  async reach(addresses: readonly string[]): Promise<void> {
    const { shell, owner, source } = this.#options;
    const scripts = addresses.map((address) => {
      const name = linkNameOf(owner, address);
      return `if [ -e /proc/sys/net/ipv4/conf/${name} ]; then\n${feed('ip -batch -', reachCommands(owner, address, source))}\nfi`;
    });
    if (scripts.length > 0) await shell.run(scripts.join('\n'));
  }

  /** Takes a pod out of the network, with what conntrack remembers of it. One that is gone is fine. */
  async detach(address: string): Promise<void> {
    const name = linkNameOf(this.#options.owner, address);
    const remove = `[ ! -e /proc/sys/net/ipv4/conf/${name} ] || ip link delete ${name}`;
    await this.#options.shell.run([remove, ...forgetCommands(address)].join('\n'));
  }

  /** The names of the links that are this node's. */
  async list(): Promise<string[]> {
    const text = await this.#options.shell.run('ip -json link show type veth');
    const links = JSON.parse(text === '' ? '[]' : text) as readonly LinkEntry[];
    return links.filter((link) => isOurs(link, this.#options.owner)).map(({ ifname }) => ifname!);
  }

  nameOf(address: string): string {
    return linkNameOf(this.#options.owner, address);
  }

  /** Removes the links of addresses that are not in use any more. Returns their names. */
  async sweep(used: ReadonlySet<string>): Promise<string[]> {
    const kept = new Set([...used].map((address) => this.nameOf(address)));
    const lost = (await this.list()).filter((name) => !kept.has(name));
    // One at a time: each may have gone by itself with its pod.
    for (const name of lost) await this.#options.shell.run(`ip link delete ${name} 2>/dev/null || :`);
    return lost;
  }

  /**
   * Removes what conntrack remembers of addresses of pods' range that are not in use any more: an established
   * connection of a pod that ended while no agent ran stays for days.
   */
  async forget(range: AddressRange, used: ReadonlySet<string>): Promise<void> {
    const { shell } = this.#options;
    // All of them: conntrack takes no range for the source of answers. There may be many; their addresses are few.
    const list = "{ conntrack -L -f ipv4 2>/dev/null || echo failed; } | grep -oE 'src=[0-9.]+|^failed$' | sort -u || :";
    const text = await shell.run(list);
    if (text.includes('failed')) throw new Error('conntrack does not list connections: run "conntrack -L" to see why');
    const addresses = text.split('\n').map((line) => line.replace('src=', ''));
    // The first addresses are the node's own.
    const isOfPod = (at: number): boolean => isInRange(range, at) && at > range.first + 1;
    const gone = new Set(addresses.filter((each) => !used.has(each) && isOfPod(addressNumber(each) ?? -1)));
    for (const each of gone) await shell.run(forgetCommands(each).join('\n'));
  }
}

/** The directions of a connection in which a pod's address is the source: as it was opened by the pod, or to it. */
const flowsOf = ['--orig-src', '--reply-src'] as const;

/** Nothing found is an error of conntrack. */
const forgetCommands = (address: string): string[] => flowsOf.map((of) => `conntrack -D ${of} ${address} >/dev/null 2>&1 || :`);
