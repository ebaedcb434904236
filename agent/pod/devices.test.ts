import { describe, expect, it } from 'vitest';
import type { Container } from '../../api/generated/types.ts';
import { parseNodeConfig } from '../config/node-config.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { createDeviceBook, withDevices } from './devices.ts';

const { devices: offer } = parseNodeConfig({
  devices: [
    { resource: 'example.com/camera', paths: ['/dev/video0'] },
    { resource: 'example.com/camera', paths: ['/dev/video1', '/dev/media1'], permissions: 'rw' },
    { resource: 'example.com/fuse', paths: ['/dev/fuse:/dev/fuse'], count: 2 },
  ],
});
const wants = (name: string, limits: Record<string, number>): Container => ({
  name,
  resources: { limits: Object.fromEntries(Object.entries(limits).map(([key, amount]) => [key, { string: String(amount) }])) },
});
const observed = (podUid: string, containerName: string, change: Partial<ObservedContainer>) =>
  ({ podUid, containerName, attempt: 0, state: 'running', ...change }) as ObservedContainer;

function setUp(...containers: ObservedContainer[]) {
  return { containers, book: createDeviceBook(offer, () => containers) };
}
const camera = (name: string, amount = 1) => wants(name, { 'example.com/camera': amount });

describe('the devices of a container', () => {
  it('are none without asking, and none that the node does not have', () => {
    const { book } = setUp();
    expect(book.give('u', wants('c', { cpu: 1, 'example.com/other': 1 }))).toEqual({ held: {}, devices: [] });
  });

  it('are all of a unit, which no other container gets while it runs or starts', () => {
    const { book } = setUp(observed('a', 'x', { heldUnits: { 'example.com/camera': ['/dev/video0#0'] } }));
    expect(book.give('u', camera('c'))).toEqual({
      held: { 'example.com/camera': ['/dev/video1,/dev/media1#0'] },
      devices: [
        { hostPath: '/dev/video1', containerPath: '/dev/video1', permissions: 'rw' },
        { hostPath: '/dev/media1', containerPath: '/dev/media1', permissions: 'rw' },
      ],
    });
    expect(() => book.give('v', camera('c'))).toThrow('1 of example.com/camera asked for, 0 free on this node');
  });

  it('are free again when their container has ended, or has not come to be', () => {
    const { book, containers } = setUp();
    book.give('u', camera('c', 2));
    expect(() => book.give('v', camera('c'))).toThrow('0 free');
    containers.push(observed('u', 'c', { heldUnits: { 'example.com/camera': ['/dev/video0#0'] } }));
    book.settled('u', 'c');
    expect(() => book.give('v', camera('c', 2))).toThrow('1 free');
    containers[0] = observed('u', 'c', { state: 'exited', heldUnits: { 'example.com/camera': ['/dev/video0#0'] } });
    expect(book.give('v', camera('c', 2)).devices).toHaveLength(3);
    book.settled('v', 'c');
    expect(book.give('w', camera('c', 2)).devices).toHaveLength(3);
  });

  it('are the same again after a restart where they are free', () => {
    const held = { 'example.com/camera': ['/dev/video1,/dev/media1#0'] };
    const { book } = setUp(observed('u', 'c', { attempt: 3, state: 'exited', heldUnits: held }));
    expect(book.give('u', camera('c')).held).toEqual(held);
  });

  it('are shown once where several units share one', () => {
    const given = setUp().book.give('u', wants('c', { 'example.com/fuse': 2 }));
    expect([given.held, given.devices.length]).toEqual([
      { 'example.com/fuse': ['/dev/fuse:/dev/fuse#0', '/dev/fuse:/dev/fuse#1'] },
      1,
    ]);
  });
});

it('a node offers what is there, beside what it has', () => {
  const cpu = { string: '4' };
  expect(withDevices({ capacity: { cpu }, allocatable: { cpu } }, offer, (path) => path !== '/dev/media1')).toEqual({
    capacity: { cpu, 'example.com/camera': { string: '2' }, 'example.com/fuse': { string: '2' } },
    allocatable: { cpu, 'example.com/camera': { string: '1' }, 'example.com/fuse': { string: '2' } },
  });
});

describe('the configuration of a node', () => {
  it('may be empty', () => {
    expect(parseNodeConfig({})).toEqual({ allowedUnsafeSysctls: [], devices: new Map() });
  });

  const one = { resource: 'example.com/x', paths: ['/dev/x'] };
  it.each<[string, unknown, string]>([
    [
      'makes volumes nowhere but in a folder: volumes',
      { localPathFolder: 'volumes' },
      'localPathFolder: must be the absolute path',
    ],
    ['makes volumes nowhere but in a folder: /', { localPathFolder: '/' }, 'localPathFolder: must be the absolute path'],
    [
      'makes volumes nowhere but in a folder: /a/../b',
      { localPathFolder: '/a/../b' },
      'localPathFolder: must be the absolute path',
    ],
    ['makes volumes nowhere but in a folder: /a/', { localPathFolder: '/a/' }, 'localPathFolder: must be the absolute path'],
    ['is no text', 'x', 'the file: must have members'],
    ['has no unknown members', { device: [] }, 'device: is not known; there are allowedUnsafeSysctls, devices'],
    [
      'allows no parameter of the machine',
      { allowedUnsafeSysctls: ['vm.*'] },
      'allowedUnsafeSysctls: "vm.*" belongs to the whole machine',
    ],
    [
      'names resources with a domain',
      { devices: [{ ...one, resource: 'x' }] },
      'devices[0].resource: must be a name with a domain',
    ],
    ['names devices by their paths', { devices: [{ ...one, paths: ['dev/x'] }] }, 'devices[0].paths: "dev/x" is not the path'],
    ['does not climb', { devices: [{ ...one, paths: ['/dev/../x'] }] }, 'is not the path of a device'],
    ['names two paths at most', { devices: [{ ...one, paths: ['/a:/b:/c'] }] }, 'is not the path of a device'],
    ['names at least one device', { devices: [{ ...one, paths: [] }] }, 'devices[0].paths: names no device'],
    [
      'gives permissions of three letters',
      { devices: [{ ...one, permissions: 'rx' }] },
      'devices[0].permissions: must be of the letters',
    ],
    [
      'gives each permission once',
      { devices: [{ ...one, permissions: 'rr' }] },
      'devices[0].permissions: must be of the letters',
    ],
    ['counts to a thousand', { devices: [{ ...one, count: 1001 }] }, 'devices[0].count: must be a number from 1 to 1000'],
    ['offers nothing twice', { devices: [one, one] }, 'devices[1].paths: offers /dev/x twice as example.com/x'],
  ])('%s', (_title, value, words) => {
    expect(() => parseNodeConfig(value)).toThrow(words);
  });
});
