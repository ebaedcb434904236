import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, createInstallation, eventually, type Installation } from './installation.ts';

// Two agents on one engine: each minds only its own containers.
let berth: Installation;
let second: string;
let agent: ChildProcess | undefined;

beforeAll(async () => {
  berth = await createInstallation('two');
  second = `${berth.nodeName}-b`;
  await berth.up();
  agent = startSecond();
  await eventually('the second node is ready', async () =>
    (await berth.ok('get', 'node', second)).includes(' Ready ') ? true : undefined,
  );
});
afterAll(async () => {
  agent?.kill('SIGTERM');
  await berth.purge();
});

function startSecond(): ChildProcess {
  const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
  const args = [
    launcher,
    'agent',
    '--node-name',
    second,
    '--server',
    berth.address,
    '--data-dir',
    berth.dataDir,
    '--log-level',
    'warn',
  ];
  return spawn(process.execPath, args, { stdio: 'ignore' });
}

const podOn = (name: string, node: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  terminationGracePeriodSeconds: 1
  nodeSelector: { kubernetes.io/hostname: ${node} }
  containers: [{ name: main, image: berth/busybox:latest, command: [sleep, "3600"] }]
---`;

/** A claim for one node at a time, with a folder that both nodes have. */
const claimed = (path: string): string => `
apiVersion: v1
kind: PersistentVolume
metadata: { name: alone }
spec:
  storageClassName: alone
  capacity: { storage: 1Gi }
  accessModes: [ReadWriteOnce]
  hostPath: { path: ${path}, type: DirectoryOrCreate }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: alone }
spec:
  storageClassName: alone
  accessModes: [ReadWriteOnce]
  resources: { requests: { storage: 1Gi } }
---`;
const claimingOn = (name: string, node: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  terminationGracePeriodSeconds: 1
  nodeSelector: { kubernetes.io/hostname: ${node} }
  volumes: [{ name: data, persistentVolumeClaim: { claimName: alone } }]
  containers:
  - name: main
    image: berth/busybox:latest
    command: [sh, -c, 'echo ${name} >> /data/file; exec sleep 3600']
    volumeMounts: [{ name: data, mountPath: /data }]
---`;

describe('two agents on one engine', () => {
  it('each run the pods that were scheduled to their node, under their own label', async () => {
    const manifest = podOn('one', berth.nodeName) + podOn('two', second);
    expect((await berth.berth(['apply', '-f', '-'], manifest)).code).toBe(0);
    await berth.ok('wait', '--for=condition=Ready', 'pod/one', 'pod/two', '--timeout=60s');
    const pods = async (node: string) => (await containersOf(node)).map((each) => `${each.pod}/${each.container}`).sort();
    expect(await pods(berth.nodeName)).toEqual(['one/POD', 'one/main']);
    expect(await pods(second)).toEqual(['two/POD', 'two/main']);
  });

  it('use a claim for one node one after the other: pods of the other node wait, with the reason', async () => {
    const path = join(berth.dataDir, '..', 'alone');
    const here = claimed(path) + claimingOn('first', berth.nodeName) + claimingOn('beside', berth.nodeName);
    expect((await berth.berth(['apply', '-f', '-'], here)).code).toBe(0);
    await berth.ok('wait', '--for=condition=Ready', 'pod/first', 'pod/beside', '--timeout=60s');
    expect((await berth.berth(['apply', '-f', '-'], claimingOn('there', second))).code).toBe(0);
    const reason = "jsonpath={.status.conditions[?(@.type=='PodScheduled')].message}";
    await eventually(
      'it is told why it waits',
      async () =>
        (await berth.ok('get', 'pod', 'there', '-o', reason)).includes('had a ReadWriteOnce volume in use on another node') ||
        undefined,
    );
    await berth.ok('delete', 'pod', 'first', 'beside');
    await berth.ok('wait', '--for=condition=Ready', 'pod/there', '--timeout=60s');
    expect(await berth.ok('exec', 'there', '--', 'sort', '/data/file')).toBe('beside\nfirst\nthere\n');
    await berth.ok('delete', 'pod', 'there');
  });

  it('leave the other alone when one dies, and take their own back', async () => {
    const before = (await containersOf(second)).map((each) => each.id).sort();
    agent?.kill('SIGKILL');
    await berth.ok('delete', 'pod', 'one');
    expect(await containersOf(berth.nodeName)).toEqual([]);
    expect((await containersOf(second)).map((each) => each.id).sort()).toEqual(before);
    agent = startSecond();
    await eventually('the second agent serves its pod again', async () =>
      (await berth.ok('exec', 'two', '--', 'true')) === '' ? true : undefined,
    );
    expect((await containersOf(second)).map((each) => each.id).sort()).toEqual(before);
  });

  it('end a pod whose agent was away when it was deleted', async () => {
    agent?.kill('SIGKILL');
    await berth.ok('delete', 'pod', 'two', '--no-wait');
    expect((await containersOf(second)).length).toBe(2);
    agent = startSecond();
    await berth.ok('wait', '--for=delete', 'pod/two', '--timeout=60s');
    await eventually('its containers are gone', async () => ((await containersOf(second)).length === 0 ? true : undefined));
  });
});
