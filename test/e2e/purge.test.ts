import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { containersOf, createInstallation, eventually, type Installation, run } from './installation.ts';

let berth: Installation;
const stranger = `berth-e2e-stranger-${process.pid}`;

beforeAll(async () => {
  berth = await createInstallation('purge');
});
afterAll(async () => {
  await run('docker', ['rm', '-f', stranger]);
  await berth.purge();
});

const lines = async (...args: string[]): Promise<string[]> =>
  (await run('docker', args)).stdout.split('\n').filter(Boolean).sort();
const inventory = async () => ({
  containers: await lines('ps', '-a', '--no-trunc', '--format', '{{.ID}}'),
  networks: await lines('network', 'ls', '--format', '{{.Name}}'),
  volumes: await lines('volume', 'ls', '--format', '{{.Name}}'),
  mounts: (await run('sh', ['-c', `grep -c ${berth.dataDir} /proc/self/mountinfo`])).stdout.trim(),
});

it('purges every container, mount and file of its own and nothing else', async () => {
  await run('docker', ['run', '-d', '--name', stranger, 'berth/busybox:latest', 'sleep', '3600']);
  const before = await inventory();
  await berth.up();
  const manifest = `
apiVersion: v1
kind: Secret
metadata: { name: key }
stringData: { key: secret }
---
apiVersion: v1
kind: Pod
metadata: { name: holder }
spec:
  containers:
    - name: main
      image: berth/busybox:latest
      command: [sleep, "3600"]
      volumeMounts: [{ name: memory, mountPath: /memory }, { name: key, mountPath: /key }]
  volumes: [{ name: memory, emptyDir: { medium: Memory } }, { name: key, secret: { secretName: key } }]
`;
  expect(await berth.berth(['apply', '-f', '-'], manifest)).toMatchObject({ code: 0 });
  await berth.ok('wait', '--for=condition=Ready', 'pod/holder', '--timeout=60s');
  expect((await berth.berth(['exec', 'holder', '--', 'cat', '/key/key'])).stdout).toBe('secret');
  expect((await containersOf(berth.nodeName)).length).toBe(2);

  const said = await berth.ok('down', '--purge', '--data-dir', berth.dataDir);
  expect(said).toContain('Berth has stopped.');
  expect(said).toContain(`2 containers of node ${berth.nodeName}`);
  expect(await inventory()).toEqual(before);
  expect(existsSync(berth.dataDir)).toBe(false);
  const after = await berth.berth(['get', 'pods']);
  expect(after.code).toBe(1);
  expect(after.stderr).toMatch(/^error: .*berth up/);
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
