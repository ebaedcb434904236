import { describe, expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { groups, nodeUser } from '../authn/identity.ts';
import { LimitKeeper } from './client-limits.ts';
import { FairShare } from './fair-share.ts';
import { flowOf } from './levels.ts';
import { TokenBuckets } from './token-buckets.ts';

const enter = (pool: FairShare, client: string, times: number): number =>
  Array.from({ length: times }, () => pool.enter(client)).filter(Boolean).length;

describe('FairShare', () => {
  it('gives one client everything as long as no other client calls', () => {
    const pool = new FairShare({ busyAt: 100, least: 5 });
    expect(enter(pool, 'a', 150)).toBe(100);
    expect(pool.total).toBe(100);
  });

  it('serves the others when one has taken everything, each up to an equal share', () => {
    const pool = new FairShare({ busyAt: 100, least: 5 });
    enter(pool, 'a', 150);
    expect(enter(pool, 'b', 80)).toBe(50);
    expect(enter(pool, 'c', 80)).toBe(33);
    expect(pool.enter('a')).toBe(false);
  });

  it('takes places back from the one that had too many as its calls end', () => {
    const pool = new FairShare({ busyAt: 10, least: 1 });
    enter(pool, 'a', 10);
    expect(enter(pool, 'b', 5)).toBe(5);
    for (let i = 0; i < 5; i++) pool.leave('a');
    expect(pool.total).toBe(10);
    expect(pool.enter('a')).toBe(false);
    pool.leave('a');
    expect(pool.enter('a')).toBe(true);
  });

  it('never leaves a client with less than the least, however many there are', () => {
    const pool = new FairShare({ busyAt: 10, least: 3 });
    for (let i = 0; i < 20; i++) expect(enter(pool, `client-${i}`, 5)).toBe(i < 2 ? 5 : 3);
  });

  it('counts who is exempt without refusing them', () => {
    const pool = new FairShare({ busyAt: 10, least: 1 });
    for (let i = 0; i < 30; i++) expect(pool.enter('scheduler', true)).toBe(true);
    expect(enter(pool, 'a', 10)).toBe(5);
  });

  it('remembers only clients that have a place', () => {
    const pool = new FairShare({ busyAt: 10, least: 1 });
    pool.enter('a');
    pool.enter('b');
    pool.leave('a');
    pool.leave('nobody');
    expect([...pool.clients]).toEqual(['b']);
    expect(pool.total).toBe(1);
  });
});

describe('LimitKeeper', () => {
  const limits = { maxInflight: 20, maxStreams: 20, clientRate: 0, clientBurst: 0 };
  const keeper = () => new LimitKeeper(limits, { metrics: new MetricsRegistry(), now: () => 0 });
  const [tenant, admin, node] = [
    flowOf({ user: 'anna', groups: [] }),
    flowOf({ user: 'admin', groups: [groups.masters] }),
    flowOf({ user: nodeUser('n1'), groups: [groups.nodes] }),
  ];

  it.each(['unary', 'stream'] as const)('lets no level take the %s calls of another, and says which one is busy', (shape) => {
    const made = keeper();
    for (const flow of [tenant, admin, node]) {
      for (let i = 0; i < 20; i++) made.enter(flow, shape);
      expect(() => made.enter(flow, shape)).toThrow(`${flow.name} has its share of 20`);
      expect(() => made.enter(flow, shape)).toThrow(`(priority level "${flow.level}")`);
    }
    made.leave(tenant, shape);
    made.enter(tenant, shape);
  });
});

describe('TokenBuckets', () => {
  it('takes a burst, then as many calls as are filled in, and says when the next may come', () => {
    let now = 0;
    const buckets = new TokenBuckets({ rate: 10, burst: 3 }, () => now);
    expect([1, 2, 3, 4].map(() => buckets.take('a'))).toEqual([0, 0, 0, 100]);
    expect(buckets.take('b')).toBe(0);
    now = 60;
    expect(buckets.take('a')).toBe(40);
    now = 100;
    expect(buckets.take('a')).toBe(0);
    now = 100_000;
    expect([1, 2, 3, 4].map(() => buckets.take('a'))).toEqual([0, 0, 0, 100]);
  });

  it('forgets the client heard of longest ago when there are too many', () => {
    const buckets = new TokenBuckets({ rate: 1, burst: 1 }, () => 0);
    for (let i = 0; i < 10_500; i++) buckets.take(`client-${i}`);
    expect(buckets.size).toBe(10_000);
    expect(buckets.take('client-10499')).toBeGreaterThan(0);
    expect(buckets.take('client-0')).toBe(0);
  });
});
