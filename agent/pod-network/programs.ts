/** A program that the routed network runs, and the package of Debian that has it. */
export interface NeededProgram {
  readonly name: string;
  readonly of: string;
}

/** What the routed network of pods, Services and names run. */
export const neededPrograms: readonly NeededProgram[] = [
  { name: 'ip', of: 'iproute2' },
  { name: 'bridge', of: 'iproute2' },
  { name: 'nft', of: 'nftables' },
  { name: 'iptables', of: 'iptables' },
  { name: 'nsenter', of: 'util-linux' },
  { name: 'conntrack', of: 'conntrack' },
];
