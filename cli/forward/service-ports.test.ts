import { expect, it } from 'vitest';
import { toPodPorts } from './service-ports.ts';

const ports = [
  { name: 'http', port: 80, targetPort: { type: 1, strVal: 'web' } },
  { name: 'admin', port: 81, targetPort: { type: 0, intVal: 9000 } },
  { port: 82 },
];
const service = { metadata: { name: 'shop' }, spec: { ports } };

it.each([
  ['80', '80:web'],
  ['8080:80', '8080:web'],
  ['8080:http', '8080:web'],
  [':admin', ':9000'],
  ['admin', '81:9000'],
  ['82', '82:82'],
  ['a:b:c', 'a:b:c'],
  ['8080:', '8080:'],
])('reads %s of a service as %s of a pod', (text, expected) => expect(toPodPorts(text, service)).toBe(expected));

it('leaves the numbers of a service without an address alone', () =>
  expect(toPodPorts('8080:http', { ...service, spec: { ports, clusterIP: 'None' } })).toBe('8080:80'));

it('names the ports that there are', () =>
  expect(() => toPodPorts('8080:8443', service)).toThrow(
    'service "shop" does not have a service port 8443; it has 80 (http), 81 (admin), 82',
  ));
