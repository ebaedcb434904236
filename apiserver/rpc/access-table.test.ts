import { describe, expect, it } from 'vitest';
import { kinds } from '../../api/kinds/index.ts';
import { AccessTable } from '../calls/access-table.ts';
import { serviceDefinition } from './definitions.ts';

const table = new AccessTable();
for (const kind of kinds) table.add(kind);

it('declares the access of every method of every kind', () => {
  for (const { service } of kinds) expect(() => table.require(serviceDefinition(service))).not.toThrow();
});

it('rejects a service with a method that declares no access', () => {
  const definition = serviceDefinition('berth.meta.v1.Objects');
  const stolen = { Steal: { ...definition.Get!, path: '/berth.meta.v1.Objects/Steal' } };
  expect(() => table.require({ ...definition, ...stolen })).toThrow('method /berth.meta.v1.Objects/Steal declares no access');
});

describe('a method that asks for', () => {
  it.each([
    ['its verb of its kind', '/berth.core.v1.Pods/Get', 'get', 'Pod'],
    ['a subresource', '/berth.core.v1.Pods/Patch', 'patch-status', 'Pod'],
    ['the kind of the request', '/berth.meta.v1.Objects/Delete', 'delete', 'Secret'],
    ['one of several kinds', '/berth.metrics.v1.UsageHistories/Get', 'get', 'Node'],
  ] as const)('%s may', (_title, path, verb, kind) => {
    expect(() => table.check(path, { verb, kind })).not.toThrow();
  });

  it.each([
    ['another verb', '/berth.core.v1.Pods/Get', 'list', 'Pod'],
    ['another kind', '/berth.core.v1.Pods/Get', 'get', 'Secret'],
    ['a verb that begins alike', '/berth.core.v1.Pods/UpdateStatus', 'update', 'Pod'],
    ['anything, and is not known', '/berth.core.v1.Pods/Steal', 'get', 'Pod'],
  ] as const)('%s fails', (_title, path, verb, kind) => {
    expect(() => table.check(path, { verb, kind })).toThrow('which it does not declare');
  });
});

it('knows which methods ask for paths, for nodes, or for each item', () => {
  expect(() => table.checkPath('/berth.meta.v1.Objects/Kinds')).not.toThrow();
  expect(() => table.checkPath('/berth.core.v1.Pods/Get')).toThrow('asks for a path');
  expect(() => table.checkNode('/berth.node.v1.Tunnel/Control')).not.toThrow();
  expect(() => table.checkNode('/berth.core.v1.Pods/Get')).toThrow('asks for a node');
  expect(table.isOfItems('/berth.meta.v1.Objects/Bulk')).toBe(true);
  expect(table.isOfItems('/berth.core.v1.Pods/Watch')).toBe(false);
});
