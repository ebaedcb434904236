import { expect, it } from 'vitest';
import { podNetworkOf } from './pod-network-flag.ts';

it.each([
  [undefined, 0, 'routed'],
  [undefined, 1000, 'engine'],
  ['engine', 0, 'engine'],
  ['routed', 1000, 'routed'],
])('has for the flag %s of user %s the network %s', (given, uid, expected) => expect(podNetworkOf(given, uid)).toBe(expected));
