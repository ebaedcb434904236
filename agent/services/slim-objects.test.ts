import { expect, it } from 'vitest';
import type { EndpointSlice, Service } from '../../api/generated/types.ts';
import { computeServiceLinks } from './compute-service-links.ts';
import { slimService, slimSlice } from './slim-objects.ts';
import { serviceViewOf, sliceViewOf, tableServiceOf } from './views.ts';

const identity = { namespace: 'a', name: 'web', uid: 'u', resourceVersion: '7' };
const more = { labels: { 'kubernetes.io/service-name': 'web', app: 'x' }, annotations: { note: 'long' } };

it('keeps of a Service what carries connections and answers names', () => {
  const spec: Service['spec'] = {
    ...{ type: 'LoadBalancer', clusterIP: '10.43.0.9', clusterIPs: ['10.43.0.9', 'fd00::9'], externalIPs: ['10.0.0.9'] },
    ...{ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } },
    ...{ internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local', publishNotReadyAddresses: true },
    ...{ loadBalancerSourceRanges: ['10.9.0.0/16'], healthCheckNodePort: 30_001 },
    ports: [{ name: 'http', protocol: 'UDP', port: 80, nodePort: 30_080 }],
  };
  const status: Service['status'] = { loadBalancer: { ingress: [{ ip: '10.0.0.8', ipMode: 'VIP' }] } };
  const whole: Service = {
    metadata: { ...identity, ...more },
    spec: {
      ...spec,
      ...{ selector: { app: 'x' }, loadBalancerClass: 'a/b' },
      ports: [{ ...spec.ports![0]!, appProtocol: 'http', targetPort: { type: 0, intVal: 8080 } }],
    },
    status: { ...status, conditions: [{ type: 'Ready' }] },
  };
  const slim = slimService(whole);
  expect({ metadata: slim.metadata, spec: slim.spec, status: slim.status }).toEqual({ metadata: identity, spec, status });
  // As it is kept on the node's disk.
  expect(JSON.parse(JSON.stringify(slim))).toEqual({ metadata: identity, spec, status });
  expect(JSON.stringify(slimService(whole))).not.toMatch(/note|selector|targetPort|appProtocol|conditions/);
});

it('keeps of a Service without a spec or ports its identity', () => {
  const keptOf = ({ metadata, spec, status }: Service): Service => ({ metadata, spec, status });
  expect(keptOf(slimService({ metadata: { ...identity, ...more } }))).toEqual({ metadata: identity });
  expect(keptOf(slimService({ metadata: identity, spec: { clusterIP: 'None' } }))).toEqual({
    metadata: identity,
    spec: { clusterIP: 'None' },
  });
});

it('keeps of a slice its endpoints, and of its labels the one that names the Service', () => {
  const endpoint = {
    addresses: ['10.42.0.2'],
    conditions: { ready: false, serving: true, terminating: true },
    hostname: 'db-0',
    nodeName: 'n',
  };
  const whole: EndpointSlice = {
    ...{ metadata: { ...identity, ...more }, addressType: 'IPv4', ports: [{ name: 'http', port: 80, appProtocol: 'h2c' }] },
    endpoints: [{ ...endpoint, zone: 'z', targetRef: { name: 'db-0' }, hints: { forZones: [{ name: 'z' }] } }],
  };
  const slim = slimSlice(whole);
  const expected = {
    metadata: { ...identity, labels: { 'kubernetes.io/service-name': 'web' } },
    ...{ addressType: 'IPv4', endpoints: [endpoint], ports: [{ name: 'http', port: 80 }] },
  };
  const { metadata, addressType, endpoints, ports } = slim;
  expect({ metadata, addressType, endpoints, ports }).toEqual(expected);
  // As it is kept on the node's disk.
  expect(JSON.parse(JSON.stringify(slim))).toEqual(expected);
  const without = { metadata: identity, addressType: 'IPv4' };
  expect(JSON.parse(JSON.stringify(slimSlice(without)))).toEqual(without);
  expect([slimSlice(without).endpoints, slimSlice(without).ports]).toEqual([undefined, undefined]);
});

it('leaves out of the usual Service and slice what means the same when it is absent', () => {
  const service: Service = {
    metadata: identity,
    spec: {
      ...{ type: 'ClusterIP', clusterIP: '10.43.0.9', clusterIPs: ['10.43.0.9'], publishNotReadyAddresses: false },
      ...{ sessionAffinity: 'None', internalTrafficPolicy: 'Cluster', externalTrafficPolicy: 'Cluster' },
      ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
    },
  };
  const slice: EndpointSlice = {
    ...{ metadata: { ...identity, ...more }, addressType: 'IPv4', ports: [{ name: 'http', protocol: 'TCP', port: 8080 }] },
    endpoints: [{ addresses: ['10.42.0.2'], conditions: { ready: true, serving: true, terminating: false } }],
  };
  expect(slimService(service).spec).toEqual({ clusterIP: '10.43.0.9', ports: [{ name: 'http', port: 80 }] });
  const { endpoints, ports } = slimSlice(slice);
  expect({ endpoints, ports }).toEqual({
    endpoints: [{ addresses: ['10.42.0.2'] }],
    ports: [{ name: 'http', port: 8080 }],
  });
});

const odd = [undefined, true, false];
const conditions = odd.flatMap((ready) => odd.flatMap((serving) => odd.map((terminating) => ({ ready, serving, terminating }))));

it.each([
  ['the usual', { type: 'ClusterIP', clusterIP: '10.43.0.9', clusterIPs: ['10.43.0.9'], internalTrafficPolicy: 'Cluster' }],
  ['of Local policies', { type: 'NodePort', internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' }],
  ['of both families', { clusterIP: '10.43.0.9', clusterIPs: ['10.43.0.9', 'fd00::9'] }],
  ['with the older field of addresses alone', { clusterIP: '10.43.0.9' }],
  ['with the newer field of addresses alone', { clusterIPs: ['10.43.0.9'] }],
  ['with affinity', { clusterIP: '10.43.0.9', sessionAffinity: 'ClientIP' }],
  ['publishing what is not ready', { clusterIP: '10.43.0.9', publishNotReadyAddresses: true }],
  ['headless', { clusterIP: 'None', clusterIPs: ['None'] }],
  ['an ExternalName', { type: 'ExternalName', externalName: 'bücher.example' }],
])('leads a Service to the same table, names and variables as the whole object: %s', (_, given) => {
  const ports = (['TCP', 'UDP', undefined] as const).map((protocol) => ({ name: `${protocol}`, protocol, port: 80 }));
  const service: Service = { metadata: identity, spec: { ...given, ports } };
  const slice: EndpointSlice = {
    ...{ metadata: { ...identity, ...more }, addressType: 'IPv4', ports },
    endpoints: conditions.map((each, index) => ({ addresses: [`10.42.0.${index}`], conditions: each, nodeName: 'n' })),
  };
  const readingsOf = (one: Service, many: EndpointSlice) => [
    tableServiceOf(one, [many]),
    serviceViewOf(one),
    sliceViewOf(many),
    computeServiceLinks([one]),
  ];
  expect(readingsOf(slimService(service), slimSlice(slice))).toEqual(readingsOf(service, slice));
});

it('does not change what it is given', () => {
  const service = Object.freeze({
    metadata: Object.freeze({ ...identity, ...more }),
    spec: Object.freeze({ clusterIP: 'None' }),
  });
  expect(() => slimService(service)).not.toThrow();
  expect(service.metadata.annotations).toEqual({ note: 'long' });
});
