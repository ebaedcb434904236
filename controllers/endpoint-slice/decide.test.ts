import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EndpointSlice, Pod, Service } from '../../api/generated/types.ts';
import type { SlicePlan as Plan } from '../slices/write.ts';
import { decideSlices, mostInSlice } from './decide.ts';
import { type PodFacts, podOf, podRanges, serviceOf } from './test-services.ts';

type SlicePlan = Plan<EndpointSlice>;
const zoneOf = (node: string) => (node === 'n1' ? 'z1' : undefined);
let made = 0;

/** The slices after a plan is carried out. */
function carriedOut(slices: readonly EndpointSlice[], plan: SlicePlan): EndpointSlice[] {
  const gone = new Set(plan.delete.map(({ metadata }) => metadata?.name));
  const updated = new Map(plan.update.map((slice) => [slice.metadata?.name, slice]));
  const named = plan.create.map((slice) => ({ ...slice, metadata: { ...slice.metadata, name: `s${++made}` } }));
  return [
    ...slices.filter(({ metadata }) => !gone.has(metadata?.name)).map((slice) => updated.get(slice.metadata?.name) ?? slice),
    ...named,
  ];
}

function decide(pods: readonly Pod[], slices: readonly EndpointSlice[] = [], service: Service = serviceOf()): SlicePlan {
  return decideSlices({ service, pods, slices, zoneOf, rangesOf: () => podRanges });
}

const slicesFor = (pods: readonly Pod[], service = serviceOf()): EndpointSlice[] => carriedOut([], decide(pods, [], service));
const many = (count: number, facts: PodFacts = {}, from = 0): Pod[] =>
  Array.from({ length: count }, (_, i) => podOf(`p${from + i}`, facts));
const sizes = (slices: readonly EndpointSlice[]): number[] => slices.map(({ endpoints = [] }) => endpoints.length);
const writes = ({ create, update, delete: gone }: SlicePlan): number[] => [create.length, update.length, gone.length];

describe('the slice of a service', () => {
  it('has each pod with its address, node, zone, state and name, and is the service’s own', () => {
    expect(slicesFor([podOf('p1')])).toEqual([
      {
        metadata: {
          name: expect.any(String),
          generateName: 'web-',
          namespace: 'default',
          labels: {
            team: 'a',
            'kubernetes.io/service-name': 'web',
            'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
          },
          ownerReferences: [
            { apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'service', controller: true, blockOwnerDeletion: true },
          ],
        },
        addressType: 'IPv4',
        endpoints: [
          {
            addresses: ['10.42.0.1'],
            conditions: { ready: true, serving: true, terminating: false },
            targetRef: { kind: 'Pod', namespace: 'default', name: 'p1', uid: 'uid-p1' },
            nodeName: 'n1',
            zone: 'z1',
          },
        ],
        ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
      },
    ]);
  });

  it.each<[string, PodFacts, boolean, object]>([
    ['ready', {}, false, { ready: true, serving: true, terminating: false }],
    ['not ready', { ready: false }, false, { ready: false, serving: false, terminating: false }],
    ['on its way out', { leaving: true }, false, { ready: false, serving: true, terminating: true }],
    ['not ready and published', { ready: false }, true, { ready: true, serving: false, terminating: false }],
    ['on its way out and published', { leaving: true, ready: false }, true, { ready: true, serving: false, terminating: true }],
  ])('says of a pod that is %s what it can do', (_title, facts, publishNotReadyAddresses, conditions) => {
    const [slice] = slicesFor([podOf('p1', facts)], serviceOf({ publishNotReadyAddresses }));
    expect(slice?.endpoints?.[0]?.conditions).toEqual(conditions);
  });

  it.each<[string, PodFacts]>([
    ['has ended', { status: { phase: 'Succeeded' } }],
    ['has failed', { status: { phase: 'Failed' } }],
    ['has no address yet', { status: { podIP: '' } }],
    ['has an address of the other family alone', { status: { podIP: 'fd00::1' } }],
  ])('has no pod that %s, and stands there empty', (_title, facts) => {
    const [slice, ...others] = slicesFor([podOf('p1', facts)]);
    expect([slice?.endpoints, slice?.ports, others]).toEqual([[], [], []]);
  });

  it('has the address of the host for a pod on its network', () => {
    const pod = podOf('p1', { spec: { hostNetwork: true }, status: { podIP: '', hostIP: '192.0.2.7' } });
    expect(slicesFor([pod])[0]?.endpoints?.[0]?.addresses).toEqual(['192.0.2.7']);
  });

  it('has no pod with an address outside of its node’s ranges, where the node has some', () => {
    const pods = [podOf('p1'), podOf('p2', { status: { podIP: '172.17.0.2' } })];
    const namesIn = (ranges: typeof podRanges) =>
      decideSlices({ service: serviceOf(), pods, slices: [], zoneOf, rangesOf: () => ranges }).create.flatMap(
        ({ endpoints = [] }) => endpoints.map(({ targetRef }) => targetRef?.name),
      );
    expect([namesIn(podRanges), namesIn([])]).toEqual([['p1'], ['p1', 'p2']]);
  });

  it('has the names of the pods of its StatefulSet', () => {
    const service = serviceOf({ clusterIP: 'None' });
    const [slice] = slicesFor(
      [
        podOf('p1', { spec: { hostname: 'db-0', subdomain: 'web' } }),
        podOf('p2', { spec: { hostname: 'x', subdomain: 'other' } }),
      ],
      service,
    );
    expect(slice?.endpoints?.map(({ hostname }) => hostname)).toEqual(['db-0', undefined]);
    expect(slice?.metadata?.labels).toHaveProperty(['service.kubernetes.io/headless'], '');
  });

  it('has a port by its name as each pod has it, in slices of their own', () => {
    const named = (containerPort: number): PodFacts => ({
      spec: {
        containers: [
          {
            ports: [
              { name: 'web', containerPort: 1, protocol: 'UDP' },
              { name: 'web', containerPort, protocol: 'TCP' },
            ],
          },
        ],
      },
    });
    const service = serviceOf({ ports: [{ name: 'a', port: 80, protocol: 'TCP', targetPort: { type: 1, strVal: 'web' } }] });
    const slices = slicesFor(
      [podOf('p1', named(8080)), podOf('p2', named(9090)), podOf('p3', named(8080)), podOf('p4')],
      service,
    );
    expect(slices.map(({ ports = [], endpoints = [] }) => [ports.map(({ port }) => port), endpoints.length])).toEqual([
      [[8080], 2],
      [[9090], 1],
      [[], 1],
    ]);
  });

  it('is there for each family', () => {
    const service = serviceOf({ clusterIP: 'None', ipFamilies: ['IPv4', 'IPv6'] });
    const slices = slicesFor([podOf('p1', { status: { podIPs: [{ ip: '10.42.0.1' }, { ip: 'fd00::1' }] } })], service);
    expect(slices.map(({ addressType, endpoints }) => [addressType, endpoints?.[0]?.addresses])).toEqual([
      ['IPv4', ['10.42.0.1']],
      ['IPv6', ['fd00::1']],
    ]);
  });

  it('goes when the service stands for another name', () => {
    const slices = slicesFor(many(3));
    expect(writes(decide(many(3), slices, serviceOf({ type: 'ExternalName' })))).toEqual([0, 0, 1]);
  });
});

describe('a change', () => {
  const pods = many(250);
  const slices = slicesFor(pods);

  it('of nothing writes nothing', () => {
    expect(sizes(slices)).toEqual([100, 100, 50]);
    expect(writes(decide(pods, slices))).toEqual([0, 0, 0]);
  });

  it('of one pod writes its slice', () => {
    const changed = pods.map((pod, i) => (i === 120 ? podOf('p120', { ready: false }) : pod));
    const { update } = decide(changed, slices);
    expect(update.map(({ metadata }) => metadata?.name)).toEqual([slices[1]?.metadata?.name]);
  });

  it('fills the slice that has room for what is new', () => {
    expect(writes(decide([...pods, ...many(40, {}, 300)], slices))).toEqual([0, 1, 0]);
    expect(writes(decide([...pods, ...many(60, {}, 300)], slices))).toEqual([1, 0, 0]);
  });

  it('replaces pods in the slices that are written anyway', () => {
    const next = [...pods.slice(10), ...many(10, {}, 300)];
    const plan = decide(next, slices);
    expect(writes(plan)).toEqual([0, 1, 0]);
    expect(sizes(carriedOut(slices, plan))).toEqual([100, 100, 50]);
  });

  it('keeps one empty slice of the last that go', () => {
    const plan = decide([], slices);
    expect(writes(plan)).toEqual([0, 1, 2]);
    const left = carriedOut(slices, plan);
    expect([sizes(left), left[0]?.ports]).toEqual([[0], []]);
    expect(writes(decide([], left))).toEqual([0, 0, 0]);
    // Pods come back into it, and ports that it has of another program go.
    expect(writes(decide(pods.slice(0, 100), left))).toEqual([0, 1, 0]);
    expect(writes(decide([], [{ ...left[0], ports: slices[0]?.ports ?? [] }]))).toEqual([0, 1, 0]);
  });

  it('puts back labels, owners and what stands twice', () => {
    const [first] = slices;
    const broken = { ...first, metadata: { ...first?.metadata, labels: {}, ownerReferences: [] } };
    expect(writes(decide(pods.slice(0, 100), [broken]))).toEqual([0, 1, 0]);
    expect(writes(decide(pods.slice(0, 100), [first!, { ...first, metadata: { ...first?.metadata, name: 'twin' } }]))).toEqual([
      0, 0, 1,
    ]);
  });
});

describe('whatever comes and goes', () => {
  const pod = fc.record({
    at: fc.nat(400),
    ready: fc.boolean(),
    leaving: fc.boolean(),
    port: fc.constantFrom(8080, 9090),
    hasAddress: fc.boolean(),
  });
  const looks = fc.array(fc.uniqueArray(pod, { selector: ({ at }) => at, maxLength: 260 }), { minLength: 1, maxLength: 5 });
  const service = serviceOf({ ports: [{ name: 'a', port: 80, protocol: 'TCP', targetPort: { type: 1, strVal: 'web' } }] });

  it('each pod with an address stands in one slice of its ports, once, as it is, and a second look writes nothing', () =>
    fc.assert(
      fc.property(looks, (all) => {
        let slices: EndpointSlice[] = [];
        for (const look of all) {
          const pods = look.map(({ at, ready, leaving, port, hasAddress }) =>
            podOf(`p${at}`, {
              ready,
              leaving,
              spec: { containers: [{ ports: [{ name: 'web', containerPort: port, protocol: 'TCP' }] }] },
              status: hasAddress ? {} : { podIP: '' },
            }),
          );
          const before = slices;
          const plan = decide(pods, slices, service);
          slices = carriedOut(slices, plan);
          const found = slices.flatMap(({ endpoints = [], ports = [] }) =>
            endpoints.map(({ targetRef, conditions }) => [
              targetRef?.name,
              ports[0]?.port,
              conditions?.serving,
              conditions?.terminating,
            ]),
          );
          const wanted = look
            .filter(({ hasAddress }) => hasAddress)
            .map(({ at, port, ready, leaving }) => [`p${at}`, port, ready, leaving]);
          expect(found.toSorted()).toEqual(wanted.toSorted());
          expect(Math.max(...sizes(slices))).toBeLessThanOrEqual(mostInSlice);
          expect(slices.length).toBeGreaterThan(0);
          expect(writes(decide(pods, slices, service))).toEqual([0, 0, 0]);
          // What has not changed is not written.
          for (const slice of plan.update)
            expect(before.find(({ metadata }) => metadata?.name === slice.metadata?.name)).not.toEqual(slice);
        }
      }),
      { numRuns: 60 },
    ));
});
