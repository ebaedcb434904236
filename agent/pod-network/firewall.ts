import type { AddressRange } from '../../api/meta/address-range.ts';
import { askChain } from '../nft/ask-chain.ts';
import { askWhole, renderSentinel } from '../nft/kept-table.ts';
import type { NftProcess } from '../nft/nft-process.ts';
import { type LinkOwner, tagOf } from './link-commands.ts';
import { tunnelId, tunnelPort } from './node-routes.ts';

export const tableOf = (owner: LinkOwner): string => `berth-${tagOf(owner)}`;
const chainOf = (owner: LinkOwner): string => `BERTH-${tagOf(owner).toUpperCase()}`;

/** A frame of VXLAN with our identifier: the 24 bits behind the header of UDP and 32 bits of flags. */
const isFrame = `udp dport ${tunnelPort} @th,96,24 ${tunnelId}`;

export interface Outside {
  /** This node's pods. */
  readonly range: AddressRange;
  /** All pods of the cluster, as far as known. */
  readonly pods: readonly AddressRange[];
  /** The link of the tunnel to other nodes, whether it is there or not. */
  readonly tunnel: string;
  /** The addresses of the cluster's nodes. */
  readonly nodes: readonly string[];
}

/**
 * For `nft -f -`: what leaves the cluster gets the machine's address; pods keep theirs among themselves and towards
 * nodes. Replaces the table as a whole, in one step. TCP learns how large packets may be before it sends one that a
 * tunnel has no room for.
 */
export function tableCommands(owner: LinkOwner, { range, pods, nodes, tunnel }: Outside): string[] {
  const podRanges = pods.map(({ text }) => text);
  const inside = [...podRanges, ...nodes.map((address) => `${address}/32`)];
  return [
    `table ip ${tableOf(owner)} {}`,
    `delete table ip ${tableOf(owner)}`,
    `table ip ${tableOf(owner)} {`,
    `  set inside { type ipv4_addr; flags interval; auto-merge; elements = { ${inside.join(', ')} } }`,
    `  set nodes { type ipv4_addr; flags interval; auto-merge; elements = { ${nodes.map((address) => `${address}/32`).join(', ')} } }`,
    `  set pods { type ipv4_addr; flags interval; auto-merge; elements = { ${podRanges.join(', ')} } }`,
    '  chain postrouting {',
    '    type nat hook postrouting priority srcnat;',
    `    ip saddr ${range.text} ip daddr != @inside fib daddr type unicast masquerade`,
    // What the machine sends to a Service has its own address from before it was known where to: at the other end of
    // a tunnel the answer to that would take another way.
    `    oifname "${tunnel}" ip saddr != @pods masquerade`,
    '  }',
    // Frames of the tunnel come from nodes alone: pods could put any pod's address into them.
    '  chain input {',
    '    type filter hook input priority mangle;',
    `    ${isFrame} ip saddr != @nodes drop`,
    '  }',
    '  chain arriving {',
    '    type filter hook prerouting priority raw;',
    `    iifname "${tunnel}" ip saddr != @pods drop`,
    `    iifname "${tunnel}" ip saddr ${range.text} drop`,
    // Links have `route_localnet`: the kernel itself would let in what others send to 127.0.0.1, or in its name.
    '    iif != "lo" ip daddr 127.0.0.0/8 drop',
    '    iif != "lo" ip saddr 127.0.0.0/8 drop',
    '  }',
    '  chain forward {',
    '    type filter hook forward priority mangle;',
    // Translated ones would arrive with the address of this node.
    `    ${isFrame} ip saddr @pods drop`,
    `    ${isFrame} ct status dnat drop`,
    `    ip saddr ${range.text} tcp flags syn tcp option maxseg size set rt mtu`,
    `    ip daddr ${range.text} tcp flags syn tcp option maxseg size set rt mtu`,
    '  }',
    '}',
    renderSentinel('ip', tableOf(owner)),
  ];
}

/** How each rule of the table ends. */
const endOfRule = /(drop|masquerade|rt mtu)$/;
const countRules = (lines: readonly string[]): number => lines.filter((line) => endOfRule.test(line)).length;

/** A line of a shell script: prints the table; nothing where there is none. */
export const listTable = (owner: LinkOwner): string => `nft list table ip ${tableOf(owner)} 2>/dev/null || :`;

/** Whether a table that was listed has as many rules as `tableCommands` writes. Pure. */
export const hasAllRules = (listed: readonly string[], owner: LinkOwner, outside: Outside): boolean =>
  countRules(listed) === countRules(tableCommands(owner, outside));

/** A shell script that lets the machine forward packets, and prints "forwarding" where it did not. */
export const forwardingScript = [
  // A shell that reads byte by byte gets the digit without its newline: `read` then fails.
  'read is < /proc/sys/net/ipv4/ip_forward || :',
  '[ "$is" = 1 ] || { echo 1 > /proc/sys/net/ipv4/ip_forward; echo forwarding; }',
].join('\n');

/**
 * A shell script. Docker drops what is forwarded, and an accept in a table of ours would not end that: a chain of ours
 * in the engine's own table does, called before anything of Docker's that drops. Prints "mended" when something was
 * missing.
 */
export function forwardScript(owner: LinkOwner, pods: readonly AddressRange[], iptables: string): string {
  const chain = chainOf(owner);
  const rules = acceptRules(pods);
  return [
    `if ${hasForward(owner, pods, iptables)}; then exit 0; fi`,
    `${iptables} -w -N ${chain} 2>/dev/null || ${iptables} -w -F ${chain}`,
    ...rules.map((rule) => `${iptables} -w -A ${chain} ${rule}`),
    `${iptables} -w -D FORWARD -j ${chain} 2>/dev/null || :`,
    // DOCKER-USER, where it is called first, is for the machine's operator: it stays in front.
    `if [ "$(${iptables} -w -S FORWARD | grep '^-A' | head -n 1)" = "-A FORWARD -j DOCKER-USER" ]; then at=2; else at=1; fi`,
    `${iptables} -w -I FORWARD $at -j ${chain}`,
    'echo mended',
  ].join('\n');
}

/** A command that fails where the chain is not called. */
export const acceptedCommand = (owner: LinkOwner, iptables: string): string => `${iptables} -w -C FORWARD -j ${chainOf(owner)}`;

const acceptRules = (pods: readonly AddressRange[]): string[] =>
  pods.flatMap(({ text }) => [`-s ${text} -j ACCEPT`, `-d ${text} -j ACCEPT`]);

/** For a shell's `if`: whether all of these rules are there. */
export function hasForward(owner: LinkOwner, pods: readonly AddressRange[], iptables: string): string {
  const chain = chainOf(owner);
  const checks = acceptRules(pods).map((rule) => `${iptables} -w -C ${chain} ${rule}`);
  return `{ ${[acceptedCommand(owner, iptables), ...checks].join(' && ')}; } 2>/dev/null`;
}

/**
 * Whether the table has its rules, and the engine's table the call of our chain: a transaction that changes nothing
 * while both are whole. A chain that nothing calls any more loses its rules by that; the whole check fills it. False
 * also where nft fails.
 */
export async function areRulesThere(nft: Pick<NftProcess, 'run'>, owner: LinkOwner): Promise<boolean> {
  try {
    const states = await Promise.all([askWhole(nft, 'ip', tableOf(owner)), askChain(nft, `ip filter ${chainOf(owner)}`)]);
    return states.every((state) => state === 'used');
  } catch {
    return false;
  }
}

/** A shell script that takes it all away again. */
export function removeScript(owner: LinkOwner, iptables: string): string {
  const chain = chainOf(owner);
  return [
    `nft delete table ip ${tableOf(owner)} 2>/dev/null || :`,
    `${iptables} -w -D FORWARD -j ${chain} 2>/dev/null || :`,
    `${iptables} -w -F ${chain} 2>/dev/null || :`,
    `${iptables} -w -X ${chain} 2>/dev/null || :`,
  ].join('\n');
}
