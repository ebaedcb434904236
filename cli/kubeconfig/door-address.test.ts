import { expect, it } from 'vitest';
import { computeDoorAddress } from './door-address.ts';

const isOwn = (host: string): boolean => host === '10.0.0.5';

it.each<[string, string[], string, string]>([
  ['the listen address on the same machine', ['127.0.0.1:6443'], '127.0.0.1:7443', '127.0.0.1:6443'],
  ['the listen address where gRPC is reached by a name of this machine', ['127.0.0.1:6443'], 'localhost:7443', '127.0.0.1:6443'],
  [
    'the listen address where gRPC is reached by an address of this machine',
    ['127.0.0.1:6443'],
    '10.0.0.5:7443',
    '127.0.0.1:6443',
  ],
  ['the host of gRPC where it listens everywhere', ['0.0.0.0:6443'], 'berth.example.com:7443', 'berth.example.com:6443'],
  ['the host of gRPC where it listens everywhere, IPv6', ['[::]:6443'], '[2001:db8::1]:7443', '[2001:db8::1]:6443'],
  ['the advertised address on another machine', ['127.0.0.1:6443', '10.0.0.9:6443'], '10.0.0.9:7443', '10.0.0.9:6443'],
  ['the advertised address where gRPC is reached by a name', ['127.0.0.1:6443', '10.0.0.9:6443'], 'far:7443', '10.0.0.9:6443'],
  [
    'the listen address here although another is advertised',
    ['127.0.0.1:6443', '10.0.0.9:6443'],
    '127.0.0.1:1',
    '127.0.0.1:6443',
  ],
  ['one address that it listens at', ['192.0.2.7:6443'], '10.0.0.9:7443', '192.0.2.7:6443'],
])('is %s', (_title, served, reached, expected) => {
  expect(computeDoorAddress(served, reached, isOwn)).toBe(expected);
});

it('is none on another machine where the server serves its own machine alone', () => {
  expect(() => computeDoorAddress(['127.0.0.1:6443'], '10.0.0.9:7443', isOwn)).toThrow(
    "the server serves Kubernetes' HTTP API at 127.0.0.1:6443, for programs of its own machine: start it with --kubernetes-listen 0.0.0.0:6443, or say with --server URL",
  );
  expect(() => computeDoorAddress([], '10.0.0.9:7443', isOwn)).toThrow("the server does not serve Kubernetes' HTTP API");
});
