import { describe, expect, it } from 'vitest';
import { parseAddresses, parsePortPair } from './port-pairs.ts';

const ports = [
  { name: 'http', containerPort: 8080 },
  { name: 'dns', containerPort: 53, protocol: 'UDP' },
];
const initContainers = [
  { name: 'proxy', restartPolicy: 'Always', ports: [{ name: 'admin', containerPort: 9901 }] },
  { name: 'setup', ports: [{ name: 'setup', containerPort: 1 }] },
];
const pod = { metadata: { name: 'web' }, spec: { containers: [{ name: 'app', ports }], initContainers } };

describe('ports to forward', () => {
  it.each([
    ['80', { local: 80, remote: 80 }],
    ['8000:80', { local: 8000, remote: 80 }],
    [':80', { local: 0, remote: 80 }],
    ['0:80', { local: 0, remote: 80 }],
    ['9000:http', { local: 9000, remote: 8080 }],
    ['http', { local: 8080, remote: 8080 }],
    [':admin', { local: 0, remote: 9901 }],
  ])('%s are %j', (text, pair) => expect(parsePortPair(text, pod)).toEqual(pair));

  it.each([
    ['', 'is not a port'],
    ['80:', 'is not a port'],
    ['1:2:3', 'is not a port'],
    ['65536', 'is a number from 1 to 65535'],
    ['0', 'is a number from 1 to 65535'],
    ['x:80', 'is a number from 1 to 65535'],
    [':setup', 'does not have a named port "setup"'],
    [':nothing', 'does not have a named port "nothing"'],
    [':dns', 'only TCP can be forwarded'],
  ])('are not %j', (text, why) => expect(() => parsePortPair(text, pod)).toThrow(why));
});

describe('addresses to listen on', () => {
  it('are both of localhost, of which one is enough, and others that must be there', () => {
    expect(parseAddresses('localhost, 10.0.0.5')).toEqual([
      { host: '127.0.0.1', optional: true },
      { host: '::1', optional: true },
      { host: '10.0.0.5', optional: false },
    ]);
    expect(() => parseAddresses('a,,b')).toThrow('--address takes addresses');
  });
});
