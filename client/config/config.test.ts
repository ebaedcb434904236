import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ConfigError,
  configPath,
  listContexts,
  loadContext,
  readConfig,
  removeContext,
  setContextNamespace,
  upsertContext,
  useContext,
} from './config.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-config-'));
  path = join(folder, 'deep', 'config');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A thousand million texts in few bytes. */
const aliasBomb = Array.from({ length: 10 }, (_, i) => `a${i}: &a${i} [${`${i === 0 ? 'x' : `*a${i - 1}`},`.repeat(9)}]`).join(
  '\n',
);
const local = { address: '127.0.0.1:7443', ca: 'CA', cert: 'CERT', key: 'KEY' };

describe('contexts file', () => {
  it('is $BERTH_CONFIG, or lies in the home folder', () => {
    expect(configPath({ BERTH_CONFIG: '/etc/berth/config' })).toBe('/etc/berth/config');
    expect(configPath({})).toMatch(/\/\.berth\/config$/);
  });

  it('gives back what was written, readable by its owner only', async () => {
    await upsertContext({ name: 'local', options: local, use: true }, path);
    await upsertContext(
      { name: 'far', options: { address: 'far:7443', ca: 'CA2', token: 'T' }, namespace: 'team', use: false },
      path,
    );
    expect(await loadContext(undefined, path)).toEqual({
      name: 'local',
      warnings: [],
      namespace: 'default',
      options: { ...local, token: undefined },
    });
    expect(await loadContext('far', path)).toMatchObject({
      namespace: 'team',
      options: { address: 'far:7443', ca: 'CA2', token: 'T' },
    });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(folder, 'deep'))).toEqual(['config']);
  });

  it('says so when others may read it', async () => {
    await upsertContext({ name: 'local', options: local, use: true }, path);
    await chmod(path, 0o644);
    expect((await loadContext(undefined, path)).warnings).toEqual([
      `${path} holds a secret and others have access to it (mode 644): chmod 600 ${path}`,
    ]);
  });

  it('replaces a context of the same name and keeps what else the file holds', async () => {
    await upsertContext({ name: 'local', options: local, use: true }, path);
    await writeFile(path, `${await readFile(path, 'utf8')}preferences:\n  colors: true\n`);
    await upsertContext({ name: 'local', options: { ...local, address: '10.0.0.1:7443' }, use: false }, path);
    const text = await readFile(path, 'utf8');
    expect(text).toContain('colors: true');
    expect((await loadContext(undefined, path)).options.address).toBe('10.0.0.1:7443');
    expect(await listContexts(path)).toHaveLength(1);
  });

  it('changes the current context, and refuses one that is not there', async () => {
    await upsertContext({ name: 'a', options: local, use: true }, path);
    await upsertContext({ name: 'b', options: local, use: false }, path);
    await useContext('b', path);
    expect((await listContexts(path)).map(({ name, current }) => [name, current])).toEqual([
      ['a', false],
      ['b', true],
    ]);
    await expect(useContext('c', path)).rejects.toThrow(/use context "c": .* \(known: a, b\)$/);
  });

  it('removes a context with its cluster and user, unless another uses them', async () => {
    await upsertContext({ name: 'a', options: local, use: true }, path);
    await upsertContext({ name: 'b', options: local, use: false }, path);
    await writeFile(path, (await readFile(path, 'utf8')).replace('user: b', 'user: a'));
    await removeContext('a', path);
    expect((await loadContext('b', path)).options.cert).toBe('CERT');
    await expect(loadContext(undefined, path)).rejects.toThrow(/has no current-context; choose one/);
    await removeContext('a', path);
  });

  it('removes the file with the last context', async () => {
    await upsertContext({ name: 'a', options: local, use: true }, path);
    await removeContext('a', path);
    await expect(loadContext(undefined, path)).rejects.toThrow('no such file; start a cluster with "berth up"');
  });

  it('says how to get a file when there is none', async () => {
    await expect(loadContext(undefined, path)).rejects.toThrow(
      `read ${path}: no such file; start a cluster with "berth up", take a file that "berth create user NAME --file FILE" writes where one runs, or set BERTH_CONFIG`,
    );
    expect(await listContexts(path)).toEqual([]);
  });

  it.each([
    ['is not YAML', 'clusters: [', /: line 1, column \d+: /],
    ['is nested deeply', `clusters: ${'['.repeat(200_000)}`, /it is nested more than 128 levels deep/],
    ['is nested in mappings', `${'a: {'.repeat(5_000)}${'}'.repeat(5_000)}`, /it is nested more than 128 levels deep/],
    ['has a key twice', 'contexts: []\ncontexts: []', /line 2, column 1: contexts: the field stands here twice/],
    ['multiplies aliases', aliasBomb, /: line 1, column 1: .*alias/],
    ['is no text', Buffer.from([0xff, 0x00, 0xfe]), /it is no text; settings are YAML or JSON in UTF-8/],
    ['has a word for a text', 'users: [{name: no, user: {}}]', /users\[0\].name must be a text \(put it in quotes\)/],
    ['is a list', '- a', /the file must be a mapping/],
    ['has a cluster without server', 'clusters: [{name: a, cluster: {}}]', /clusters\[0\]\.cluster\.server must be a text/],
    ['has a user that is none', 'users: [{name: a, user: 7}]', /users\[0\]\.user must be a mapping/],
    ['has contexts that are none', 'contexts: 3', /contexts must be a list/],
    [
      'names a cluster that it lacks',
      'contexts: [{name: a, context: {cluster: c, user: u}}]\ncurrent-context: a',
      /names cluster "c", which the file does not have/,
    ],
    ['lacks the context', 'current-context: a', /has no context "a" \(known: none\)/],
  ])('names the file and the place when it %s', async (_title, text, message) => {
    const file = join(folder, 'config');
    await writeFile(file, text);
    const error = await loadContext(undefined, file).catch((caught: unknown) => caught as Error);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toContain(file);
  });

  it.each(['/dev/zero', '100 MB'])('reads no more than 1 MiB of %s', async (source) => {
    const file = join(folder, 'large');
    if (source === '100 MB') await writeFile(file, 'users: []\n'.repeat(10_000_000));
    await expect(loadContext(undefined, source === '100 MB' ? file : source)).rejects.toThrow(
      'it is larger than 1 MiB, too large for a file of settings',
    );
  });

  it('keeps names that are words of YAML', async () => {
    for (const name of ['no', 'on', '0644', '1e3', 'null']) {
      await upsertContext({ name, options: local, namespace: name, use: true }, path);
      expect(await loadContext(undefined, path)).toMatchObject({ name, namespace: name });
    }
  });

  it('leaves the old file whole when writing fails', async () => {
    await upsertContext({ name: 'local', options: local, use: true }, path);
    await expect(upsertContext({ name: 'x', options: local, use: true }, join(path, 'not-a-folder'))).rejects.toThrow();
    expect((await loadContext(undefined, path)).name).toBe('local');
  });
});

describe('the namespace of a context', () => {
  it('changes, and nothing else does', async () => {
    await upsertContext({ name: 'local', options: local, use: true }, path);
    await setContextNamespace('local', 'team', path);
    expect(await loadContext(undefined, path)).toMatchObject({ namespace: 'team', options: local });
    await expect(setContextNamespace('far', 'team', path)).rejects.toThrow(
      `set context "far": ${path} has no such context (known: local)`,
    );
  });

  it('is read as a part of the whole file, and no file is none', async () => {
    expect(await readConfig(path)).toEqual({ path, file: undefined });
    await upsertContext({ name: 'local', options: local, use: true }, path);
    expect((await readConfig(path)).file?.contexts).toEqual([{ name: 'local', context: { cluster: 'local', user: 'local' } }]);
  });
});
