import { expect, it } from 'vitest';
import type { Mount } from '../runtime.ts';
import { networkMounts } from './network-files.ts';

it("mounts the network's list of name servers where the container has none of its own", () => {
  const mount = (containerPath: string): Mount => ({ containerPath, hostPath: '/own', readOnly: true, propagation: 'rprivate' });
  const targets = (path: string, ...own: string[]) =>
    networkMounts(path, own.map(mount)).map((each) => [each.containerPath, each.hostPath]);
  expect(targets('/engine/resolv.conf', '/etc/hosts')).toEqual([['/etc/resolv.conf', '/engine/resolv.conf']]);
  expect(targets('/engine/resolv.conf', '/etc/resolv.conf')).toEqual([]);
  expect(targets('')).toEqual([]);
});
