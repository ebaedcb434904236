import { describe, expect, it } from 'vitest';
import type { EndpointSlice, NodeNetwork, Service } from '../../api/generated/types.ts';
import { resolversBeside, serviceOfSlice, serviceViewOf, sliceViewOf, tableServiceOf } from './views.ts';

const label = (service: string) => ({ 'kubernetes.io/service-name': service });
const service = (spec: Service['spec'] = {}): Service => ({
  metadata: { namespace: 'a', name: 'web' },
  spec: { type: 'ClusterIP', clusterIP: '10.43.0.9', clusterIPs: ['10.43.0.9'], ports: [{ protocol: 'TCP', port: 80 }], ...spec },
});
const slice = (parts: Partial<EndpointSlice> = {}): EndpointSlice => ({
  metadata: { namespace: 'a', name: 'web-1', labels: label('web') },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.42.0.2'], nodeName: 'n1' }],
  ports: [{ protocol: 'TCP', port: 8080 }],
  ...parts,
});
const endpointsOf = (spec: Service['spec'], ...slices: EndpointSlice[]) =>
  tableServiceOf(service(spec), slices)?.ports.map(({ port, protocol, endpoints }) =>
    [`${protocol} ${port}:`, ...endpoints.map((each) => `${each.address}:${each.port}`)].join(' '),
  );

describe('the table of a Service', () => {
  it('has its addresses, ports and the endpoints of all its slices', () => {
    const second = slice({ endpoints: [{ addresses: ['10.42.1.2', '10.42.1.3'], nodeName: 'n2' }] });
    const state = { port: 8080, ready: true, serving: true, terminating: false };
    expect(tableServiceOf(service({ externalIPs: ['10.0.0.9'] }), [slice(), second])).toEqual({
      ...{ clusterAddresses: ['10.43.0.9'], externalAddresses: ['10.0.0.9'], loadBalancerAddresses: [] },
      ports: [
        {
          ...{ protocol: 'TCP', port: 80, nodePort: undefined },
          endpoints: [
            { ...state, address: '10.42.0.2', node: 'n1' },
            { ...state, address: '10.42.1.2', node: 'n2' },
          ],
        },
      ],
      ...{ internalPolicy: 'Cluster', externalPolicy: 'Cluster', publishNotReadyAddresses: false },
    });
  });

  it.each([
    ['ExternalName', { type: 'ExternalName', externalName: 'x.example', clusterIP: '', clusterIPs: [] }],
    ['headless', { clusterIP: 'None', clusterIPs: ['None'] }],
    ['headless by the older field alone', { clusterIP: 'None', clusterIPs: undefined }],
  ])('is none where the Service is %s', (_, spec) => expect(tableServiceOf(service(spec), [slice()])).toBeUndefined());

  it('has no address while the Service has none', () =>
    expect(tableServiceOf(service({ clusterIP: '', clusterIPs: undefined }), [])?.clusterAddresses).toEqual([]));

  it('matches ports by name and protocol', () => {
    const dns: Service['spec'] = {
      ports: [
        { name: 'dns', protocol: 'UDP', port: 53 },
        { name: 'dns-tcp', protocol: 'TCP', port: 53 },
        { name: 'gone', protocol: 'TCP', port: 54 },
      ],
    };
    const ports = [
      { name: 'dns-tcp', protocol: 'TCP', port: 1053 },
      { name: 'dns', protocol: 'TCP', port: 2053 },
      { name: 'dns', protocol: 'UDP', port: 3053 },
    ];
    expect(endpointsOf(dns, slice({ ports }))).toEqual(['UDP 53: 10.42.0.2:3053', 'TCP 53: 10.42.0.2:1053', 'TCP 54:']);
  });

  it('takes TCP where a port names no protocol', () =>
    expect(endpointsOf({ ports: [{ port: 80 }] }, slice({ ports: [{ name: '', port: 8080 }] }))).toEqual([
      'TCP 80: 10.42.0.2:8080',
    ]));

  it('passes over SCTP, slices of IPv6, and ports without a number', () => {
    const spec: Service['spec'] = {
      ports: [
        { name: 's', protocol: 'SCTP', port: 9 },
        { name: '', port: 80 },
      ],
    };
    const six = slice({ addressType: 'IPv6', endpoints: [{ addresses: ['fd00::2'] }] });
    expect(endpointsOf(spec, six, slice({ ports: [{ name: '' }] }), slice())).toEqual(['TCP 80: 10.42.0.2:8080']);
  });

  it.each([
    ['nothing', undefined, [true, true, false]],
    ['not ready', { ready: false }, [false, false, false]],
    ['ready', { ready: true }, [true, true, false]],
    ['serving while it terminates', { ready: false, serving: true, terminating: true }, [false, true, true]],
    ['not serving', { ready: false, serving: false }, [false, false, false]],
  ])('reads the conditions of an endpoint that says %s as Kubernetes does', (_, conditions, expected) => {
    const endpoints = [{ addresses: ['10.42.0.2'], ...(conditions && { conditions }) }];
    const found = tableServiceOf(service(), [slice({ endpoints })])?.ports[0]?.endpoints[0];
    expect([found?.ready, found?.serving, found?.terminating]).toEqual(expected);
  });

  it('passes over an endpoint without an address', () =>
    expect(endpointsOf({}, slice({ endpoints: [{}, { addresses: [] }] }))).toEqual(['TCP 80:']));

  it('has the affinity, its default of three hours, and none where none is asked', () => {
    const affinityOf = (spec: Service['spec']) => tableServiceOf(service(spec), [])?.affinitySeconds;
    const config = { clientIP: { timeoutSeconds: 60 } };
    expect(affinityOf({ sessionAffinity: 'ClientIP', sessionAffinityConfig: config })).toBe(60);
    expect(affinityOf({ sessionAffinity: 'ClientIP' })).toBe(10_800);
    expect(affinityOf({ sessionAffinity: 'None', sessionAffinityConfig: config })).toBeUndefined();
  });

  it('has the policies, and what is published before it is ready', () => {
    const spec = { internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local', publishNotReadyAddresses: true };
    expect(tableServiceOf(service(spec), [])).toMatchObject({
      ...{ internalPolicy: 'Local', externalPolicy: 'Local', publishNotReadyAddresses: true },
    });
  });

  it('has node ports, of which 0 is none', () => {
    const ports = [
      { name: 'a', port: 80, nodePort: 30_080 },
      { name: 'b', port: 81, nodePort: 0 },
    ];
    expect(tableServiceOf(service({ ports }), [])?.ports.map(({ nodePort }) => nodePort)).toEqual([30_080, undefined]);
  });

  it('has addresses of load balancers that hand packets through, not those of proxies', () => {
    const ingress = [
      { ip: '10.0.0.1' },
      { ip: '10.0.0.2', ipMode: 'VIP' },
      { ip: '10.0.0.3', ipMode: 'Proxy' },
      { hostname: 'x' },
    ];
    const balanced = { ...service({ type: 'LoadBalancer' }), status: { loadBalancer: { ingress } } };
    expect(tableServiceOf(balanced, [])?.loadBalancerAddresses).toEqual(['10.0.0.1', '10.0.0.2']);
  });
});

describe('what a load balancer needs', () => {
  const ingress = [{ ip: '10.0.0.1', ipMode: 'VIP' }];
  const spec = { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.9.0.0/16'], healthCheckNodePort: 30_001 };
  it('is who may use it, and the port that tells its health', () =>
    expect(tableServiceOf(service(spec), [])).toMatchObject({ sourceRanges: ['10.9.0.0/16'], healthPort: 30_001 }));

  it('is left out where the Service says nothing of it, and where it is of another type', () => {
    expect(tableServiceOf(service({ type: 'LoadBalancer' }), [])).not.toHaveProperty('sourceRanges');
    const changed = { ...service({ ...spec, type: 'NodePort' }), status: { loadBalancer: { ingress } } };
    expect(tableServiceOf(changed, [])).toMatchObject({ loadBalancerAddresses: [] });
    expect(tableServiceOf(changed, [])).not.toHaveProperty('sourceRanges');
  });
});

describe('what the resolver knows', () => {
  it('of a Service', () => {
    const ports = [{ name: 'http', protocol: 'TCP', port: 80 }, { port: 81 }];
    expect(serviceViewOf(service({ ports, publishNotReadyAddresses: true }))).toEqual({
      ...{ namespace: 'a', name: 'web', type: 'ClusterIP', clusterIPs: ['10.43.0.9'], publishNotReadyAddresses: true },
      ports: [
        { name: 'http', protocol: 'TCP', port: 80 },
        { protocol: 'TCP', port: 81 },
      ],
    });
    expect(serviceViewOf(service({ type: 'ExternalName', externalName: 'x.example', ports: [] }))).toMatchObject({
      ...{ type: 'ExternalName', externalName: 'x.example', ports: [] },
    });
  });

  it('of a slice, an endpoint that says nothing being ready', () => {
    const endpoints = [
      { addresses: ['10.42.0.2'], hostname: 'db-0' },
      { addresses: ['10.42.0.3'], conditions: { ready: false } },
    ];
    expect(sliceViewOf(slice({ endpoints }))).toEqual({
      ...{ namespace: 'a', name: 'web-1', serviceName: 'web', ports: [{ protocol: 'TCP', port: 8080 }] },
      endpoints: [
        { addresses: ['10.42.0.2'], hostname: 'db-0', ready: true },
        { addresses: ['10.42.0.3'], ready: false },
      ],
    });
  });

  it.each([[undefined], [{}], [label('')]])('of a slice with the labels %j is nothing', (labels) => {
    const loose = slice({ metadata: { namespace: 'a', name: 'web-1', ...(labels && { labels }) } });
    expect([sliceViewOf(loose), serviceOfSlice(loose)]).toEqual([undefined, undefined]);
  });

  it('of a slice includes the key of its Service', () => expect(serviceOfSlice(slice())).toBe('a/web'));
});

describe('the resolvers of other nodes', () => {
  const network = (name: string, ...podCIDRs: string[]): NodeNetwork => ({ metadata: { name }, podCIDRs });
  const own = { nodeName: 'own', gateway: '10.42.0.1' };

  it('are one Service at the address of the second name server', () => {
    const all = [network('own', '10.42.0.0/24'), network('n1', 'fd00::/64', '10.42.1.0/24'), network('n2', '10.42.2.0/24')];
    const found = resolversBeside(all, own, '10.43.0.10');
    expect(found).toMatchObject({ clusterAddresses: ['10.43.0.10'], internalPolicy: 'Cluster' });
    expect(found.ports.map(({ protocol, port }) => `${protocol} ${port}`)).toEqual(['UDP 53', 'TCP 53']);
    for (const { endpoints } of found.ports) {
      expect(endpoints.map(({ address, port, node }) => `${address}:${port} ${node}`)).toEqual([
        '10.42.1.1:53 n1',
        '10.42.2.1:53 n2',
      ]);
      expect(endpoints.every(({ ready, serving, terminating }) => ready && serving && !terminating)).toBe(true);
    }
  });

  it('pass over nodes whose range is none, and are its own where there is no other', () => {
    const all = [network('a'), network('b', '10.42.1.7/24'), network('c', '10.42.1.0/99'), network('d', 'fd00::/64')];
    for (const { endpoints } of resolversBeside(all, own, '10.43.0.10').ports)
      expect(endpoints).toMatchObject([{ address: '10.42.0.1', port: 53, node: 'own', ready: true }]);
  });
});
