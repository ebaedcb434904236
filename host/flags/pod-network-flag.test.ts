import { expect, it } from 'vitest';
import { podNetworkError, podNetworkOf, podRoutesError } from './pod-network-flag.ts';

it.each([
  [undefined, 0, 'routed'],
  [undefined, 1000, 'engine'],
  ['engine', 0, 'engine'],
  ['routed', 1000, 'routed'],
])('has for the flag %s of user %s the network %s', (given, uid, expected) => expect(podNetworkOf(given, uid)).toBe(expected));

it('takes the kinds of networks and ways that there are, and names them where it is none', () => {
  expect(['engine', 'routed'].map(podNetworkError)).toEqual([undefined, undefined]);
  expect(['auto', 'direct', 'vxlan'].map(podRoutesError)).toEqual([undefined, undefined, undefined]);
  expect(podNetworkError('flat')).toBe('must be "engine" or "routed"');
  expect(podRoutesError('tunnel')).toBe('must be "auto", "direct" or "vxlan"');
});
