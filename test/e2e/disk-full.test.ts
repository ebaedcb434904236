import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { containersOf, createInstallation, eventually, type Installation, run } from './installation.ts';

// The data directory on a small disk of its own, which is filled to the last page.
let berth: Installation;
const filler = () => join(berth.dataDir, 'node', 'filler');

beforeAll(async () => {
  berth = await createInstallation('full');
  mkdirSync(berth.dataDir);
  expect((await run('mount', ['-t', 'tmpfs', '-o', 'size=96m,mode=700', 'tmpfs', berth.dataDir])).code).toBe(0);
  await berth.up();
  expect((await berth.berth(['apply', '-f', '-'], pod('stays') + pod('goes'))).code).toBe(0);
  await berth.ok('wait', '--for=condition=Ready', 'pod/stays', 'pod/goes', '--timeout=60s');
  fillUp(filler());
});
afterAll(async () => {
  rmSync(filler(), { force: true });
  // Before the disk goes: what is known of the pods' network is on it.
  await berth.berth(['down', '--purge', '--yes', '--data-dir', berth.dataDir]);
  await run('umount', ['-R', '-l', berth.dataDir]);
  await berth.purge();
});

const pod = (name: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  terminationGracePeriodSeconds: 1
  containers: [{ name: main, image: "berth/busybox:latest", command: [sh, -c, "echo started; sleep 3600"] }]
---`;
const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: late }\ndata: { key: value }\n';
const refusal = () =>
  new RegExp(
    `ConfigMap "late": the disk of ${join(berth.dataDir, 'store')} is full: free some space there; reads and deletions go on`,
  );
const idsOf = async (name: string) =>
  (await containersOf(berth.nodeName))
    .filter((each) => each.pod === name)
    .map((each) => `${each.id} ${each.state}`)
    .sort();

/** Writes a file until the disk takes no more. */
function fillUp(path: string): void {
  const file = openSync(path, 'a');
  for (const size of [1024 * 1024, 4096]) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
  closeSync(file);
}

it('refuses writes with that reason and what to do, while reads, logs and exec go on', async () => {
  const before = await idsOf('stays');
  const { code, stderr } = await berth.berth(['apply', '-f', '-'], configMap);
  expect(code).toBe(1);
  expect(stderr).toMatch(refusal());
  expect(await berth.ok('get', 'pods')).toMatch(/stays +1\/1 +Running/);
  expect(await berth.ok('logs', 'stays')).toBe('started\n');
  expect(await berth.ok('exec', 'stays', '--', 'echo', 'alive')).toBe('alive\n');
  expect(await idsOf('stays')).toEqual(before);
});

it('deletes all the same, and the containers go', async () => {
  expect(await berth.ok('delete', 'pod', 'goes')).toContain('pod "goes" deleted');
  await eventually('its containers are gone', async () => ((await idsOf('goes')).length === 0 ? true : undefined));
});

it('serves reads again after a kill -9 on the full disk, and touches no container', async () => {
  const before = await idsOf('stays');
  const killed = berth.pid('server');
  process.kill(killed, 'SIGKILL');
  await eventually('the server reads again', async () => ((await berth.ok('get', 'pods')).includes('stays') ? true : undefined));
  const { code, stderr } = await berth.berth(['apply', '-f', '-'], configMap);
  expect(code).toBe(1);
  expect(stderr).toMatch(refusal());
  expect(await idsOf('stays')).toEqual(before);
});

it('says so when it is started again on the full disk', async () => {
  const down = await berth.berth(['down', '--data-dir', berth.dataDir]);
  expect(down).toMatchObject({ code: 0, stderr: '' });
  const { code, stderr } = await berth.berth(['up', '--detach', '--data-dir', berth.dataDir]);
  expect(code).toBe(1);
  expect(stderr).toContain(`failed: the disk of data directory ${berth.dataDir} is full: 0 MiB free, at least 32 MiB are needed`);
  rmSync(filler());
  await berth.ok('up', '--detach', '--data-dir', berth.dataDir);
});

it('takes writes again without a restart when there is space', async () => {
  fillUp(filler());
  expect((await berth.berth(['apply', '-f', '-'], configMap)).stderr).toMatch(refusal());
  const { stdout: server } = await run('cat', [join(berth.dataDir, 'run', 'server.pid')]);
  rmSync(filler());
  await eventually(
    'the write is taken',
    async () => (await berth.berth(['apply', '-f', '-'], configMap)).code === 0 || undefined,
  );
  expect((await run('cat', [join(berth.dataDir, 'run', 'server.pid')])).stdout).toBe(server);
  expect((await berth.berth(['apply', '-f', '-'], pod('new'))).code).toBe(0);
  await berth.ok('wait', '--for=condition=Ready', 'pod/new', '--timeout=60s');
});
