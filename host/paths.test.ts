import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { defaultDataDir, defaultNodeName, launcher, localAddress, startCommand } from './paths.ts';

it.each([
  ['127.0.0.1:7443', '127.0.0.1:7443'],
  ['0.0.0.0:7443', '127.0.0.1:7443'],
  ['[::]:7443', '127.0.0.1:7443'],
  ['192.0.2.7:7443', '192.0.2.7:7443'],
])('reaches what listens on %s at %s', (listen, address) => expect(localAddress(listen)).toBe(address));

it('finds the launchers of this package', () => {
  expect(existsSync(launcher('berth'))).toBe(true);
  expect(existsSync(launcher('berth-supervise'))).toBe(true);
});

it('makes a node name that is a valid label of the host name', () => {
  expect(defaultNodeName()).toMatch(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
});

it('names the folder to start with where it is not the one that is used anyway', () => {
  expect(startCommand(defaultDataDir())).toBe('berth up');
  expect(startCommand('/srv/berth')).toBe('berth up --data-dir /srv/berth');
});
