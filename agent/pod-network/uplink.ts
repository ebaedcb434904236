import type { Shell } from './shell.ts';

/** In bytes, of the interface that has the address. */
export async function readUplinkMtu(shell: Shell, address: string): Promise<number> {
  const text = await shell.run(`ip -json address show to ${address}`);
  const links = JSON.parse(text === '' ? '[]' : text) as readonly { readonly mtu?: number }[];
  const mtu = links.find((link) => link.mtu !== undefined)?.mtu;
  if (mtu === undefined) throw new Error(`the node's address ${address} is on none of the machine's interfaces`);
  // The loopback's, where the address is on it, is larger than a network's.
  return Math.min(mtu, 9_000);
}

/** Whether rules of this iptables are in nftables. */
export const isOfNftables = async (shell: Shell, iptables: string): Promise<boolean> =>
  (await shell.run(`${iptables} -V 2>/dev/null || :`)).includes('nf_tables');

/** The variant that the engine uses: rules of the other are in tables of their own, and would let nothing through. */
export async function findIptables(shell: Shell): Promise<string> {
  const tries = ['iptables', 'iptables-nft', 'iptables-legacy'].map(
    (name) => `if command -v ${name} >/dev/null && ${name} -w -n -L DOCKER-USER >/dev/null 2>&1; then echo ${name}; exit 0; fi`,
  );
  return (await shell.run([...tries, 'echo iptables'].join('\n'))).trim();
}
