import { expect, it } from 'vitest';
import { toPodPorts } from './service-ports.ts';

const ports = [
  { name: 'http', port: 80, targetPort: { type: 1, strVal: 'web' } },
  { name: 'admin', port: 81, targetPort: { type: 0, intVal: 9000 } },
  { port: 82 },
  { name: 'dns', port: 53, protocol: 'UDP' },
  { name: 'both', port: 54, protocol: 'UDP', targetPort: { type: 0, intVal: 5400 } },
  { name: 'both-tcp', port: 54, protocol: 'TCP', targetPort: { type: 0, intVal: 5401 } },
];
const service = { metadata: { name: 'shop' }, spec: { ports } };

it.each([
  ['80', '80:web'],
  ['8080:80', '8080:web'],
  ['8080:http', '8080:web'],
  [':admin', ':9000'],
  ['admin', '81:9000'],
  ['82', '82:82'],
  ['54', '54:5401'],
  ['a:b:c', 'a:b:c'],
  ['8080:', '8080:'],
])('reads %s of a service as %s of a pod', (text, expected) => expect(toPodPorts(text, service)).toBe(expected));

it('leaves the numbers of a service without an address alone', () =>
  expect(toPodPorts('8080:http', { ...service, spec: { ports, clusterIP: 'None' } })).toBe('8080:80'));

it('names the ports that there are', () =>
  expect(() => toPodPorts('8080:8443', { ...service, spec: { ports: ports.slice(0, 3) } })).toThrow(
    'service "shop" does not have a service port 8443; it has 80 (http), 81 (admin), 82',
  ));

it.each(['53', ':dns', '8080:both'])('refuses %s, which is a port of UDP alone', (text) =>
  expect(() => toPodPorts(text, service)).toThrow(/of service "shop" is UDP; only TCP can be forwarded/),
);
