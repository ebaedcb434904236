import { expect, it } from 'vitest';
import type { Lease, Node } from '../../api/generated/types.ts';
import { timestamp } from '../../api/meta/time.ts';
import { describeNodes, describeReadiness, describeScheduler } from './control-plane.ts';

it('names the checks that have failed', () => {
  const page = (status: number, text: string) => describeReadiness({ status, body: Buffer.from(text) });
  expect(page(200, '[+]ping ok\nreadyz check passed\n')).toBe('ready');
  expect(page(500, '[+]ping ok\n[-]storage failed: x\n[-]shutdown failed: y\n')).toBe('not ready: storage, shutdown');
  expect(page(503, 'gone')).toBe('not ready: it does not say why');
});

it('counts on a scheduler as long as its lease lasts', () => {
  const renewed = 1_000_000;
  const lease: Lease = { spec: { holderIdentity: 'a', renewTime: timestamp(new Date(renewed)), leaseDurationSeconds: 15 } };
  const told = (given: Lease | undefined, now: number) => describeScheduler(given, now).text;
  expect(describeScheduler(lease, renewed + 15_000)).toEqual({ isConnected: true, text: 'a places pods' });
  expect(told(lease, renewed + 16_000)).toBe('none: a has been silent for 16 s, and new pods wait');
  const none = 'none: none is connected, and new pods wait';
  expect(told({ spec: { ...lease.spec, holderIdentity: '' } }, renewed)).toBe(none);
  expect(describeScheduler(undefined, renewed)).toEqual({ isConnected: false, text: none });
});

it('names the nodes that are not ready', () => {
  const node = (name: string, status?: string): Node => ({
    metadata: { name },
    status: { conditions: status === undefined ? [] : [{ type: 'Ready', status }] },
  });
  expect(describeNodes([])).toBe('0 of 0 ready');
  expect(describeNodes([node('a', 'True')])).toBe('1 of 1 ready');
  expect(describeNodes([node('a', 'True'), node('b', 'Unknown'), node('c')])).toBe('1 of 3 ready; not ready: b, c');
});
