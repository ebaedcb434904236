import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, run } from './installation.ts';
import { configMap, createPodHouse, type PodHouse, podOf, script, secret, stay } from './pods-fixture.ts';

// The server's state is backed up while it is in use, lost in several ways, and brought back under running containers.
const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
let house: PodHouse;
let file: string;

beforeAll(async () => {
  house = await createPodHouse('backup');
  file = join(dirname(house.berth.dataDir), 'backup');
  await house.apply(secret('hidden', { password: 'not for everybody' }), configMap('kept', { a: 'b' }));
  await house.apply(podOf('one', [script(stay), script(stay, { name: 'side' })]), podOf('two', [script(stay)]));
  for (const name of ['one', 'two']) await house.running(name);
});
afterAll(async () => {
  await house?.berth.purge();
});

/** What the engine has of the node's containers, with the time of their last start. */
async function engineView(): Promise<string[]> {
  const filter = `label=io.berth.node=${house.berth.nodeName}`;
  const { stdout } = await run('docker', ['ps', '-aq', '--no-trunc', '--filter', filter]);
  const ids = stdout.split('\n').filter(Boolean);
  const view = await run('docker', ['inspect', '--format', '{{.Id}} {{.State.Status}} {{.State.StartedAt}}', ...ids]);
  return view.stdout.split('\n').filter(Boolean).sort();
}

const dataDir = (...rest: string[]): string => join(house.berth.dataDir, ...rest);
const stop = (): Promise<string> => house.berth.ok('down', '--data-dir', dataDir());
const restore = (...args: string[]) => house.berth.berth(['restore', ...args, '--data-dir', dataDir()]);
const uidOf = async (name: string): Promise<string> => (await house.pod(name)).metadata.uid;

/** The restored pods are those that ran, with their containers as they were. */
async function expectAdopted(before: readonly string[], uid: string): Promise<void> {
  for (const name of ['one', 'two']) {
    const pod = await house.running(name);
    for (const { restartCount, ready } of pod.status.containerStatuses ?? [])
      expect({ restartCount, ready }).toEqual({ restartCount: 0, ready: true });
  }
  expect(await uidOf('one')).toBe(uid);
  await eventually('the agent serves the pods', async () =>
    (await house.sh('one', 'echo here', 'side')) === 'here\n' ? true : undefined,
  );
  expect(await engineView()).toEqual(before);
}

it('is written while pods run and writes go on, for its owner alone', async () => {
  let isWriting = true;
  const writing = (async () => {
    for (let i = 0; isWriting; i++) await house.berth.ok('create', 'configmap', `during-${i}`);
  })();
  const { code, stdout, stderr } = await house.berth.berth(['backup', file]);
  isWriting = false;
  await writing;
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toMatch(
    /^backed up \d+ objects as of version \d+: \d+ bytes\nSecrets in it are encrypted: keep a copy of secret-keys\/ .*\n$/,
  );
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'latin1').split('\n')[0]).toMatch(/^berth-backup 2 \{"revision":\d+,"createdAt":"[^"]+"\}$/);
  expect(readdirSync(dirname(file)).filter((name) => name.includes('unfinished'))).toEqual([]);
});

it('is refused to a node, and a failed one leaves the last as it was', async () => {
  const before = readFileSync(file);
  const read = (name: string): string => readFileSync(dataDir('pki', name), 'utf8');
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const config = join(dirname(file), 'node-config');
  // The node's certificate in the administrator's place.
  writeFileSync(
    config,
    readFileSync(house.berth.config, 'utf8')
      .replaceAll(encode(read('admin.crt')), encode(read(`node-${house.berth.nodeName}.crt`)))
      .replaceAll(encode(read('admin.key')), encode(read(`node-${house.berth.nodeName}.key`))),
    { mode: 0o600 },
  );
  const { code, stderr } = await run(process.execPath, [launcher, 'backup', file], config);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `error: user "system:node:${house.berth.nodeName}" cannot create backups: a node may do only what it needs for itself and for its pods\n`,
  });
  expect(readFileSync(file).equals(before)).toBe(true);
});

it('is not restored under a running server, nor over a store without --force', async () => {
  expect((await restore(file, '--force')).stderr).toMatch(
    /^error: a server runs with .*: stop it first with "berth down .*containers go on running\n$/,
  );
  await stop();
  expect(await restore(file)).toMatchObject({ code: 1, stderr: expect.stringContaining('--force moves it aside') });
});

it('brings everything back after the data directory was wiped, and the containers are adopted', async () => {
  const before = await engineView();
  const label = '{{.Label "io.berth.pod.uid"}}';
  const { stdout: uids } = await run('docker', ['ps', '--format', label, '--filter', 'label=io.berth.pod.name=one']);
  for (const name of ['store', 'pki', 'logs', 'installation.json']) rmSync(dataDir(name), { recursive: true });
  const { code, stdout } = await restore(file);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^restored \d+ objects into .*, as they were at \S+ \(version \d+\)\nstart it with "berth up --data-dir .*"\n$/,
  );
  await house.berth.up();
  const pod = await house.pod('one');
  expect(uids).toContain(pod.metadata.uid);
  await expectAdopted(before, pod.metadata.uid);
  expect(await house.berth.ok('get', 'secret', 'hidden', '-o', 'jsonpath={.data.password}')).toBe(
    Buffer.from('not for everybody').toString('base64'),
  );
  await house.berth.ok('create', 'configmap', 'after');
});

it('says what to do about a damaged file, and the backup takes its place while the damaged one is kept', async () => {
  const [before, uid] = [await engineView(), await uidOf('one')];
  await stop();
  const handle = openSync(dataDir('store', 'data.mdb'), 'r+');
  writeSync(handle, Buffer.alloc(3 * 4096, 'x'), 0, 3 * 4096, 2 * 4096);
  for (const page of [0, 1]) writeSync(handle, Buffer.alloc(64, 'x'), 0, 64, page * 4096);
  closeSync(handle);
  const up = await house.berth.berth(['up', '--detach', '--data-dir', dataDir()]);
  expect(up.code).toBe(1);
  expect(up.stderr).toContain('the file is damaged');
  expect(up.stderr).toContain('restore it from a backup: berth restore FILE --force');
  expect(await engineView()).toEqual(before);

  const { code, stdout } = await restore(file, '--force');
  expect(code).toBe(0);
  const [, aside = ''] = /the store that was there is now (\S+);/.exec(stdout) ?? [];
  expect(readdirSync(aside)).toContain('data.mdb');
  expect(stdout).toContain('that one cannot be read: the versions of the new one go on from what the time says\n');
  await house.berth.up();
  await expectAdopted(before, uid);
});

it('is told by "berth up" when the server has died of its file and cannot start again', async () => {
  const before = await engineView();
  const pid = house.berth.pid('server');
  // It stands still, so that the file is what a kill at this moment leaves.
  process.kill(pid, 'SIGSTOP');
  const good = readFileSync(dataDir('store', 'data.mdb'));
  const handle = openSync(dataDir('store', 'data.mdb'), 'r+');
  for (const page of [0, 1]) writeSync(handle, Buffer.alloc(64, 'x'), 0, 64, page * 4096);
  closeSync(handle);
  process.kill(pid, 'SIGKILL');
  await eventually('it says why', async () => {
    const { stdout, stderr } = await house.berth.berth(['up', '--detach', '--data-dir', dataDir()]);
    return (stdout + stderr).includes('restore it from a backup: berth restore FILE --force') || undefined;
  });
  expect(await engineView()).toEqual(before);
  await stop();
  // What was acknowledged had been synced into this very file.
  writeFileSync(dataDir('store', 'data.mdb'), good);
  await house.berth.up();
  await expectAdopted(before, await uidOf('one'));
});

it('is refused when it was cut off, and what is there goes on', async () => {
  const [before, uid] = [await engineView(), await uidOf('one')];
  await stop();
  const short = `${file}.short`;
  writeFileSync(short, readFileSync(file));
  truncateSync(short, statSync(file).size - 100);
  expect(await restore(short, '--force')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `error: read ${short}: the backup is damaged: it has been cut off; use another one\n`,
  });
  expect(await house.berth.ok('compact', '--data-dir', dataDir())).toMatch(
    /^the file of the store had \d+ KiB and has \d+ KiB; start it with "berth up --data-dir .*"\n$/,
  );
  await house.berth.up();
  await expectAdopted(before, uid);
});
