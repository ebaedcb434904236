import { expect, it } from 'vitest';
import { readVersionInfo, versionInfo } from '../../api/meta/version-info.ts';
import { describeSkew } from './show-versions.ts';

it.each([
  ['0.1.0', '0.1.7'],
  ['0.1.0', '0.2.0'],
  ['0.2.0-rc.1', '0.1.0'],
])('does not warn of %s and %s', (client, server) => {
  expect(describeSkew(versionInfo(client), versionInfo(server))).toBeUndefined();
});

it.each([
  ['0.1.0', '0.3.0', 'client (0.1) and server (0.3)'],
  ['2.0.0', '1.9.0', 'client (2.0) and server (1.9)'],
])('warns of %s and %s, as kubectl does', (client, server, between) => {
  expect(describeSkew(versionInfo(client), versionInfo(server))).toBe(
    `WARNING: version difference between ${between} exceeds the supported minor version skew of +/-1`,
  );
});

it('reads what a server says of itself, and nothing else', () => {
  expect(readVersionInfo(JSON.stringify({ ...versionInfo('0.1.0'), more: 1 }))).toMatchObject({ gitVersion: 'v0.1.0', more: 1 });
  for (const text of ['', '[]', '{"gitVersion": "v1"}', 'null']) expect(readVersionInfo(text)).toBeUndefined();
});
