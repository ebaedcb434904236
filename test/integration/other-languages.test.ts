import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, upsertContext } from '../../client/index.ts';
// @ts-expect-error a plain script without types
import { bundleProgram } from '../../hack/bundle.js';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { killProcess, startServerProcess } from './server-process.ts';

const run = promisify(execFile);
const inRepository = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
/** Debian's, for which its packages are. */
const python = '/usr/bin/python3';

/** A user's folder, with the command line on the PATH. */
let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-languages-'));
  const packaged = join(folder, 'package');
  await bundleProgram(join(packaged, 'dist', 'program'));
  await mkdir(join(folder, 'bin'));
  for (const name of ['package.json', 'proto', 'node_modules']) await symlink(inRepository(name), join(packaged, name));
  await cp(inRepository('bin'), join(packaged, 'bin'), { recursive: true });
  const command = join(folder, 'bin', 'berth');
  await writeFile(command, `#!/bin/sh\nexec ${process.execPath} ${join(packaged, 'bin', 'berth')} "$@"\n`);
  await chmod(command, 0o755);
  env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, BERTH_CONFIG: join(folder, 'config') };
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The files below a folder, as paths in it. */
const filesIn = async (path: string): Promise<string[]> =>
  (await readdir(path, { recursive: true })).filter((file) => file.endsWith('.proto')).sort();

async function exported(name: string, ...flags: string[]): Promise<{ path: string; files: string[] }> {
  const path = join(folder, name);
  const { stdout } = await run('berth', ['proto', 'export', path, ...flags], { env });
  const files = await filesIn(path);
  expect(stdout).toBe(`wrote ${files.length} files below ${path}; compile them with "protoc -I ${path}"\n`);
  return { path, files };
}

describe('berth proto export', () => {
  it("writes every file of the API, which Debian's protoc compiles for every language that it knows", async () => {
    const { path, files } = await exported('protos');
    expect(files).toEqual(await filesIn(inRepository('proto')));
    for (const language of ['cpp', 'java', 'csharp', 'php', 'ruby', 'python']) {
      const out = join(folder, language);
      await mkdir(out);
      const { stderr } = await run('protoc', ['-I', path, `--${language}_out=${out}`, ...files]);
      expect({ language, stderr, made: (await readdir(out)).length > 0 }).toEqual({ language, stderr: '', made: true });
    }
  }, 60_000);

  it('writes the same API for compilers that do not know optional', async () => {
    const plain = await exported('plain');
    const older = await exported('older', '--without-optional');
    expect(older.files).toEqual(plain.files);
    const text = await readFile(join(older.path, 'berth', 'meta', 'v1', 'object_meta.proto'), 'utf8');
    expect(text).toContain('oneof _generation { int64 generation = 7; }');
    const [a, b] = [await fieldsOf(plain), await fieldsOf(older)];
    expect(b).toEqual(a);
    expect(a.length).toBeGreaterThan(500);
  }, 60_000);

  it('says why it cannot write', async () => {
    await writeFile(join(folder, 'file'), '');
    const failure = await run('berth', ['proto', 'export', join(folder, 'file', 'x')], { env }).catch((error) => error);
    expect(failure).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: cannot write the files below .*file\/x: /) });
  });
});

const listFields = `
import sys
from google.protobuf.descriptor_pb2 import FileDescriptorSet
def walk(prefix, message):
    group = [field.oneof_index for field in message.field if field.HasField('oneof_index')]
    for field in message.field:
        presence = field.HasField('oneof_index') and group.count(field.oneof_index) == 1
        print(prefix + message.name, field.name, field.number, field.type, field.type_name, field.label, presence)
    for inner in message.nested_type: walk(prefix + message.name + '.', inner)
for file in FileDescriptorSet.FromString(open(sys.argv[1], 'rb').read()).file:
    for message in file.message_type: walk(file.package + '.', message)
`;

/** Every field with its message, number, type and presence, as protoc reads the files. */
async function fieldsOf({ path, files }: { path: string; files: string[] }): Promise<string[]> {
  const descriptors = join(path, 'descriptors');
  await run('protoc', ['-I', path, '-o', descriptors, ...files]);
  return (await run(python, ['-c', listFields, descriptors], { maxBuffer: 1 << 24 })).stdout.trim().split('\n');
}

describe('programs in Python', () => {
  let seed: RunningServer;
  let server: ChildProcess;
  let watcher: ChildProcess | undefined;
  const seen: string[] = [];
  const pods = (...args: string[]) => run(python, [join(folder, 'pods.py'), ...args], { env: { ...env, PYTHONPATH: folder } });

  beforeAll(async () => {
    const { path, files } = await exported('for-python', '--without-optional');
    await run(python, ['-m', 'grpc_tools.protoc', '-I', path, `--python_out=${folder}`, `--grpc_python_out=${folder}`, ...files]);
    await cp(inRepository('examples/python/pods.py'), join(folder, 'pods.py'));
    await cp(inRepository('test/integration/generic_tool.py'), join(folder, 'generic_tool.py'));
    // Made once in this process, for an address and the credentials.
    seed = await startServer({ backend: 'lmdb' });
    await seed.stop();
    await upsertContext({ name: 'test', options: seed.admin, use: true }, env.BERTH_CONFIG);
    server = await startServerProcess(seed.dataDir, seed.info.address);
  }, 90_000);
  afterAll(async () => {
    await killProcess(server);
    if (watcher !== undefined) await killProcess(watcher);
    await seed.remove();
  });

  function watch(): void {
    watcher = spawn(python, ['-u', join(folder, 'pods.py'), 'watch'], {
      env: { ...env, PYTHONPATH: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let rest = '';
    watcher.stdout!.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString('utf8')).split('\n');
      rest = lines.pop()!;
      seen.push(...lines.map((line) => line.split(' ').slice(0, 2).join(' ')));
    });
  }

  it('creates a pod, and says what the server refuses', async () => {
    expect((await pods('create', 'first', 'busybox', 'sleep', '600')).stdout).toMatch(/^created first at version \d+\n$/);
    const again = await pods('create', 'first', 'busybox').catch((error) => error);
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^ALREADY_EXISTS: .*first/),
    });
    const wrong = await pods('create', 'Not_A_Name', 'busybox').catch((error) => error);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/^INVALID_ARGUMENT: .*metadata\.name/) });
  });

  it('lists what is there', async () => {
    const [line = '{}'] = (await pods('list')).stdout.trim().split('\n');
    expect(line).not.toContain('managedFields');
    expect(JSON.parse(line)).toMatchObject({
      metadata: { name: 'first' },
      spec: { containers: [{ command: ['sleep', '600'] }] },
    });
  });

  it('watches, and goes on after the server was killed without a gap or a repetition', async () => {
    watch();
    await expect.poll(() => seen, { timeout: 20_000 }).toEqual(['LISTED first']);
    await pods('create', 'second', 'busybox');
    await expect.poll(() => seen, { timeout: 20_000 }).toContain('ADDED second');
    await killProcess(server);
    server = await startServerProcess(seed.dataDir, seed.info.address);
    const client = connect(seed.admin);
    await expect
      .poll(
        () =>
          client.pods.delete({ namespace: 'default', name: 'first' }, { gracePeriodSeconds: 0 }).then(
            () => 'gone',
            () => 'not yet',
          ),
        { timeout: 20_000 },
      )
      .toBe('gone');
    await client.close();
    await pods('create', 'third', 'busybox');
    await expect.poll(() => seen, { timeout: 30_000 }).toContain('ADDED third');
    expect(seen).toEqual(['LISTED first', 'ADDED second', 'DELETED first', 'ADDED third']);
    const ended = once(watcher!, 'exit');
    let said = '';
    watcher!.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    watcher!.kill('SIGINT');
    expect([await ended, said]).toEqual([[130, null], '']);
  }, 90_000);

  it('need no file of the API when they ask reflection, as generic tools do', async () => {
    const protos = inRepository('node_modules/@grpc/reflection/build/proto');
    const compile = ['-m', 'grpc_tools.protoc', '-I', protos, `--python_out=${folder}`, `--grpc_python_out=${folder}`];
    await run(python, [...compile, 'grpc/reflection/v1/reflection.proto']);
    // The library's own package is called grpc: what was compiled joins it.
    await writeFile(
      join(folder, 'sitecustomize.py'),
      `import grpc\ngrpc.__path__.append(${JSON.stringify(join(folder, 'grpc'))})\n`,
    );
    const tool = async (method: string, request: object) => {
      const args = [join(folder, 'generic_tool.py'), `berth.core.v1.${method}`, JSON.stringify(request)];
      return JSON.parse((await run(python, args, { env: { ...env, PYTHONPATH: folder } })).stdout);
    };
    const metadata = { name: 'generic', namespace: 'default' };
    const made = await tool('ConfigMaps/Create', { object: { metadata, data: { a: '1' } } });
    expect(made).toMatchObject({ metadata, data: { a: '1' } });
    expect(await tool('ConfigMaps/Get', metadata)).toEqual(made);
    await expect(tool('ConfigMaps/Create', { object: { metadata } })).rejects.toMatchObject({
      stderr: expect.stringMatching(/^ALREADY_EXISTS: /),
    });
  });
});
