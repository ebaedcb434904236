import { expect, it } from 'vitest';
import { type DoorPlace, decideDoorPlace } from './door-place.ts';

const own = ['192.0.2.7', '198.51.100.9'];
const place = (address: string, isReady = true): DoorPlace => ({ address, port: 6443, isReady });

it.each<[string, string, string | undefined, readonly string[], DoorPlace | undefined]>([
  ['the address at which it listens', '192.0.2.8:6443', undefined, own, place('192.0.2.8')],
  ['the advertised one', '127.0.0.1:6443', '203.0.113.5', own, place('203.0.113.5')],
  ['one of the machine, where it listens everywhere', '0.0.0.0:6443', undefined, own, place('192.0.2.7')],
  [
    'one of the machine that is not ready, where it listens for its own programs',
    '127.0.0.1:6443',
    undefined,
    own,
    place('192.0.2.7', false),
  ],
  ['one of the machine, where a name is advertised', '[::]:6443', 'berth.example.com', own, place('192.0.2.7')],
  ['of IPv6', '[2001:db8::1]:6443', undefined, own, place('2001:db8::1')],
  ['none on a machine without a network', '127.0.0.1:6443', '127.0.0.1', [], undefined],
])('the place of the door is %s', (_title, listen, advertised, addresses, wanted) =>
  expect(decideDoorPlace(listen, advertised, addresses)).toEqual(wanted),
);
