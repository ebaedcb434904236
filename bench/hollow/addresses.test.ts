import { describe, expect, it } from 'vitest';
import { createAddressPool } from './addresses.ts';

describe('the addresses of hollow pods', () => {
  it('lie in 10.64.0.0/10, and those of another prefix begin elsewhere', () => {
    const [a, b] = ['a', 'b'].map((seed) => createAddressPool(seed).take());
    expect(a).not.toBe(b);
    for (const address of [a!, b!]) {
      const [first, second] = address.split('.').map(Number);
      expect(first).toBe(10);
      expect(second! & 192).toBe(64);
    }
  });

  it('are given once at a time, and not at once again', () => {
    const pool = createAddressPool('seed', 3);
    const [one, two] = [pool.take(), pool.take()];
    pool.giveBack(two);
    const three = pool.take();
    expect(new Set([one, two, three]).size).toBe(3);
    expect(pool.take()).toBe(two);
  });

  it('throw when all are given', () => {
    const pool = createAddressPool('seed', 1);
    pool.take();
    expect(() => pool.take()).toThrow('all 1 addresses of hollow pods are taken');
  });
});
