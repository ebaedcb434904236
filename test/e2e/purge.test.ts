import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { formerSandboxImages, ownSandboxImage } from '../../agent/pause/sandbox-image.ts';
import { containersOf, createInstallation, eventually, type Installation, run } from './installation.ts';
import { type Registry, startRegistry } from './registry.ts';

let berth: Installation;
let registry: Registry;
const stranger = `berth-e2e-stranger-${process.pid}`;
const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));

beforeAll(async () => {
  berth = await createInstallation('purge');
  registry = await startRegistry();
});
afterAll(async () => {
  await run('docker', ['rm', '-f', stranger, `${stranger}-stopped`]);
  await run('docker', ['network', 'rm', stranger]);
  await run('docker', ['volume', 'rm', stranger]);
  await run('docker', [
    'rmi',
    '-f',
    `${registry.address}/theirs:1`,
    `${registry.address}/ours:1`,
    `${registry.address}/shared:1`,
  ]);
  await registry.close();
  await berth.purge();
});

const lines = async (...args: string[]): Promise<string[]> =>
  (await run('docker', args)).stdout.split('\n').filter(Boolean).sort();
const inventory = async () => ({
  containers: await lines('ps', '-a', '--no-trunc', '--format', '{{.ID}}'),
  networks: await lines('network', 'ls', '--no-trunc', '--format', '{{.ID}} {{.Name}}'),
  volumes: await lines('volume', 'ls', '--format', '{{.Name}}'),
  images: await lines('images', '-a', '--no-trunc', '--format', '{{.Repository}}:{{.Tag}} {{.ID}}'),
  mounts: (await run('sh', ['-c', `grep -c ${berth.dataDir} /proc/self/mountinfo`])).stdout.trim(),
  files: (await run('find', [dirname(berth.dataDir), '-printf', '%P %y %s\n'])).stdout.split('\n').sort(),
});
const kubeconfig = () => join(dirname(berth.dataDir), 'kubeconfig');
const purge = () => {
  const args = [launcher, 'down', '--purge', '--yes', '--data-dir', berth.dataDir];
  return run('env', [`KUBECONFIG=${kubeconfig()}`, process.execPath, ...args], berth.config);
};
const foreignContext = `apiVersion: v1
kind: Config
clusters:
- cluster: { server: https://192.0.2.1:6443 } # theirs
  name: theirs
contexts:
- context: { cluster: theirs, user: joe }
  name: theirs
current-context: theirs
users:
- name: joe
  user: { token: joe }
`;

const pod = (name: string, image: string, command = '[sleep, "3600"]', rest = ''): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  containers: [{ name: main, image: "${image}", command: ${command}${rest === '' ? '' : ', volumeMounts: [{ name: memory, mountPath: /memory }, { name: key, mountPath: /key }]'} }]
  ${rest}
---`;

it('purges every container, image, mount, file and context of its own and nothing else', async () => {
  const theirs = `${registry.address}/theirs:1`;
  expect((await run('docker', ['pull', theirs])).code).toBe(0);
  for (const args of [
    ['run', '-d', '--name', stranger, '--label', 'io.berth.node=another', 'berth/busybox:latest', 'sleep', '3600'],
    ['create', '--name', `${stranger}-stopped`, 'berth/busybox:latest', 'true'],
    ['network', 'create', stranger],
    ['volume', 'create', stranger],
  ])
    expect(await run('docker', args)).toMatchObject({ code: 0 });
  // Beside the data directory, with a name that begins like its own.
  mkdirSync(`${berth.dataDir}-of-another`);
  writeFileSync(join(`${berth.dataDir}-of-another`, 'letter'), 'dear');
  for (const image of [ownSandboxImage, ...formerSandboxImages]) await run('docker', ['rmi', image]);
  writeFileSync(kubeconfig(), foreignContext);
  const before = await inventory();

  await berth.up();
  await berth.ok('create', 'user', 'anna', '--clusterrole=view');
  await berth.ok('kubeconfig', '--merge', kubeconfig(), '--keep-current');
  expect(readFileSync(kubeconfig(), 'utf8')).toContain('- name: berth\n');
  const volumes = 'volumes: [{ name: memory, emptyDir: { medium: Memory } }, { name: key, secret: { secretName: key } }]';
  const secret = 'apiVersion: v1\nkind: Secret\nmetadata: { name: key }\nstringData: { key: secret }\n---';
  const holder = pod('holder', 'berth/busybox:latest', '[sleep, "3600"]', volumes);
  const pulled = pod('ours', `${registry.address}/ours:1`, '[/nothing]') + pod('theirs', theirs, '[/nothing]');
  expect(await berth.berth(['apply', '-f', '-'], secret + holder + pulled)).toMatchObject({ code: 0 });
  await berth.ok('wait', '--for=condition=Ready', 'pod/holder', '--timeout=60s');
  expect((await berth.berth(['exec', 'holder', '--', 'cat', '/key/key'])).stdout).toBe('secret');
  await eventually('all images are there and all containers made', async () =>
    (await containersOf(berth.nodeName)).length >= 6 && (await inventory()).images.some((image) => image.includes('/ours:1'))
      ? true
      : undefined,
  );

  const { code, stdout } = await purge();
  expect(code).toBe(0);
  expect(stdout).toContain('Berth has stopped.');
  expect(stdout).toMatch(new RegExp(`removed \\d+ containers of node ${berth.nodeName}`));
  expect(stdout).toContain(`removed image ${registry.address}/ours:1`);
  for (const name of ['berth', 'anna']) expect(stdout).toContain(`removed context "${name}" from the configuration\n`);
  expect(stdout).toContain(`removed context "berth" from ${kubeconfig()}\n`);
  expect(readFileSync(kubeconfig(), 'utf8')).toBe(foreignContext);
  expect(await inventory()).toEqual(before);
  expect(existsSync(berth.dataDir)).toBe(false);
  expect(existsSync(berth.config)).toBe(false);
  const after = await berth.berth(['get', 'pods']);
  expect(after.code).toBe(1);
  expect(after.stderr).toMatch(/^error: .*berth up/);

  const again = await purge();
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(again.stdout).toContain(`Berth did not run from ${berth.dataDir}.`);
  expect(again.stdout).toContain(`There is no ${berth.dataDir}; nothing to remove.\n`);
});

it('touches nothing while the engine is away, and can be tried again', async () => {
  await berth.up();
  const agent = berth.pid('agent');
  const args = [
    'DOCKER_HOST=unix:///nonexistent.sock',
    process.execPath,
    launcher,
    'down',
    '--purge',
    '--yes',
    '--data-dir',
    berth.dataDir,
  ];
  const { code, stderr } = await run('env', args, berth.config);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: cannot remove containers: .*; nothing was touched: start the Docker Engine and try again\n$/);
  expect(berth.pid('agent')).toBe(agent);
  expect(await berth.ok('get', 'nodes')).toContain(berth.nodeName);
});

it('leaves a folder that is not its own, and files of others in its own', async () => {
  const folder = join(dirname(berth.dataDir), 'home');
  mkdirSync(join(folder, 'logs'), { recursive: true });
  writeFileSync(join(folder, 'logs', 'diary'), 'dear');
  const other = await berth.berth(['down', '--purge', '--yes', '--data-dir', folder]);
  expect(other.stdout).toContain(`${folder} is no data directory of Berth; nothing was removed.`);
  expect(readFileSync(join(folder, 'logs', 'diary'), 'utf8')).toBe('dear');

  writeFileSync(join(berth.dataDir, 'notes'), 'mine');
  const { code, stdout } = await purge();
  expect(code).toBe(0);
  expect(stdout).toContain(`kept folder ${berth.dataDir}: it holds what Berth did not make (notes)`);
  expect((await run('ls', ['-A', berth.dataDir])).stdout).toBe('notes\n');
  await run('rm', ['-r', berth.dataDir]);
});

it('works when the server and its keeper are dead', async () => {
  await berth.up();
  await berth.berth(['apply', '-f', '-'], pod('left', 'berth/busybox:latest'));
  await berth.ok('wait', '--for=condition=Ready', 'pod/left', '--timeout=60s');
  for (const name of ['server', 'agent'] as const) {
    process.kill(Number(readFileSync(join(berth.dataDir, 'run', `${name}.supervisor.pid`), 'utf8')), 'SIGKILL');
    process.kill(berth.pid(name), 'SIGKILL');
  }
  expect(await purge()).toMatchObject({ code: 0, stderr: '' });
  expect(await containersOf(berth.nodeName)).toEqual([]);
  expect(existsSync(berth.dataDir)).toBe(false);
});

it('leaves containers alone without --purge, and finds them again', async () => {
  await berth.up();
  const pod =
    'apiVersion: v1\nkind: Pod\nmetadata: { name: stays }\nspec: { containers: [{ name: main, image: "berth/busybox:latest", command: [sleep, "3600"] }] }\n';
  await berth.berth(['apply', '-f', '-'], pod);
  await berth.ok('wait', '--for=condition=Ready', 'pod/stays', '--timeout=60s');
  const before = (await containersOf(berth.nodeName)).map((each) => `${each.id} ${each.state}`).sort();
  await berth.ok('down', '--data-dir', berth.dataDir);
  expect((await containersOf(berth.nodeName)).map((each) => `${each.id} ${each.state}`).sort()).toEqual(before);
  await berth.up();
  await eventually('the pod is served again', async () =>
    (await berth.ok('exec', 'stays', '--', 'true')) === '' ? true : undefined,
  );
  expect((await containersOf(berth.nodeName)).map((each) => `${each.id} ${each.state}`).sort()).toEqual(before);
});
