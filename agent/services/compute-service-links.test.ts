import { expect, it } from 'vitest';
import type { Service, ServicePort } from '../../api/generated/types.ts';
import { computeServiceLinks } from './compute-service-links.ts';

const service = (name: string, ports: ServicePort[], spec: Service['spec'] = {}): Service => ({
  metadata: { namespace: 'a', name },
  spec: { type: 'ClusterIP', clusterIP: '10.43.0.9', ports, ...spec },
});
const linksOf = (...services: Service[]) => Object.fromEntries(computeServiceLinks(services));

it('are those of a Service and of Docker for its one port', () =>
  expect(linksOf(service('redis', [{ protocol: 'TCP', port: 6379 }]))).toEqual({
    REDIS_SERVICE_HOST: '10.43.0.9',
    REDIS_SERVICE_PORT: '6379',
    REDIS_PORT: 'tcp://10.43.0.9:6379',
    REDIS_PORT_6379_TCP: 'tcp://10.43.0.9:6379',
    REDIS_PORT_6379_TCP_PROTO: 'tcp',
    REDIS_PORT_6379_TCP_PORT: '6379',
    REDIS_PORT_6379_TCP_ADDR: '10.43.0.9',
  }));

it('name each port with a name, and put underscores for dashes', () =>
  expect(
    linksOf(
      service('my-dns', [
        { name: 'dns-udp', protocol: 'UDP', port: 53 },
        { name: 'dns', protocol: 'TCP', port: 5353 },
      ]),
    ),
  ).toEqual({
    MY_DNS_SERVICE_HOST: '10.43.0.9',
    MY_DNS_SERVICE_PORT: '53',
    MY_DNS_SERVICE_PORT_DNS_UDP: '53',
    MY_DNS_SERVICE_PORT_DNS: '5353',
    MY_DNS_PORT: 'udp://10.43.0.9:53',
    MY_DNS_PORT_53_UDP: 'udp://10.43.0.9:53',
    MY_DNS_PORT_53_UDP_PROTO: 'udp',
    MY_DNS_PORT_53_UDP_PORT: '53',
    MY_DNS_PORT_53_UDP_ADDR: '10.43.0.9',
    MY_DNS_PORT_5353_TCP: 'tcp://10.43.0.9:5353',
    MY_DNS_PORT_5353_TCP_PROTO: 'tcp',
    MY_DNS_PORT_5353_TCP_PORT: '5353',
    MY_DNS_PORT_5353_TCP_ADDR: '10.43.0.9',
  }));

it.each<[string, Service]>([
  ['a headless Service', service('a', [{ port: 80 }], { clusterIP: 'None' })],
  ['a Service without an address yet', service('a', [{ port: 80 }], { clusterIP: '' })],
  ['an ExternalName', service('a', [{ port: 80 }], { type: 'ExternalName', externalName: 'example.com' })],
  ['a Service without ports', service('a', [])],
  ['a Service without a spec', { metadata: { namespace: 'a', name: 'a' } }],
])('are none for %s', (_, given) => expect(linksOf(given)).toEqual({}));

it('of several Services come in the order of their names', () => {
  const ports = [{ protocol: 'TCP', port: 80 }];
  const links = computeServiceLinks([service('b', ports), service('a', ports)]);
  expect([...links.keys()].filter((name) => name.endsWith('_HOST'))).toEqual(['A_SERVICE_HOST', 'B_SERVICE_HOST']);
});
