import { describe, expect, it } from 'vitest';
import type { EndpointSlice, Endpoints, ObjectMeta } from '../../api/generated/types.ts';
import { serviceOf } from '../endpoint-slice/test-services.ts';
import type { SlicePlan } from '../slices/write.ts';
import { decideMirror, mostOfSubset } from './decide.ts';

const service = serviceOf({ selector: {} });
const http = { name: 'http', port: 8080, protocol: 'TCP' };

const endpointsOf = (subsets: Endpoints['subsets'], metadata: ObjectMeta = {}): Endpoints => ({
  metadata: { name: 'web', namespace: 'default', uid: 'endpoints', ...metadata },
  subsets: subsets ?? [],
});

const one = [{ addresses: [{ ip: '192.0.2.1' }], ports: [http] }];

const decide = (
  endpoints: Endpoints | undefined,
  slices: readonly EndpointSlice[] = [],
  of: typeof service | undefined = service,
) => decideMirror({ service: of, endpoints, slices });

/** The slices that there are when the plan is carried out; new ones get names. */
function carriedOut(
  before: readonly EndpointSlice[],
  { create, update, delete: gone }: SlicePlan<EndpointSlice>,
): EndpointSlice[] {
  const next = new Map(update.map((slice) => [slice.metadata?.name, slice]));
  const kept = before.filter((slice) => !gone.includes(slice)).map((slice) => next.get(slice.metadata?.name) ?? slice);
  return [...kept, ...create.map((slice, i) => ({ ...slice, metadata: { ...slice.metadata, name: `web-${kept.length + i}` } }))];
}

const writes = ({ create, update, delete: gone }: SlicePlan<EndpointSlice>) => [create.length, update.length, gone.length];

describe('the slices of Endpoints that others write', () => {
  it('say the same, belong to them, and are written once', () => {
    const endpoints = endpointsOf(
      [
        {
          addresses: [{ ip: '192.0.2.1', hostname: 'a', nodeName: 'n1', targetRef: { kind: 'Pod', name: 'p' } }],
          notReadyAddresses: [{ ip: '192.0.2.2' }],
          ports: [http],
        },
      ],
      {
        labels: { team: 'a' },
        annotations: {
          note: 'x',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
          'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z',
        },
      },
    );
    const plan = decide(endpoints);
    expect(plan).toEqual({
      create: [
        {
          metadata: {
            generateName: 'web-',
            namespace: 'default',
            labels: {
              team: 'a',
              'kubernetes.io/service-name': 'web',
              'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
            },
            annotations: { note: 'x' },
            ownerReferences: [
              { apiVersion: 'v1', kind: 'Endpoints', name: 'web', uid: 'endpoints', controller: true, blockOwnerDeletion: true },
            ],
          },
          addressType: 'IPv4',
          endpoints: [
            {
              addresses: ['192.0.2.1'],
              conditions: { ready: true },
              ...{ hostname: 'a', nodeName: 'n1', targetRef: { kind: 'Pod', name: 'p' } },
            },
            { addresses: ['192.0.2.2'], conditions: { ready: false } },
          ],
          ports: [http],
        },
      ],
      update: [],
      delete: [],
    });
    expect(writes(decide(endpoints, carriedOut([], plan)))).toEqual([0, 0, 0]);
  });

  it('are one for each family and each set of ports, and subsets of the same ports share one', () => {
    const plan = decide(
      endpointsOf([
        { addresses: [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }], ports: [{ port: 80 }] },
        { addresses: [{ ip: '192.0.2.2' }], notReadyAddresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80, protocol: 'TCP' }] },
        { notReadyAddresses: [{ ip: '192.0.2.3' }, { ip: 'no address' }], ports: [{ port: 80 }] },
        { addresses: [{ ip: '192.0.2.3' }], ports: [{ port: 80 }] },
        { addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 81, name: 'b', appProtocol: 'http' }] },
      ]),
    );
    const told = plan.create.map(({ addressType, ports, endpoints = [] }) => [
      addressType,
      ports,
      endpoints.map(({ addresses, conditions }) => `${addresses} ${conditions?.ready}`),
    ]);
    expect(told).toEqual([
      ['IPv4', [{ name: '', protocol: 'TCP', port: 80 }], ['192.0.2.1 true', '192.0.2.2 true', '192.0.2.3 true']],
      ['IPv6', [{ name: '', protocol: 'TCP', port: 80 }], ['2001:db8::1 true']],
      ['IPv4', [{ name: 'b', protocol: 'TCP', port: 81, appProtocol: 'http' }], ['192.0.2.1 true']],
    ]);
  });

  it('follow an address, a label and a note, and go with the last address', () => {
    const before = carriedOut([], decide(endpointsOf(one, { annotations: { note: 'x' } })));
    const moved = decide(endpointsOf([{ addresses: [{ ip: '192.0.2.9' }], ports: [http] }]), before);
    expect(writes(moved)).toEqual([0, 1, 0]);
    const [slice] = carriedOut(before, moved);
    expect([slice?.endpoints?.[0]?.addresses, slice?.metadata?.annotations]).toEqual([['192.0.2.9'], undefined]);
    expect(writes(decide(endpointsOf(one, { labels: { a: 'b' } }), before))).toEqual([0, 1, 0]);
    expect(writes(decide(endpointsOf([]), before))).toEqual([0, 0, 1]);
  });

  it.each<[string, Endpoints | undefined, typeof service | undefined]>([
    ['there are none', undefined, service],
    ['there is no service', endpointsOf(one), undefined],
    ['the service has a selector', endpointsOf(one), serviceOf()],
    ['they are being deleted', endpointsOf(one, { deletionTimestamp: { seconds: 1 } }), service],
    [
      'the service is being deleted',
      endpointsOf(one),
      { ...service, metadata: { ...service.metadata, deletionTimestamp: { seconds: 1 } } },
    ],
    ['their label says so', endpointsOf(one, { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }), service],
    [
      'the endpoints controller keeps them',
      endpointsOf(one, { labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } }),
      service,
    ],
    ['they are a lock', endpointsOf(one, { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }), service],
  ])('are not there, and go, where %s', (_title, endpoints, of) => {
    expect(writes(decideMirror({ service: of, endpoints, slices: [] }))).toEqual([0, 0, 0]);
    const before = carriedOut([], decide(endpointsOf(one)));
    expect(before).toHaveLength(1);
    expect(writes(decideMirror({ service: of, endpoints, slices: before }))).toEqual([0, 0, 1]);
  });

  it('have 1000 addresses of a subset, those that are ready before the others', () => {
    const addresses = (net: number, count: number) =>
      Array.from({ length: count }, (_, i) => ({ ip: `10.${net}.${i >> 8}.${i & 255}` }));
    const plan = decide(endpointsOf([{ addresses: addresses(1, 999), notReadyAddresses: addresses(2, 5), ports: [http] }]));
    const endpoints = plan.create.flatMap((slice) => slice.endpoints ?? []);
    expect([endpoints.length, endpoints.filter(({ conditions }) => !conditions?.ready).length]).toEqual([mostOfSubset, 1]);
  });
});
