import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadContext, upsertContext } from '../../client/index.ts';
import { createProgram } from '../../host/main.ts';

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
    await expect(config('set-context', 'local')).rejects.toThrow('give what the context is to have');
    await expect(config('set-context', '--namespace', 'web')).rejects.toThrow('give the name of a context, or --current');
  });

  it('prints the file in every form of objects', async () => {
    expect(await config('view', '-o', 'jsonpath={.users[?(@.name=="far")].user.token}')).toBe('REDACTED');
    expect(await config('view', '--raw', '-o', "jsonpath={.users[?(@.name == 'far')].user.token}")).toBe('T0KEN');
    expect(await config('view', '--flatten', '--template={{(index .clusters 1).cluster.server}}')).toBe('https://far:7443');
    expect(await config('view', '--minify', '-o', 'jsonpath={..namespace}', '--context=far')).toBe('team');
    await expect(config('view', '-o', 'name')).rejects.toThrow('-o name is for objects');
    await config('unset', 'current-context');
    await expect(config('view', '--minify')).rejects.toThrow(`${path} has no current-context`);
  });

  it('names clusters and users', async () => {
    expect(await config('get-clusters')).toBe('NAME\nlocal\nfar\n');
    expect(await config('get-users')).toBe('NAME\nlocal\nfar\n');
    await rm(path);
    expect(await config('get-clusters')).toBe('');
  });

  it('makes contexts of clusters and users', async () => {
    const pem = join(folder, 'ca.crt');
    await writeFile(pem, '-----BEGIN CERTIFICATE-----\nx\n');
    expect(await config('set-cluster', 'lab', '--server=lab:7443', `--certificate-authority=${pem}`, '--embed-certs')).toBe(
      'Cluster "lab" set.\n',
    );
    expect(await config('set-credentials', 'ann', '--client-certificate', pem, '--client-key', pem)).toBe('User "ann" set.\n');
    expect(await config('set-context', 'new', '--cluster=lab', '--user=ann', '-n', 'team')).toBe('Context "new" created.\n');
    expect(await config('set-context', 'new', '--user=far')).toBe('Context "new" modified.\n');
    const { options, namespace } = await loadContext('new', path);
    expect([namespace, options]).toEqual(['team', { address: 'lab:7443', ca: await readFile(pem, 'utf8'), token: 'T0KEN' }]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('gives a context another name, also the one in use', async () => {
    expect(await config('rename-context', 'local', 'home')).toBe('Context "local" renamed to "home".\n');
    expect(await config('current-context')).toBe('home\n');
    await expect(config('rename-context', 'home', 'far')).rejects.toThrow(`the context "far" already exists in ${path}`);
    await expect(config('rename-context', 'local', 'x')).rejects.toThrow(
      `cannot rename the context "local", it's not in ${path}`,
    );
  });

  it('takes an empty namespace away, and refuses empty names, which would make the file unreadable', async () => {
    await config('set-context', 'far', '--namespace=');
    expect(await config('get-contexts', 'far', '--no-headers')).toBe('   far   far   far   default\n');
    expect(await readFile(path, 'utf8')).not.toContain('namespace');
    for (const flag of ['--cluster', '--user'])
      await expect(config('set-context', 'far', `${flag}=`)).rejects.toThrow(`${flag} cannot be empty`);
    await expect(config('rename-context', 'far', '')).rejects.toThrow('a name cannot be empty');
    expect(await config('get-contexts', '-o', 'name')).toBe('local\nfar\n');
  });

  it('reads an empty namespace in a file as none', async () => {
    await writeFile(path, (await readFile(path, 'utf8')).replace('namespace: team', 'namespace: ""'));
    expect((await loadContext('far', path)).namespace).toBe('default');
  });

  it('forgets clusters and users, and names the contexts that do not work then', async () => {
    expect(await config('delete-cluster', 'far')).toBe(`deleted cluster far from ${path}\n`);
    expect(await config('delete-user', 'local')).toBe(`deleted user local from ${path}\n`);
    expect(err).toBe(
      'warning: context "far" names it and no longer works\nwarning: context "local" names it and no longer works\n',
    );
    await expect(config('delete-user', 'local')).rejects.toThrow(`cannot delete user local, not in ${path}`);
    expect(await config('get-clusters')).toBe('NAME\nlocal\n');
  });

  it('sets and unsets single values, also of names with dots', async () => {
    await config('rename-context', 'far', 'far.example.org');
    expect(await config('set', 'contexts.far.example.org.namespace', 'web')).toBe(
      'Property "contexts.far.example.org.namespace" set.\n',
    );
    expect(await config('get-contexts', 'far.example.org', '--no-headers')).toMatch(/web\n$/);
    expect(await config('unset', 'contexts.far.example.org.namespace')).toBe(
      'Property "contexts.far.example.org.namespace" unset.\n',
    );
    expect(await config('get-contexts', 'far.example.org', '--no-headers')).toMatch(/default\n$/);
    await config('unset', 'contexts.far.example.org');
    expect(await config('get-contexts', '-o', 'name')).toBe('local\n');
    await config('set', 'users.local.client-key-data', 'bmV3');
    await config('set', 'users.local.client-certificate-data', 'raw', '--set-raw-bytes');
    expect((await loadContext('local', path)).options).toMatchObject({ key: 'new', cert: 'raw' });
    await config('set', 'current-context', 'elsewhere');
    expect(await config('current-context')).toBe('elsewhere\n');
    await config('unset', 'users');
    expect(await config('get-users')).toBe('');
  });

  it.each([
    [['set', 'context.far.namespace', 'x'], 'Berth reads no "context" there; did you mean "contexts"?'],
    [['set', 'clusters.far.insecure', 'true'], 'it reads server, certificate-authority-data'],
    [['set', 'contexts.far', 'x'], 'name a field of it, e.g. contexts.far.cluster'],
    [['set', 'contexts.far.namespace', ''], '"berth config unset contexts.far.namespace" takes it away'],
    [['set', 'users.far.client-key-data', 'not base64!'], 'add --set-raw-bytes'],
    [['set', 'clusters.new.server', 'https://x:1'], 'a new one needs "certificate-authority-data" too'],
    [['unset', 'clusters.far.server'], 'cluster "far" cannot do without "server"'],
    [['set-context', 'new', '--cluster=far'], 'there is no context "new", and a new one needs "user" too'],
    [['set-cluster', 'far', '--server=far'], '--server takes HOST:PORT'],
    [['set-cluster', 'far'], 'give --server'],
    [['set-cluster', 'far', '--certificate-authority=/nowhere'], '--certificate-authority: cannot read /nowhere'],
    [['set-credentials', 'far'], 'give --client-certificate'],
    [['set-credentials', 'far', '--client-key=/dev/null'], '/dev/null is no PEM file'],
  ])('%j is refused, and the file stays as it is', async (words, message) => {
    const before = await readFile(path, 'utf8');
    await expect(config(...words)).rejects.toThrow(message);
    expect(await readFile(path, 'utf8')).toBe(before);
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
