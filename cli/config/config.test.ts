import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { upsertContext } from '../../client/index.ts';
import { createProgram } from '../main.ts';

let folder: string;
let path: string;
let out: string;
let err: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-config-'));
  path = join(folder, 'config');
  vi.stubEnv('BERTH_CONFIG', path);
  [out, err] = ['', ''];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += text;
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += text;
    return true;
  });
  const options = { address: '127.0.0.1:7443', ca: 'CA', cert: 'CERT', key: 'KEY' };
  await upsertContext({ name: 'local', options, use: true }, path);
  await upsertContext(
    { name: 'far', options: { address: 'far:7443', ca: 'CA', token: 'T0KEN' }, namespace: 'team', use: false },
    path,
  );
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

async function config(...words: string[]): Promise<string> {
  out = '';
  await (await createProgram()).parseAsync(['node', 'berth', 'config', ...words]);
  return out;
}

describe('config', () => {
  it('shows the contexts, the one in use with a star, and changes which one that is', async () => {
    const table = (current: string) =>
      [
        'CURRENT   NAME    CLUSTER   AUTHINFO   NAMESPACE',
        `${current === 'local' ? '*' : ' '}         local   local     local      default`,
        `${current === 'far' ? '*' : ' '}         far     far       far        team`,
        '',
      ].join('\n');
    expect(await config('get-contexts')).toBe(table('local'));
    expect(await config('use-context', 'far')).toBe('Switched to context "far".\n');
    expect(await config('get-contexts')).toBe(table('far'));
    expect(await config('current-context')).toBe('far\n');
    expect(await config('get-contexts', '-o', 'name')).toBe('local\nfar\n');
    expect(await config('get-contexts', 'far', '--no-headers')).toBe('*   far   far   far   team\n');
  });

  it('shows the file without what is secret, unless that is asked for', async () => {
    const shown = await config('view');
    expect(shown).toContain('client-key-data: DATA+OMITTED\n');
    expect(shown).toContain('token: REDACTED\n');
    expect(shown).not.toMatch(/T0KEN|S0VZ/);
    expect(await config('view', '--raw')).toContain('token: T0KEN\n');
    const { contexts, users } = JSON.parse(await config('view', '--minify', '--context', 'far', '-o', 'json'));
    expect([contexts[0].name, users]).toEqual(['far', [{ name: 'far', user: { token: 'REDACTED' } }]]);
  });

  it('changes the namespace of a context', async () => {
    expect(await config('set-context', '--current', '--namespace=web')).toBe('Context "local" modified.\n');
    expect(await config('get-contexts', 'local', '--no-headers')).toMatch(/web\n$/);
    await expect(config('set-context', 'local')).rejects.toThrow('give the namespace');
    await expect(config('set-context', '--namespace', 'web')).rejects.toThrow('give the name of a context, or --current');
  });

  it('forgets a context, and says so when it was the one in use', async () => {
    expect(await config('delete-context', 'local')).toBe(`deleted context local from ${path}\n`);
    expect(err).toContain('warning: this removed your active context');
    expect(await readFile(path, 'utf8')).not.toContain('127.0.0.1');
    await expect(config('current-context')).rejects.toThrow(`${path} has no current-context`);
  });

  it.each([
    [['use-context', 'near'], 'has no such context (known: local, far)'],
    [['delete-context', 'near'], 'cannot delete context "near"'],
    [['get-contexts', 'near'], 'has no context "near"'],
    [['view', '--context', 'near'], 'has no context "near"'],
  ])('names the file when %j is asked for something it does not have', async (words, message) => {
    await expect(config(...words)).rejects.toThrow(message);
    await expect(config(...words)).rejects.toThrow(path);
  });

  it('says which file is no such file', async () => {
    await writeFile(path, 'contexts: 5\n');
    await expect(config('get-contexts')).rejects.toThrow(`read ${path}: contexts must be a list`);
  });
});
