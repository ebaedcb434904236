import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { main } from '../../host/main.ts';
import { findPlugin, listPlugins, pluginWords } from './find-plugins.ts';

let folder: string;
let env: { PATH: string };
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-plugins-'));
  env = { PATH: [join(folder, 'a'), 'relative', '', join(folder, 'none'), join(folder, 'b')].join(':') };
  for (const name of ['a', 'b']) await mkdir(join(folder, name));
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  process.exitCode = undefined;
  // The command line listens to its output up to the end of its process.
  process.stdout.removeAllListeners('error');
  await rm(folder, { recursive: true, force: true });
});

async function plugin(path: string, { mode = 0o755, text = 'exit 0' } = {}): Promise<string> {
  const file = join(folder, path);
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, mode);
  return file;
}

describe('the plugin that words call', () => {
  const found = (...words: string[]) => findPlugin(words, env);

  it('is the longest match, and gets the words behind it', async () => {
    const foo = await plugin('a/berth-foo');
    const fooBar = await plugin('b/berth-foo-bar');
    expect(found('foo')).toEqual({ path: foo, args: [] });
    expect(found('foo', 'bar', 'baz', '-x')).toEqual({ path: fooBar, args: ['baz', '-x'] });
    expect(found('foo', 'baz', 'bar')).toEqual({ path: foo, args: ['baz', 'bar'] });
    expect(found('foo', '--all', 'bar')).toEqual({ path: foo, args: ['--all', 'bar'] });
    expect(found('fo')).toBeUndefined();
  });

  it('has underscores where words have dashes', async () => {
    const path = await plugin('a/berth-foo_bar-baz');
    expect(found('foo-bar', 'baz', 'a-b')).toEqual({ path, args: ['a-b'] });
    expect(found('foo', 'bar')).toBeUndefined();
  });

  it('is the first of the PATH that is a program', async () => {
    await mkdir(join(folder, 'a', 'berth-foo'));
    const path = await plugin('b/berth-foo');
    expect(found('foo')?.path).toBe(path);
    await plugin('a/berth-bar', { mode: 0o644 });
    expect(found('bar')).toBeUndefined();
  });

  it('is never outside of the PATH, nor a program of Berth itself', async () => {
    await mkdir(join(folder, 'a', 'berth-foo'));
    await plugin('a/berth-foo/bar');
    expect(found('foo/bar')).toBeUndefined();
    await plugin('a/berth-supervise');
    expect(found('supervise')).toBeUndefined();
  });
});

it('lists all, and says which are never run', async () => {
  const [first, second] = [await plugin('a/berth-foo'), await plugin('b/berth-foo')];
  await plugin('a/berth-supervise');
  const lame = await plugin('a/berth-lame', { mode: 0o644 });
  const get = await plugin('b/berth-get-all');
  const dashed = await plugin('b/berth-api_resources');
  const link = join(folder, 'b', 'berth-x_y-z');
  await symlink(first, link);
  await writeFile(join(folder, 'file'), '');
  const skipped: string[] = [];
  const path = { PATH: `${env.PATH}:${join(folder, 'a')}:${join(folder, 'file')}` };
  const listed = listPlugins(['get', 'api-resources'], path, (where, reason) => skipped.push(`${where} ${reason}`));
  expect(listed.map(({ path, warning }) => [path, warning])).toEqual([
    [first, undefined],
    [lame, `warning: ${lame} identified as a berth plugin, but it is not executable`],
    [dashed, 'warning: berth-api_resources is never run: "berth api-resources" is a built-in command'],
    [second, `warning: ${second} is overshadowed by a similarly named plugin: ${first}`],
    [get, 'warning: berth-get-all is never run: "berth get" is a built-in command'],
    [link, undefined],
  ]);
  expect(skipped).toEqual([expect.stringMatching(/file ENOTDIR/)]);
  expect(pluginWords(['get', 'api-resources'], env)).toEqual(['foo', 'x-y']);
});

describe('berth', () => {
  let out: string;
  let err: string;
  beforeEach(() => {
    [out, err] = ['', ''];
    vi.stubEnv('PATH', `${env.PATH}:${process.env.PATH}`);
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      out += text;
      return true;
    });
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      err += text;
      return true;
    });
  });
  const berth = async (...words: string[]) => {
    [out, err, process.exitCode] = ['', '', undefined];
    await main(['node', 'berth', ...words]);
    return { code: Number(process.exitCode ?? 0), out, err };
  };

  it('ends with the code of a plugin, which gets the words as they are', async () => {
    const seen = join(folder, 'seen');
    await plugin('a/berth-foo', { text: `printf '%s\\n' "$@" > ${seen}; exit 37` });
    expect(await berth('foo', 'a b', '--help', '-it', '--x=false', '')).toEqual({ code: 37, out: '', err: '' });
    expect(await readFile(seen, 'utf8')).toBe('a b\n--help\n-it\n--x=false\n\n');
    expect(await berth('-n', 'team', 'foo')).toMatchObject({
      code: 1,
      err: 'error: flags cannot be placed before plugin name: -n\n',
    });
  });

  it('runs its own command where a plugin has the name, and knows no other words without one', async () => {
    await plugin('a/berth-completion', { text: 'exit 37' });
    expect(await berth('completion', 'bash')).toMatchObject({ code: 0, out: expect.stringContaining('__complete') });
    expect(await berth('fly', '--help')).toMatchObject({
      code: 1,
      err: `error: unknown command 'fly'; "berth --help" lists the commands\n`,
    });
    await writeFile(join(folder, 'a', 'berth-fly'), '#!/nowhere/sh\n', { mode: 0o755 });
    expect(await berth('fly')).toMatchObject({ code: 1, err: expect.stringMatching(/^error: cannot run .*berth-fly: .*ENOENT/) });
  });

  it('plugin list shows them, and fails when something is wrong with one', async () => {
    vi.stubEnv('PATH', env.PATH);
    expect(await berth('plugin', 'list')).toEqual({
      code: 1,
      out: '',
      err: 'error: unable to find any berth plugins in your PATH\n',
    });
    const foo = await plugin('a/berth-foo');
    const head = 'The following compatible plugins are available:\n\n';
    expect(await berth('plugin', 'list')).toEqual({ code: 0, out: `${head}${foo}\n`, err: '' });
    expect(await berth('plugin', 'list', '--name-only')).toMatchObject({ out: `${head}berth-foo\n` });
    await plugin('a/berth-get');
    expect((await berth('plugin', 'list')).err).toBe(
      '  - warning: berth-get is never run: "berth get" is a built-in command\nerror: one plugin warning was found\n',
    );
    await plugin('b/berth-help');
    expect((await berth('plugin', 'list')).err).toMatch(/error: 2 plugin warnings were found\n$/);
  });
});
