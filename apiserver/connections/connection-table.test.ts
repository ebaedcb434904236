import { describe, expect, it } from 'vitest';
import { type Connection, ConnectionTable, peerOf } from './connection-table.ts';

class Fake implements Connection {
  known = false;
  readonly name: string;
  readonly peer: string;
  constructor(name: string, peer = 'a') {
    this.name = name;
    this.peer = peer;
  }
  isKnown(): boolean {
    return this.known;
  }
}

const limits = { total: 6, perPeer: 4, unknownTotal: 4, unknownPerPeer: 2 };
const names = (table: ConnectionTable<Fake>): string[] => [...table].map(({ name }) => name);

describe('ConnectionTable', () => {
  it('evicts the oldest unauthenticated connection of an address for a new one from there', () => {
    const table = new ConnectionTable<Fake>(limits);
    for (const name of ['1', '2']) expect(table.admit(new Fake(name))).toEqual({ admitted: true });
    expect(table.admit(new Fake('3'))).toMatchObject({ admitted: true, evicted: { name: '1' }, limit: 'peer' });
    expect(names(table)).toEqual(['2', '3']);
  });

  it('never evicts an authenticated connection for a new one', () => {
    const table = new ConnectionTable<Fake>(limits);
    const own = Array.from({ length: 4 }, (_, i) => new Fake(`known-${i}`));
    for (const each of own) {
      expect(table.admit(each)).toEqual({ admitted: true });
      each.known = true;
    }
    expect(table.admit(new Fake('one more'))).toEqual({ admitted: false, limit: 'peer' });
    table.leave(own[0]!);
    expect(table.admit(new Fake('one more'))).toEqual({ admitted: true });
  });

  it('lets no address take the room of the others', () => {
    const table = new ConnectionTable<Fake>(limits);
    for (let i = 0; i < 50; i++) table.admit(new Fake(`flood-${i}`, 'bad'));
    expect(table.size).toBe(2);
    expect(table.admit(new Fake('good', 'b'))).toEqual({ admitted: true });
  });

  it('bounds those of many addresses together, the oldest unknown first', () => {
    const table = new ConnectionTable<Fake>(limits);
    for (let i = 0; i < 4; i++) table.admit(new Fake(`${i}`, `peer-${i}`));
    expect(table.admit(new Fake('4', 'peer-4'))).toMatchObject({ evicted: { name: '0' }, limit: 'total' });
    for (const each of table) each.known = true;
    for (let i = 0; i < 2; i++) {
      const more = new Fake(`more-${i}`, `other-${i}`);
      expect(table.admit(more)).toEqual({ admitted: true });
      more.known = true;
    }
    expect(table.admit(new Fake('too many', 'late'))).toEqual({ admitted: false, limit: 'total' });
  });

  it('remembers nothing of those that left', () => {
    const table = new ConnectionTable<Fake>(limits);
    for (let i = 0; i < 100; i++) {
      const each = new Fake(`${i}`);
      expect(table.admit(each)).toEqual({ admitted: true });
      table.leave(each);
    }
    expect(table.size).toBe(0);
  });
});

describe('peerOf', () => {
  it.each([
    ['10.0.0.7', '10.0.0.7'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['::1', '::1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::7', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, 'unknown'],
  ])('counts %s as %s', (address, peer) => expect(peerOf(address)).toBe(peer));
});
