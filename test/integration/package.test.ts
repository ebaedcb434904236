import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { upsertContext } from '../../client/index.ts';
// @ts-expect-error a plain script without types
import { bundleProgram } from '../../hack/bundle.js';
import { type RunningServer, startServer } from './apiserver-harness.ts';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));
const inRepository = (path: string): string => join(repository, path);
const typeRoots = [inRepository('node_modules/@types')];

/** Each line must be refused: a declaration that does not resolve would make everything `any`, and nothing be refused. */
const mistakes = `
import { connect, createInformer, type Pod } from 'berth';
// @ts-expect-error no such field
export const pod: Pod = { spec: { nope: 1 } };
// @ts-expect-error not a PEM text
const client = connect({ address: '127.0.0.1:7443', ca: 1 });
// @ts-expect-error a name is no number
export const node: number | undefined = (await client.pods.get({ name: 'web' })).spec?.nodeName;
const informer = createInformer({ name: 'pods', client: client.pods });
// @ts-expect-error a pod has no data
export const data = informer.lister.list()[0]?.data;
`;

/** A user's folder as \`npm install\` leaves it: the package has what package.json lists, and nothing of the sources. */
let folder: string;
let server: RunningServer;

async function compile(config: string): Promise<void> {
  const tsc = inRepository('node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', config]).catch((error: { stdout: string }) => expect.unreachable(error.stdout));
}

/** What npm installs with the package. */
async function dependencies(): Promise<string[]> {
  return Object.keys(JSON.parse(await readFile(inRepository('package.json'), 'utf8')).dependencies);
}

/** What `npm run build` makes; the check of the sources' types is not this test's. */
async function installPackage(): Promise<void> {
  const target = join(folder, 'node_modules', 'berth');
  await mkdir(target, { recursive: true });
  await cp(inRepository('package.json'), join(target, 'package.json'));
  await cp(inRepository('bin'), join(target, 'bin'), { recursive: true });
  await bundleProgram(join(target, 'dist', 'program'));
  for (const name of await dependencies()) {
    await mkdir(dirname(join(target, 'node_modules', name)), { recursive: true });
    await symlink(inRepository(join('node_modules', name)), join(target, 'node_modules', name));
  }
  const config = join(folder, 'build.json');
  const compilerOptions = { rootDir: repository, outDir: join(target, 'dist'), typeRoots, noCheck: true, sourceMap: false };
  await writeFile(
    config,
    JSON.stringify({
      extends: inRepository('tsconfig.build.json'),
      compilerOptions: { ...compilerOptions, incremental: false, tsBuildInfoFile: null },
      include: [],
      files: [inRepository('client/index.ts')],
    }),
  );
  await compile(config);
}

async function writeProgram(): Promise<void> {
  await mkdir(join(folder, 'src'));
  await cp(inRepository('examples/controller.ts'), join(folder, 'src', 'controller.ts'));
  await writeFile(join(folder, 'src', 'mistakes.ts'), mistakes);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const compilerOptions = { target: 'ES2023', lib: ['ES2023'], module: 'NodeNext', strict: true, types: ['node'], typeRoots };
  const rest = { skipLibCheck: true, rootDir: 'src', outDir: 'out' };
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...compilerOptions, ...rest }, include: ['src'] }),
  );
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'berth-package-')));
  server = await startServer();
  await installPackage();
  await writeProgram();
}, 180_000);
afterAll(async () => {
  await server.stop();
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

async function exitCode(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

describe('the package, in the hands of a user', () => {
  it('type-checks the example, and finds mistakes in a program', async () => {
    await compile(join(folder, 'tsconfig.json'));
  });

  it('runs the compiled example, started by any path, with the current context, until SIGTERM', async () => {
    const config = join(folder, 'config');
    await upsertContext({ name: 'test', options: server.admin, use: true }, config);
    await symlink('out', join(folder, 'linked'));
    const child = spawn(process.execPath, [join(folder, 'linked', 'controller.js')], {
      env: { PATH: process.env.PATH, BERTH_CONFIG: config },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const annotations = { 'example.com/contact': 'ann' };
    await server.client.namespaces.create({ metadata: { name: 'user', annotations } });
    const contact = async () => (await server.client.configMaps.list({ namespace: 'user' })).items[0]?.data?.contact;
    try {
      await expect.poll(contact, { timeout: 20_000 }).toBe('ann');
    } finally {
      child.kill('SIGTERM');
    }
    expect(await exitCode(child)).toBe(0);
  });

  it('runs the program, in which the commands find what is loaded for them alone', async () => {
    const config = join(folder, 'program-config');
    await upsertContext({ name: 'test', options: server.admin, use: true }, config);
    const berth = (...args: string[]) =>
      run(process.execPath, [join(folder, 'node_modules', 'berth', 'bin', 'berth'), ...args], { env: { BERTH_CONFIG: config } });
    expect((await berth('version')).stdout).toContain(process.versions.node);
    expect((await berth('get', 'namespaces')).stdout).toMatch(/^default +Active/m);
    expect((await berth('get', 'namespace/default', '-o', 'yaml')).stdout).toContain('kind: Namespace');
    const dataDir = join(folder, 'data');
    const taken = await berth('server', '--data-dir', dataDir, '--listen', server.info.address).catch((error) => error);
    expect(taken.stderr).toContain(`cannot listen on ${server.info.address}`);
    const lost = await berth('agent', '--data-dir', join(folder, 'none'), '--context', 'none').catch((error) => error);
    expect(lost.stderr).toContain('"none"');
  });

  it('does not load the gRPC library for commands that do not connect', async () => {
    const program = join(folder, 'node_modules', 'berth', 'dist', 'program', 'berth.js');
    const script = `require(${JSON.stringify(program)}); console.log(Object.keys(require.cache).join('\\n'))`;
    const loaded = (await run(process.execPath, ['-e', script])).stdout.trim().split('\n');
    const texts = await Promise.all(loaded.map((file) => readFile(file, 'utf8')));
    expect(texts.some((text) => text.includes('node_modules/commander/'))).toBe(true);
    expect(loaded.filter((_, index) => texts[index]?.includes('node_modules/@grpc/grpc-js/'))).toEqual([]);
  });

  it('needs no package but those that are installed with it', async () => {
    const program = join(folder, 'node_modules', 'berth', 'dist', 'program');
    const files = (await readdir(program)).filter((name) => name.endsWith('.js'));
    const texts = await Promise.all(files.map((name) => readFile(join(program, name), 'utf8')));
    // What a library would like to have on another system it does without; everything else that is no file beside it is a package.
    const optional = /^(macos|osx)-temperature-sensor$/;
    const required = texts.flatMap((text) =>
      [...text.matchAll(/(?:require|href\))\("([^".][^"]*)"\)/g)].map((found) => found[1]!),
    );
    const packages = new Set(required.filter((name) => !isBuiltin(name) && !optional.test(name)));
    expect([...packages].toSorted()).toEqual(['@grpc/reflection', 'grpc-health-check', 'lmdb']);
    expect(await dependencies()).toEqual(expect.arrayContaining([...packages]));
  });

  it('keeps compiled code beside the program, and survives that it is damaged or cannot be kept', async () => {
    const program = join(folder, 'node_modules', 'berth', 'dist', 'program');
    const cache = join(program, 'cache', `${process.version}-${process.arch}`);
    const version = async () => (await run(process.execPath, [join(program, '..', '..', 'bin', 'berth'), 'version'])).stdout;
    const read = async () =>
      new Map(await Promise.all((await readdir(cache)).map(async (name) => [name, await readFile(join(cache, name))] as const)));
    expect(await version()).toContain('berth ');
    const whole = await read();
    expect(whole.size).toBeGreaterThan(3);
    expect(await version()).toContain('berth ');
    expect(await read()).toEqual(whole);
    for (const [name, bytes] of whole) {
      await writeFile(
        join(cache, name),
        bytes.map((byte, index) => (index > 200 && index % 97 === 0 ? byte ^ 0x55 : byte)),
      );
    }
    expect(await version()).toContain('berth ');
    await rm(cache, { recursive: true });
    await writeFile(cache, 'in the way');
    expect(await version()).toContain('berth ');
  });

  it('says in plain words what to do when there is no cluster yet', async () => {
    const env = { PATH: process.env.PATH, BERTH_CONFIG: join(folder, 'none') };
    const failed = await run(process.execPath, [join(folder, 'out', 'controller.js')], { env }).catch((error) => error);
    expect(failed.stderr).toContain('start a cluster with "berth up"');
  });
});
