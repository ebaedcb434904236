import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Endpoint, EndpointV1beta1 } from '../../../generated/types.ts';
import { endpointSliceV1beta1 } from './v1beta1.ts';

const { toStored, fromStored } = endpointSliceV1beta1.conversion!;
const slice = (endpoint: Endpoint | EndpointV1beta1) => ({ metadata: {}, addressType: 'IPv4', endpoints: [endpoint] });
const node = 'kubernetes.io/hostname';
const zone = 'topology.kubernetes.io/zone';

it.each<[string, EndpointV1beta1, Endpoint]>([
  ['node and zone', { topology: { [node]: 'n1', [zone]: 'z' } }, { nodeName: 'n1', zone: 'z' }],
  ['a node that is named twice', { nodeName: 'n1', topology: { [node]: 'n1' } }, { nodeName: 'n1' }],
  ['two nodes', { nodeName: 'n1', topology: { [node]: 'n2' } }, { nodeName: 'n1', deprecatedTopology: { [node]: 'n2' } }],
  ['another key', { topology: { rack: '3', [zone]: 'z' } }, { zone: 'z', deprecatedTopology: { rack: '3' } }],
  ['no topology', { addresses: ['10.0.0.1'] }, { addresses: ['10.0.0.1'] }],
])('converts an endpoint with %s', (_title, older, newest) => {
  expect(toStored(slice(older))).toEqual(slice(newest));
});

const some = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(model, { requiredKeys: [], noNullPrototype: true });
const word = fc.constantFrom('a', 'b', 'c');
const shared = { addresses: fc.array(word, { minLength: 1, maxLength: 2 }), hostname: word, nodeName: word };

it('gives an endpoint of discovery.k8s.io/v1 back as it was', () => {
  const rest = fc.dictionary(fc.constantFrom('rack', 'row'), word, { minKeys: 1, noNullPrototype: true });
  fc.assert(
    fc.property(some({ ...shared, zone: word, deprecatedTopology: rest }), (endpoint) => {
      expect(toStored(fromStored(slice(endpoint)))).toEqual(slice(endpoint));
    }),
    { seed: 18 },
  );
});

it('gives an endpoint of v1beta1 back with all that it said', () => {
  const topology = fc.dictionary(fc.constantFrom(node, zone, 'rack'), word, { minKeys: 1, noNullPrototype: true });
  fc.assert(
    fc.property(some({ ...shared, topology }), (endpoint) => {
      expect(fromStored(toStored(slice(endpoint)))).toMatchObject(slice(endpoint));
    }),
    { seed: 18 },
  );
});
