import { expect, it } from 'vitest';
import { checkWords, environmentOf, type ServiceCommand } from './service-command.ts';
import { isServicePath } from './service-manager.ts';

const command: ServiceCommand = {
  name: 'agent',
  dataDir: '/srv',
  words: ['/usr/bin/node', 'agent'],
  environment: {},
  version: '0.1.0',
};

it.each<[string, Partial<ServiceCommand>]>([
  ['a flag', { words: ['/usr/bin/node', '--metrics-address', 'off\nExecStartPre=/tmp/evil'] }],
  ['the data directory', { dataDir: '/srv\nexec /tmp/evil' }],
  ['the environment', { environment: { DOCKER_HOST: 'unix:///x\r\nUser=root' } }],
])('a service is given no line break in %s', (_, more) => {
  expect(() => checkWords(command)).not.toThrow();
  expect(() => checkWords({ ...command, ...more })).toThrow('has a line break or another control character');
});

it.each([
  ['/etc/systemd/system/berth-server.service', true],
  ['/etc/init.d/berth', true],
  ['/etc/passwd', false],
  ['/etc/init.d/../passwd', false],
  ['--root=/tmp', false],
])('of a service is the file %s: %s', (path, is) => {
  expect(isServicePath(path)).toBe(is);
});

it('gives an agent smaller thresholds of malloc than a server, and the engine’s address', () => {
  const env = { DOCKER_HOST: 'unix:///run/docker.sock', PATH: '/bin' };
  expect(environmentOf('agent', env)).toEqual({
    MALLOC_ARENA_MAX: '1',
    MALLOC_MMAP_THRESHOLD_: '65536',
    MALLOC_TRIM_THRESHOLD_: '131072',
    DOCKER_HOST: 'unix:///run/docker.sock',
  });
  expect(environmentOf('server', env)).toEqual({
    MALLOC_ARENA_MAX: '1',
    MALLOC_MMAP_THRESHOLD_: '1048576',
    MALLOC_TRIM_THRESHOLD_: '1048576',
  });
});
