import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressNumber, isInRange, parseAddressRange } from '../../api/meta/address-range.ts';
import { AddressPool } from './address-pool.ts';

describe('AddressPool', () => {
  it('gives the addresses in turn, and one that was given back last of all', () => {
    const pool = new AddressPool(parseAddressRange('10.42.1.0/29'));
    expect(['a', 'b', 'c'].map((holder) => pool.take(holder))).toEqual(['10.42.1.2', '10.42.1.3', '10.42.1.4']);
    pool.free('10.42.1.3', 'b');
    expect([pool.take('d'), pool.take('e'), pool.take('f')]).toEqual(['10.42.1.5', '10.42.1.6', '10.42.1.3']);
  });

  it('says how many there are when none is left', () => {
    const pool = new AddressPool(parseAddressRange('10.42.1.0/30'));
    pool.take('a');
    expect(() => pool.take('b')).toThrow(
      'all 1 addresses of 10.42.1.0/30 are in use: remove pods, or give the node a larger range',
    );
  });

  it('keeps an address whose holder is another than the one who gives it back', () => {
    const pool = new AddressPool(parseAddressRange('10.42.1.0/29'));
    const address = pool.take('a');
    pool.free(address, 'b');
    expect(pool.holderOf(address)).toBe('a');
  });

  it('goes on behind what an agent before has given, and passes over other networks', () => {
    const pool = new AddressPool(parseAddressRange('10.42.1.0/24'));
    pool.learn([
      { address: '10.42.1.9', holder: 'a' },
      { address: '172.17.0.2', holder: 'b' },
      { address: 'none', holder: 'c' },
    ]);
    expect(pool.held).toBe(1);
    expect(pool.take('d')).toBe('10.42.1.10');
  });

  it('begins anew behind the last address', () => {
    const pool = new AddressPool(parseAddressRange('10.42.1.0/29'));
    pool.learn([{ address: '10.42.1.6', holder: 'a' }]);
    expect(pool.take('b')).toBe('10.42.1.2');
  });

  it('refuses a range without room', () => {
    expect(() => new AddressPool(parseAddressRange('10.42.1.0/31'))).toThrow('10.42.1.0/31 has no room for pods');
  });

  it('never gives an address to two, and none outside of the range, whatever comes and goes', () => {
    const steps = fc.array(fc.oneof(fc.constant('take' as const), fc.nat(40)), { maxLength: 200 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 26, max: 30 }), (all, prefix) => {
        const range = parseAddressRange(`10.42.1.0/${prefix}`);
        const pool = new AddressPool(range);
        const held: { readonly address: string; readonly holder: string }[] = [];
        for (const [index, step] of all.entries()) {
          const holder = `h${index}`;
          if (step !== 'take') {
            const [gone] = held.splice(step % Math.max(1, held.length), 1);
            if (gone) pool.free(gone.address, gone.holder);
          } else if (held.length === pool.capacity) expect(() => pool.take(holder)).toThrow('in use');
          else held.push({ address: pool.take(holder), holder });
          expect(new Set(held.map(({ address }) => address)).size).toBe(held.length);
          expect(
            held.every(({ address }) => isInRange(range, addressNumber(address) ?? -1) && pool.holderOf(address) !== undefined),
          ).toBe(true);
          expect(pool.held).toBe(held.length);
        }
      }),
    );
  });
});
