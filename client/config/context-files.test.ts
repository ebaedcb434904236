import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadContext, loadContextAs, setContextAuthorities } from './config.ts';

// Files beside the configuration, as other tools name them.
let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-config-files-'));
  path = join(folder, 'config');
  await mkdir(join(folder, 'pki'));
  for (const name of ['ca.crt', 'me.crt', 'me.key', 'token'])
    await writeFile(join(folder, 'pki', name), `${name} 1\n`, { mode: 0o600 });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const data = (text: string): string => Buffer.from(text).toString('base64');

const write = (cluster: string, user: string): Promise<void> =>
  writeFile(
    path,
    `clusters: [{name: c, cluster: {server: "https://far:7443", ${cluster}}}]
users: [{name: u, user: {${user}}}, {name: other, user: {token: T}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`,
    { mode: 0o600 },
  );

it('are read, relative to the folder of the configuration or by a whole path', async () => {
  await write('certificate-authority: pki/ca.crt', `client-certificate: ./pki/me.crt, client-key: ${folder}/pki/me.key`);
  const { options, warnings } = await loadContext(undefined, path);
  expect(options).toMatchObject({ address: 'far:7443', ca: 'ca.crt 1\n', cert: 'me.crt 1\n', key: 'me.key 1\n' });
  expect(warnings).toEqual([]);
  await chmod(join(folder, 'pki', 'me.key'), 0o644);
  expect((await loadContext(undefined, path)).warnings).toEqual([expect.stringContaining('me.key holds a secret')]);
});

it('are left out where the configuration has their content', async () => {
  await write(
    `certificate-authority: gone, certificate-authority-data: ${data('CA')}`,
    `client-key: gone, client-key-data: ${data('K')}, client-certificate: gone, client-certificate-data: ${data('C')}`,
  );
  expect((await loadContext(undefined, path)).options).toMatchObject({ ca: 'CA', cert: 'C', key: 'K' });
});

it('give a token as it is now, rather than that in the configuration, and the last one once they are gone', async () => {
  await write('certificate-authority: pki/ca.crt', 'token: old, tokenFile: pki/token');
  const { options, tokenFile } = await loadContext(undefined, path);
  const token = options.token as () => string;
  expect([token(), tokenFile]).toEqual(['token 1', join(folder, 'pki', 'token')]);
  await writeFile(join(folder, 'pki', 'token'), 'token 2\n');
  expect(token()).toBe('token 2');
  await rm(join(folder, 'pki', 'token'));
  expect(token()).toBe('token 2');
  expect(((await loadContext(undefined, path)).options.token as () => string)()).toBe('old');
});

it.each([
  ['certificate-authority: pki/none', 'token: T', 'pki/none, which '],
  ['certificate-authority: pki/ca.crt', 'client-certificate: pki/none', 'pki/none, which '],
  ['certificate-authority: pki/ca.crt', 'tokenFile: pki/none', 'pki/none, which '],
  ['certificate-authority: 7', 'token: T', 'clusters[0].cluster.certificate-authority must be a text'],
])('are named when they cannot be read: %s, %s', async (cluster, user, message) => {
  await write(cluster, user);
  await expect(loadContext(undefined, path)).rejects.toThrow(message);
});

it('make way for the authorities that a context is to trust from now on', async () => {
  await write('certificate-authority: pki/ca.crt', 'token: T');
  await setContextAuthorities('x', 'CA', path);
  await rm(join(folder, 'pki', 'ca.crt'));
  expect((await loadContext(undefined, path)).options.ca).toBe('CA');
});

it('gives a context with another user of the file', async () => {
  await write('certificate-authority: pki/ca.crt', 'client-certificate: pki/me.crt, client-key: pki/me.key');
  const { name, options } = await loadContextAs('other', undefined, path);
  expect([name, options.token, options.cert]).toEqual(['x', 'T', undefined]);
  await expect(loadContextAs('none', undefined, path)).rejects.toThrow('has no user "none" (known: u, other)');
});
