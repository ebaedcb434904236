import { readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { feed, type Shell } from '../pod-network/shell.ts';

/** What is kept on disk of addresses that this node may have on its link: for the next agent, and for purge. */
interface Kept {
  readonly link: string;
  readonly addresses: readonly string[];
}

export interface LinkAddressesOptions {
  readonly nodeDir: string;
  /** The link that ARP requests arrive on. */
  readonly link: string;
  readonly shell: Shell;
}

/**
 * Addresses of load balancers on the node's link, where the kernel answers ARP requests for them. Each is there for
 * some seconds, and the kernel takes it away by itself when it is not extended: also when the agent hangs or was
 * killed.
 */
export class LinkAddresses {
  readonly #options: LinkAddressesOptions;
  /** On disk as well: what is there, or was. */
  readonly #known: Set<string>;
  /** Of an agent before this one, when the node's link was another. */
  readonly #strays: Kept | undefined;

  constructor(options: LinkAddressesOptions) {
    this.#options = options;
    const kept = readKept(options.nodeDir);
    this.#known = new Set(kept?.link === options.link ? kept.addresses : []);
    this.#strays = kept && kept.link !== options.link ? kept : undefined;
  }

  /** Those that may be on the link. */
  get known(): ReadonlySet<string> {
    return this.#known;
  }

  /** Removes what an agent before this one has left on another link. */
  async start(): Promise<void> {
    if (this.#strays) await this.#options.shell.run(removalOf(this.#strays));
    await this.#keep();
  }

  /** Puts addresses on the link, or extends them, for so many seconds from now. */
  async hold(addresses: readonly string[], seconds: number): Promise<void> {
    if (addresses.length === 0) return;
    const { shell, link } = this.#options;
    const isNew = addresses.some((address) => !this.#known.has(address));
    for (const address of addresses) this.#known.add(address);
    if (isNew) await this.#keep();
    const lines = addresses.map(
      (address) => `address replace ${address}/32 dev ${link} scope global valid_lft ${seconds} preferred_lft ${seconds}`,
    );
    await shell.run(feed('ip -force -batch -', lines));
  }

  /** Takes addresses from the link; those that are gone already are no fault. */
  async drop(addresses: readonly string[]): Promise<void> {
    if (addresses.length === 0) return;
    const { shell, link } = this.#options;
    await shell.run(removalOf({ link, addresses }));
    for (const address of addresses) this.#known.delete(address);
    await this.#keep();
  }

  async #keep(): Promise<void> {
    const { nodeDir, link } = this.#options;
    const file = keptFile(nodeDir);
    if (this.#known.size === 0) return rm(file, { force: true });
    const kept: Kept = { link, addresses: [...this.#known] };
    await writeFile(`${file}.new`, JSON.stringify(kept), { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
}

const keptFile = (nodeDir: string): string => join(nodeDir, 'load-balancer-addresses.json');

/** Also where an address, or the link, is gone. */
const removalOf = ({ link, addresses }: Kept): string =>
  feed(
    '( ip -force -batch - 2>/dev/null || true )',
    addresses.map((address) => `address del ${address}/32 dev ${link}`),
  );

function readKept(nodeDir: string): Kept | undefined {
  try {
    const { link, addresses } = JSON.parse(readFileSync(keptFile(nodeDir), 'utf8')) as Partial<Kept>;
    const isValid =
      typeof link === 'string' && Array.isArray(addresses) && [link, ...addresses].every((each) => /^[\w.:@-]+$/.test(each));
    return isValid ? { link, addresses: addresses as string[] } : undefined;
  } catch {
    return undefined;
  }
}

/** Addresses that agents of this node may have put on a link: none of them is the node's own. */
export const announcedAddresses = (nodeDir: string): readonly string[] => readKept(nodeDir)?.addresses ?? [];

/** Removes them, for purge. */
export async function removeAnnounced(nodeDir: string, shell: Shell): Promise<void> {
  const kept = readKept(nodeDir);
  if (kept) await shell.run(removalOf(kept));
  await rm(keptFile(nodeDir), { force: true });
}

/** The link that has an address of the machine's. */
export function linkOf(address: string, interfaces = networkInterfaces()): string | undefined {
  return Object.entries(interfaces).find(([, all]) => all?.some((each) => each.address === address))?.[0];
}
