import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { upsertContext } from '../../client/index.ts';
// @ts-expect-error a plain script without types
import { bundleProgram } from '../../hack/bundle.js';
import { node, pod } from '../builders/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { addNode, addPod } from './scheduler-cluster.ts';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));
const inRepository = (path: string): string => join(repository, path);
const typeRoots = [inRepository('node_modules/@types')];

/**
 * Each line must be refused: a declaration that does not resolve would make everything `any`, and nothing be refused.
 */
const mistakes = `
import { type ApiObject, connect, createInformer, defineKind, type Pod } from 'berth';
// @ts-expect-error no such field
export const pod: Pod = { spec: { nope: 1 } };
// @ts-expect-error not a PEM text
const client = connect({ address: '127.0.0.1:7443', ca: 1 });
// @ts-expect-error a name is no number
export const node: number | undefined = (await client.pods.get({ name: 'web' })).spec?.nodeName;
const informer = createInformer({ name: 'pods', client: client.pods });
// @ts-expect-error a pod has no data
export const data = informer.lister.list()[0]?.data;
interface Toy extends ApiObject { spec: { color: string } }
const toys = client.resource(defineKind<Toy>({ apiVersion: 'example.com/v1', kind: 'Toy', plural: 'toys' }));
// @ts-expect-error a color is a text
export const toy = toys.create({ spec: { color: 1 } });
`;

/** The same of the contract of plugins. */
const pluginMistakes = `
import { definePlugin, definePlugins, type NodeTable, pluginFactory, proceed, record, required, unschedulable, whole } from 'berth/scheduler';
// @ts-expect-error a filter answers with a rejection or nothing
definePlugin({ name: 'Boolean', filter: () => true });
// @ts-expect-error there is no such column
definePlugin({ name: 'Column', filter: (_, { columns }, row) => void columns.memoryUsed[row] });
// @ts-expect-error events have known names
unschedulable('full', ['node/painted']);
// @ts-expect-error the table is read
export const write = (nodes: NodeTable): void => void (nodes.names[0] = 'mine');
const args = record({ most: required(whole(1, 9)) });
// @ts-expect-error there is no such argument
pluginFactory({ name: 'Argument', args, create: ({ least }) => definePlugin({ name: 'Argument', filter: () => undefined }) });
// @ts-expect-error the state is what prepare makes
definePlugin<number>({ name: 'State', prepare: () => proceed('text') });
// @ts-expect-error a factory makes plugins
definePlugins([{ name: 'Nothing', create: () => undefined }]);
`;

/**
 * A user's folder as \`npm install\` leaves it: the package has what package.json lists, and nothing of the sources.
 */
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
      files: [inRepository('client/index.ts'), inRepository('scheduler/index.ts')],
    }),
  );
  await compile(config);
}

async function writeProgram(): Promise<void> {
  await mkdir(join(folder, 'src'));
  await cp(inRepository('examples/controller.ts'), join(folder, 'src', 'controller.ts'));
  for (const name of ['operator.ts', 'webhook.ts'])
    await cp(inRepository(`examples/operator/${name}`), join(folder, 'src', name));
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

/** The example as its README says, in a package of its own. */
async function writePlugin(): Promise<string> {
  const target = join(folder, 'plugin');
  await cp(inRepository('examples/scheduler-plugin'), target, {
    recursive: true,
    filter: (path) => !/\/(node_modules|dist)$/.test(path),
  });
  await mkdir(join(target, 'node_modules'));
  await symlink(join(folder, 'node_modules', 'berth'), join(target, 'node_modules', 'berth'));
  await writeFile(join(target, 'mistakes.ts'), pluginMistakes);
  return target;
}

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
    expect((await berth('version')).stdout).toMatch(/^Client Version: v\d+\.\d+\.\d+\nServer Version: v\d+\.\d+\.\d+\n/);
    expect((await berth('get', 'namespaces')).stdout).toMatch(/^default +Active/m);
    expect((await berth('get', 'namespace/default', '-o', 'yaml')).stdout).toContain('kind: Namespace');
    const dataDir = join(folder, 'data');
    const taken = await berth('server', '--data-dir', dataDir, '--listen', server.info.address).catch((error) => error);
    expect(taken.stderr).toContain(`cannot listen on ${server.info.address}`);
    const lost = await berth('agent', '--data-dir', join(folder, 'none'), '--context', 'none').catch((error) => error);
    expect(lost.stderr).toContain('"none"');
  });

  describe('the launcher', () => {
    /** By a link, as npm makes it, in a folder with a space. */
    async function linked(): Promise<{ berth: string; config: string }> {
      const place = await mkdtemp(join(folder, 'the links '));
      const berth = join(place, 'berth');
      await symlink(join(folder, 'node_modules', 'berth', 'bin', 'berth'), berth);
      const config = join(place, 'config');
      await upsertContext({ name: 'test', options: server.admin, use: true }, config);
      return { berth, config };
    }

    it('is a program for the shell and for Node, with any options of Node', async () => {
      const { berth, config } = await linked();
      const env = { PATH: [dirname(process.execPath), process.env.PATH].join(delimiter), BERTH_CONFIG: config };
      const get = ['get', 'namespace', 'default', '-o', 'name'];
      for (const NODE_OPTIONS of ['', '--use-bundled-ca', '--use-openssl-ca', '--enable-source-maps'])
        expect((await run(berth, get, { env: { ...env, NODE_OPTIONS } })).stdout).toBe('namespace/default\n');
      expect((await run(process.execPath, [berth, ...get], { env })).stdout).toBe('namespace/default\n');
      expect((await run(basename(berth), get, { env: { ...env, PATH: `${dirname(berth)}:${env.PATH}` } })).stdout).toBe(
        'namespace/default\n',
      );
      const label = await run(berth, ['get', 'namespaces', '-l', 'a in (b c, *)'], { env }).catch((error) => error);
      expect(label.stderr).toMatch(/^error: /);
      const plugin = join(dirname(berth), 'berth-options');
      await writeFile(plugin, `#!/usr/bin/env node\nconsole.log(JSON.stringify([process.execArgv, process.argv.slice(2)]));`, {
        mode: 0o755,
      });
      const said = await run(berth, ['options', 'a  b', '$x', ''], { env: { ...env, PATH: `${dirname(berth)}:${env.PATH}` } });
      expect(JSON.parse(said.stdout)).toEqual([[], ['a  b', '$x', '']]);
    });

    it('trusts the authority of the context alone, and gives the programs that it starts their environment', async () => {
      const { berth, config } = await linked();
      const authority = join(dirname(berth), 'ca.crt');
      await writeFile(authority, server.info.ca);
      const path = [dirname(process.execPath), process.env.PATH].join(delimiter);
      const editor = join(dirname(berth), 'editor');
      await writeFile(editor, `#!/bin/sh\necho "\${SSL_CERT_FILE-unset}" >'${editor}.said'\n`, { mode: 0o755 });
      const env = { PATH: path, BERTH_CONFIG: config, EDITOR: `'${editor}'` };
      for (const SSL_CERT_FILE of [authority, undefined]) {
        await run(berth, ['edit', 'namespace', 'default'], { env: SSL_CERT_FILE ? { ...env, SSL_CERT_FILE } : env });
        expect(await readFile(`${editor}.said`, 'utf8')).toBe(`${SSL_CERT_FILE ?? 'unset'}\n`);
      }
      const other = await startServer();
      try {
        await upsertContext({ name: 'foreign', options: { ...server.admin, ca: other.info.ca }, use: true }, config);
        for (const command of [
          ['get', 'namespaces'],
          ['get', 'namespaces', '-w'],
        ]) {
          const refused = await run(berth, command, { env: { ...env, SSL_CERT_FILE: authority } }).catch((error) => error);
          expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('certificate') });
        }
      } finally {
        await other.stop();
        await other.remove();
      }
    });
  });

  it('does not load the gRPC library for commands that do not connect', async () => {
    const program = join(folder, 'node_modules', 'berth', 'dist', 'program', 'berth.js');
    const script = `require(${JSON.stringify(program)}); console.log(Object.keys(require.cache).join('\\n'))`;
    const loaded = (await run(process.execPath, ['-e', script])).stdout.trim().split('\n');
    const texts = await Promise.all(loaded.map((file) => readFile(file, 'utf8')));
    expect(texts.some((text) => text.includes('node_modules/commander/'))).toBe(true);
    expect(loaded.filter((_, index) => texts[index]?.includes('node_modules/@grpc/grpc-js/'))).toEqual([]);
  });

  it('type-checks the example of a plugin, finds mistakes in others, and runs it in a scheduler that is configured with it', async () => {
    const plugin = await writePlugin();
    await compile(join(plugin, 'tsconfig.json'));
    const cluster = { client: server.client };
    const priced = { dear: '9', fair: '2', cheap: '0.5', free: undefined };
    for (const [name, price] of Object.entries(priced)) {
      const built = node(name).capacity({ cpu: '4', memory: '8Gi', pods: '10' });
      await addNode(cluster, built.labels(price === undefined ? {} : { 'example.com/price': price }).build());
    }
    const config = join(folder, 'plugin-config');
    await upsertContext({ name: 'test', options: server.admin, use: true }, config);
    const program = join(folder, 'node_modules', 'berth', 'bin', 'berth');
    const flags = ['--server', server.info.address, '--data-dir', server.dataDir, '--no-leader-elect'];
    const child = spawn(process.execPath, [program, 'scheduler', '--config', join(plugin, 'scheduler.yaml'), ...flags], {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    try {
      await addPod(cluster, pod('web').spec({ schedulerName: 'thrifty' }));
      const placed = async () => (await server.client.pods.get({ namespace: 'default', name: 'web' })).spec?.nodeName;
      await expect.poll(placed, { timeout: 30_000 }).toBe('cheap');
      const { stdout } = await run(process.execPath, [program, 'why', 'pod/web'], { env: { BERTH_CONFIG: config } });
      expect(stdout).toMatch(/^FITS +TOTAL .* CheapNodes x5$/m);
      expect(stdout).toMatch(/^cheap \* .* 75\.0$/m);
      expect(stdout).toMatch(/^dear +CheapNodes +costs 9 by its label example.com\/price, at most 2 is paid$/m);
      expect(stdout).toMatch(/^free +CheapNodes +has no price in its label example.com\/price$/m);
    } finally {
      child.kill('SIGTERM');
    }
    expect(await exitCode(child)).toBe(0);
  }, 120_000);

  it('is not fetched from the registry by the example of a plugin: the registry has another program of that name', async () => {
    const alone = join(folder, 'alone');
    const manifest = JSON.parse(await readFile(inRepository('examples/scheduler-plugin/package.json'), 'utf8'));
    // The compiler does come from the registry; without it an empty cache has to do.
    const install = async (name: string, { devDependencies: _, ...rest }: Record<string, unknown>) => {
      const place = join(alone, name);
      await mkdir(place, { recursive: true });
      await writeFile(join(place, 'package.json'), JSON.stringify(rest));
      const flags = ['--offline', '--cache', join(alone, 'cache'), '--no-audit', '--no-fund'];
      await run('npm', ['install', ...flags], { cwd: place });
      return readdir(place);
    };
    expect(await install('optional', manifest)).not.toContain('node_modules');
    const required = install('required', { ...manifest, peerDependenciesMeta: undefined });
    await expect(required).rejects.toThrow(/ENOTCACHED.*berth/s);
    const guide = await readFile(inRepository('examples/scheduler-plugin/README.md'), 'utf8');
    expect(guide).toContain('npm install --save-dev PATH/TO/BERTH ');
  });

  it('needs no package but those that are installed with it', async () => {
    const program = join(folder, 'node_modules', 'berth', 'dist', 'program');
    const files = (await readdir(program)).filter((name) => name.endsWith('.js'));
    const texts = await Promise.all(files.map((name) => readFile(join(program, name), 'utf8')));
    // A dependency that a library takes only on other systems, and does without; every other bare import is a package.
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
    const version = async () =>
      (await run(process.execPath, [join(program, '..', '..', 'bin', 'berth'), 'version', '--client'])).stdout;
    const read = async () =>
      new Map(await Promise.all((await readdir(cache)).map(async (name) => [name, await readFile(join(cache, name))] as const)));
    expect(await version()).toMatch(/^Client Version: v/);
    const whole = await read();
    expect(whole.size).toBeGreaterThan(3);
    expect(await version()).toMatch(/^Client Version: v/);
    expect(await read()).toEqual(whole);
    for (const [name, bytes] of whole) {
      await writeFile(
        join(cache, name),
        bytes.map((byte, index) => (index > 200 && index % 97 === 0 ? byte ^ 0x55 : byte)),
      );
    }
    expect(await version()).toMatch(/^Client Version: v/);
    await rm(cache, { recursive: true });
    await writeFile(cache, 'in the way');
    expect(await version()).toMatch(/^Client Version: v/);
  });

  it('says in plain words what to do when there is no cluster yet', async () => {
    const env = { PATH: process.env.PATH, BERTH_CONFIG: join(folder, 'none') };
    const failed = await run(process.execPath, [join(folder, 'out', 'controller.js')], { env }).catch((error) => error);
    expect(failed.stderr).toContain('start a cluster with "berth up"');
  });
});
