import { expect } from 'vitest';
import type { GroupChain, PacketMatch } from '../../agent/network-policy/compile-group.ts';
import type { PolicyDifference } from '../../agent/network-policy/journal.ts';
import { baseSets } from '../../agent/network-policy/layout.ts';
import { addressNumber } from '../../api/meta/address-range.ts';

/** A packet that begins a connection. */
export interface Packet {
  readonly from: string;
  readonly to: string;
  readonly protocol: string;
  readonly port: number;
}

/**
 * What nft does with transactions (it refuses what is there already, or missing, or in use), and what the table's
 * chains do with a packet.
 */
export class PolicyTableModel {
  readonly #sets = new Map<string, Map<string, string>>(Object.keys(baseSets).map((name) => [name, new Map()]));
  readonly #chains = new Map<string, GroupChain>();

  apply({ removed, added, removedChains, addedChains, removedSets, addedSets }: PolicyDifference): void {
    for (const { set, key, value } of removed) {
      expect(this.#sets.get(set)?.get(key)).toBe(value);
      this.#sets.get(set)?.delete(key);
    }
    for (const name of removedChains) {
      expect(this.#verdicts()).not.toContain(`jump ${name}`);
      expect(this.#chains.delete(name)).toBe(true);
    }
    for (const name of removedSets) {
      expect([...this.#chains.values()].flatMap(({ sets }) => sets.map((set) => set.name))).not.toContain(name);
      expect(this.#sets.delete(name)).toBe(true);
    }
    for (const { name } of addedSets) {
      expect(this.#sets.has(name)).toBe(false);
      this.#sets.set(name, new Map());
    }
    for (const chain of addedChains) {
      expect(this.#chains.has(chain.name)).toBe(false);
      for (const { name } of chain.sets) expect([...this.#sets.keys()]).toContain(name);
      this.#chains.set(chain.name, chain);
    }
    for (const { set, key, value } of added) {
      expect(this.#sets.get(set)?.has(key), `${set} ${key}`).toBe(false);
      if (value.startsWith('jump ')) expect([...this.#chains.keys()]).toContain(value.slice('jump '.length));
      this.#sets.get(set)?.set(key, value);
    }
  }

  /** Everything, in an order of its own. */
  content(): unknown {
    const sets = [...this.#sets].map(([name, elements]) => [name, [...elements].sort()]);
    return [sets.sort(), [...this.#chains].map(([name, { rules }]) => [name, rules]).sort()];
  }

  lets(packet: Packet): boolean {
    if (this.#sets.get('itself')?.has(`${packet.from} . ${packet.to}`)) return true;
    return this.#passes('egress', packet.from, packet.to, packet) && this.#passes('ingress', packet.to, packet.from, packet);
  }

  #verdicts(): string[] {
    return ['ingress', 'egress'].flatMap((name) => [...(this.#sets.get(name)?.values() ?? [])]);
  }

  #passes(direction: 'ingress' | 'egress', end: string, other: string, packet: Packet): boolean {
    const verdict = this.#sets.get(direction)?.get(end);
    if (verdict === undefined) return true;
    if (verdict === 'drop') return false;
    return this.#chains.get(verdict.slice('jump '.length))!.matches.some((match) => this.#holds(match, other, packet));
  }

  #holds({ peers, ports, named }: PacketMatch, other: string, { to, protocol, port }: Packet): boolean {
    const place = `${protocol.toLowerCase()} . ${port}`;
    if (named && !this.#sets.get(named.name)?.has(`${to} . ${place}`)) return false;
    if (ports && !ports.some((each) => each.protocol === protocol.toLowerCase() && each.first <= port && port <= each.last))
      return false;
    if (peers === undefined) return true;
    if ('set' in peers) return this.#sets.get(peers.set.name)?.has(other) === true;
    const number = addressNumber(other) ?? -1;
    return peers.blocks.some(({ first, last }) => first <= number && number <= last);
  }
}
