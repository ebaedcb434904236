import { expect, it } from 'vitest';
import { kinds } from '../../api/kinds/index.ts';
import type { Connection } from '../connection/connection.ts';
import { clientPropertyOf, createKindClients } from './kind-clients.ts';

it('gives each kind a client under its plural', () => {
  const clients = createKindClients({} as Connection);
  expect(Object.keys(clients).map((name) => name.toLowerCase())).toEqual(kinds.map(({ plural }) => plural));
  expect(clients.certificateSigningRequests.list).toBeTypeOf('function');
  expect(clients.storageClasses.get).toBeTypeOf('function');
  expect(clients.pods.bind).toBeTypeOf('function');
  expect(clients.namespaces.finalize).toBeTypeOf('function');
  expect(clients.serviceAccounts.createToken).toBeTypeOf('function');
});

it.each([
  ['ConfigMap', 'configMaps'],
  ['StorageClass', 'storageClasses'],
  ['NodeMetrics', 'nodeMetrics'],
  ['NetworkPolicy', 'networkPolicies'],
  ['Gateway', 'gateways'],
])('the client of %s is %s', (kind, property) => {
  expect(clientPropertyOf(kind)).toBe(property);
});
