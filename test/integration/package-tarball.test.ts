import { execFile } from 'node:child_process';
import { mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// What `npm pack` makes of the built tree (hack/test builds before it tests),
// and one `npm install --global` of it in a place of its own.
const run = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}

let folder: string;
let packed: Packed;
let berth: (...args: string[]) => Promise<{ stdout: string; stderr: string }>;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'berth-tarball-')));
  await stat(join(repository, 'dist/program/start.js')).catch(() => expect.unreachable('nothing is built yet: npm run build'));
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  [packed] = JSON.parse((await run('npm', pack, { cwd: repository, maxBuffer: 16_000_000 })).stdout) as [Packed];
  const prefix = join(folder, 'prefix');
  const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', '--global', '--prefix', prefix, ...quiet, join(folder, packed.filename)], { cwd: folder });
  // Nothing of the repository, and no configuration.
  const env = { PATH: process.env.PATH, HOME: folder };
  berth = (...args) => run(join(prefix, 'bin', 'berth'), args, { cwd: '/', env });
}, 180_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the package that npm pack makes', () => {
  it('has the program, the library, the protos and nothing else', () => {
    const paths = packed.files.map(({ path }) => path);
    const known =
      /^(bin\/(berth|berth-supervise|package\.json|README\.md)|dist\/program\/([\w.-]+\.js|package\.json|third-party-licenses\.txt|build-id)|dist\/(api|client|scheduler)\/.*\.(js|d\.ts)|proto\/.*\.(proto|md)|package\.json|LICENSE|README\.md|CHANGELOG\.md)$/;
    expect(paths.filter((path) => !known.test(path))).toEqual([]);
    expect(paths.filter((path) => /\.test\.|(?<!\.d)\.ts$|(^|\/)node_modules\//.test(path))).toEqual([]);
    expect(paths).toEqual(
      expect.arrayContaining([
        'bin/berth',
        'bin/berth-supervise',
        'dist/program/start.js',
        'dist/program/berth.js',
        'dist/program/verify-child.js',
        'dist/program/names-worker.js',
        'dist/program/third-party-licenses.txt',
        'dist/program/build-id',
        'dist/client/index.js',
        'dist/client/index.d.ts',
        'dist/scheduler/index.d.ts',
        'proto/berth/core/v1/pod.proto',
        'LICENSE',
      ]),
    );
    for (const { path, mode } of packed.files) if (path === 'bin/berth') expect(mode & 0o111).toBe(0o111);
  });

  it('is small: source maps and what only tests need stay outside', () => {
    // Of it 0.1 and 0.5 MB are the libraries for kinds of users' own: CEL, and patterns in linear time; 0.03 and 0.2 MB
    // are admission policies and webhooks; 0.07 and 0.37 MB the door for Kubernetes' clients with OpenAPI, ws and SPDY.
    // 0.06 and 0.23 MB are extension servers, webhooks that convert, fields of managers, and Kubernetes' warnings.
    // A kind takes some 4 and 30 KB: its message, types, rules and documentation.
    // Modules of the library that only the program uses stay outside: it has them already.
    expect(packed.size).toBeLessThan(2_860_000);
    expect(packed.unpackedSize).toBeLessThan(12_800_000);
  });

  it('is made of a fresh build, and runs no script when it is installed', async () => {
    const { scripts } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    expect(scripts.prepack).toBe('hack/build --clean');
    expect(Object.keys(scripts).filter((name) => /^(pre|post)?(install|prepare)$/.test(name))).toEqual([]);
  });
});

describe('the package, installed with one npm install', () => {
  it('runs from any folder', async () => {
    const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { version: string };
    expect((await berth('version', '--client')).stdout).toBe(`Client Version: v${version}\n`);
    expect((await berth('--help')).stdout).toContain('berth');
  });

  it('has all modules of the library', async () => {
    const load =
      "Promise.all(['berth', 'berth/scheduler'].map((name) => import(name))).then((all) => console.log(all.map((each) => Object.keys(each).length > 5)))";
    const cwd = join(folder, 'prefix', 'lib', 'node_modules', 'berth');
    expect((await run(process.execPath, ['-e', load], { cwd })).stdout).toBe('[ true, true ]\n');
  });

  it('has a store and the protos, with nothing compiled', async () => {
    const installed = join(folder, 'prefix', 'lib', 'node_modules', 'berth');
    const store = `const db = require('lmdb').open({ path: '${join(folder, 'store')}' }); db.put('a', 1).then(() => console.log(db.get('a')))`;
    expect((await run(process.execPath, ['-e', store], { cwd: installed })).stdout).toBe('1\n');
    const exported = join(folder, 'proto');
    await berth('proto', 'export', exported);
    expect(await readFile(join(exported, 'berth/core/v1/pod.proto'), 'utf8')).toContain('message PodSpec');
  });
});
