import { expect, it } from 'vitest';
import type { EndpointSlice, Service } from '../../api/generated/types.ts';
import { slimService, slimSlice } from './slim-objects.ts';

const identity = { namespace: 'a', name: 'web', uid: 'u', resourceVersion: '7' };
const more = { labels: { 'kubernetes.io/service-name': 'web', app: 'x' }, annotations: { note: 'long' } };

it('keeps of a Service what carries connections and answers names', () => {
  const spec: Service['spec'] = {
    ...{ type: 'LoadBalancer', clusterIP: '10.43.0.9', clusterIPs: ['10.43.0.9'], externalIPs: ['10.0.0.9'] },
    ...{ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } },
    ...{ internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local', publishNotReadyAddresses: true },
    ...{ loadBalancerSourceRanges: ['10.9.0.0/16'], healthCheckNodePort: 30_001 },
    ports: [{ name: 'http', protocol: 'TCP', port: 80, nodePort: 30_080 }],
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
  const endpoint = { addresses: ['10.42.0.2'], conditions: { ready: true }, hostname: 'db-0', nodeName: 'n' };
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

it('does not change what it is given', () => {
  const service = Object.freeze({
    metadata: Object.freeze({ ...identity, ...more }),
    spec: Object.freeze({ clusterIP: 'None' }),
  });
  expect(() => slimService(service)).not.toThrow();
  expect(service.metadata.annotations).toEqual({ note: 'long' });
});
