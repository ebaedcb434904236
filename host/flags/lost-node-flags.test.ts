import { expect, it } from 'vitest';
import { evictionRatesOf, lostNodeErrors, lostNodeSecondsOf } from './lost-node-flags.ts';

it('says nothing where nothing is said', () => {
  expect([lostNodeErrors({}), evictionRatesOf({})]).toEqual([[], {}]);
  expect(lostNodeSecondsOf({})).toEqual({ notReady: undefined, unreachable: undefined });
});

it('takes numbers, also none', () => {
  const flags = { nodeEvictionRate: '0', unhealthyZoneThreshold: '0.7', defaultUnreachableTolerationSeconds: '20' };
  expect(lostNodeErrors(flags)).toEqual([]);
  expect(evictionRatesOf(flags)).toEqual({ nodeEvictionRate: 0, unhealthyZoneThreshold: 0.7 });
  expect(lostNodeSecondsOf(flags).unreachable).toBe(20);
});

it.each([
  [{ nodeEvictionRate: '-1' }, '--node-eviction-rate "-1" must be a number from 0.0001 to 1000, e.g. 0.1, or 0 for none'],
  [{ secondaryNodeEvictionRate: 'x' }, '--secondary-node-eviction-rate "x" must be a number from 0.0001 to 1000'],
  [{ unhealthyZoneThreshold: '55' }, '--unhealthy-zone-threshold "55" must be a number from 0 to 1, e.g. 0.55'],
  [{ largeClusterSizeThreshold: '1.5' }, '--large-cluster-size-threshold "1.5" must be a whole number, 0 or more'],
  [{ defaultNotReadyTolerationSeconds: '' }, '--default-not-ready-toleration-seconds "" must be a whole number of seconds'],
  [{ defaultUnreachableTolerationSeconds: '5m' }, '--default-unreachable-toleration-seconds "5m" must be a whole number'],
])('refuses %j', (flags, sentence) => {
  expect(lostNodeErrors(flags).join()).toContain(sentence);
});
