import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, loadContext, upsertContext } from './config.ts';
import { loadInCluster } from './in-cluster.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-pod-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = (files: Record<string, string>) =>
  Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
const env = { BERTH_ADDRESS: 'berth.default.svc:443' };
const here = () => loadInCluster(env, folder);

describe('the configuration of a program in a pod', () => {
  it('is what its service account has there, with the token as it is now', async () => {
    await write({ token: 'one\n', 'ca.crt': 'CA', namespace: 'team\n' });
    const { name, namespace, options } = here()!;
    expect([name, namespace, options.address, options.ca]).toEqual(['in-cluster', 'team', 'berth.default.svc:443', 'CA']);
    const token = options.token as () => string;
    expect(token().trim()).toBe('one');
    await write({ token: 'two\n' });
    expect(token().trim()).toBe('two');
    await rm(join(folder, 'token'));
    expect(token().trim()).toBe('two');
  });

  it('is none without an address or a token', async () => {
    expect(here()).toBeUndefined();
    await write({ token: 'one', 'ca.crt': 'CA' });
    expect(loadInCluster({}, folder)).toBeUndefined();
    expect(here()?.namespace).toBe('default');
  });

  it('is refused where the certificates are missing', async () => {
    await write({ token: 'one' });
    expect(here).toThrow(new ConfigError(`read ${join(folder, 'ca.crt')}: no such file, beside the token of this pod`));
  });

  it('is used where there is no contexts file, and no context is named', async () => {
    await write({ token: 'one', 'ca.crt': 'CA', namespace: 'team' });
    const path = join(folder, 'config');
    expect(await loadContext(undefined, path, here)).toMatchObject({ name: 'in-cluster', namespace: 'team' });
    await expect(loadContext('far', path, here)).rejects.toThrow('no such file');
    await upsertContext({ name: 'far', options: { address: 'far:7443', ca: 'CA2', token: 'T' }, use: true }, path);
    expect(await loadContext(undefined, path, here)).toMatchObject({ name: 'far' });
  });
});
