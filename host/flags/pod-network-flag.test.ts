import { expect, it } from 'vitest';
import { podNetworkError, podRoutesError } from './pod-network-flag.ts';

it('takes the kinds of networks and ways that there are, and names them where it is none', () => {
  expect(['engine', 'routed'].map(podNetworkError)).toEqual([undefined, undefined]);
  expect(['auto', 'direct', 'vxlan'].map(podRoutesError)).toEqual([undefined, undefined, undefined]);
  expect(podNetworkError('flat')).toBe('must be "engine" or "routed"');
  expect(podRoutesError('tunnel')).toBe('must be "auto", "direct" or "vxlan"');
});
