import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInstallation, eventually } from './installation.ts';
import { conditionOf, housed, type PodHouse, podOf, script, stay } from './pods-fixture.ts';

// Storage without setting anything up: the default class, its folders, and what becomes of them.
let house: PodHouse;
let elsewhere: string;
const gid = 4321;

beforeAll(async () => {
  const berth = await createInstallation('claims');
  elsewhere = join(berth.dataDir, '..', 'volumes');
  await mkdir(berth.dataDir, { recursive: true });
  writeFileSync(join(berth.dataDir, 'node.yaml'), `localPathFolder: ${elsewhere}\n`);
  await berth.up();
  house = housed(berth);
});
afterAll(() => house?.berth.purge());

const claimOn = (name: string, spec: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
});
function claiming(name: string, claimName: string, spec: object = {}): object {
  const keep = `cat /data/file 2>/dev/null; echo ${name} >> /data/file; ${stay}`;
  return podOf(name, [script(keep, { volumeMounts: [{ name: 'data', mountPath: '/data' }] })], {
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
    ...spec,
  });
}
const json = async (...args: string[]) => JSON.parse(await house.berth.ok('get', ...args, '-o', 'json'));
async function volumeOf(claimName: string): Promise<{ name: string; path: string }> {
  const name: string = (await json('pvc', claimName)).spec.volumeName;
  return { name, path: (await json('pv', name)).spec.local.path };
}
const gone = (what: string, name: string) =>
  eventually(`${what} ${name} is gone`, async () =>
    (await house.berth.berth(['get', what, name])).code !== 0 ? true : undefined,
  );

describe('a claim of the default class', () => {
  it('is there from the start, as tables show', async () => {
    expect(await house.berth.ok('get', 'sc', '--no-headers')).toMatch(
      /^local-path \(default\) +berth.io\/local-path +Delete +WaitForFirstConsumer +false /,
    );
    await house.apply(claimOn('data'));
    expect(await house.berth.ok('get', 'pvc', 'data', '--no-headers')).toMatch(
      /^data +Pending +<none> +<none> +<none> +local-path /,
    );
    await eventually('it is told that it waits', async () =>
      (await house.berth.ok('describe', 'pvc', 'data')).includes('WaitForFirstConsumer') ? true : undefined,
    );
  });

  it('gets a folder where its pod goes, and its data outlive pods', async () => {
    await house.apply(claiming('first', 'data', { securityContext: { runAsUser: 1234, runAsGroup: 1234 } }));
    await house.running('first');
    const { name, path } = await volumeOf('data');
    expect(path).toBe(join(elsewhere, `${name}_default_data`));
    expect(statSync(path).mode & 0o777).toBe(0o777);
    expect(await house.berth.ok('get', 'pv', name, '--no-headers')).toMatch(
      / 1Gi +RWO +Delete +Bound +default\/data +local-path /,
    );
    expect(await house.berth.ok('describe', 'pvc', 'data')).toMatch(/Used By: +first\n/);
    await house.berth.ok('delete', 'pod', 'first');
    await house.apply(claiming('second', 'data'));
    const { spec } = await house.running('second');
    expect(spec.nodeName).toBe(house.berth.nodeName);
    expect(await house.berth.ok('logs', 'second')).toBe('first\n');
  });

  it('survives the death of agent and server', async () => {
    for (const process_ of ['agent', 'server'] as const) process.kill(house.berth.pid(process_), 'SIGKILL');
    await eventually('the server is back', async () => ((await house.berth.berth(['get', 'sc'])).code === 0 ? true : undefined));
    await house.berth.ok('delete', 'pod', 'second');
    await house.apply(claiming('third', 'data'));
    await house.running('third');
    expect(await house.berth.ok('logs', 'third')).toBe('first\nsecond\n');
  });

  it('goes once no pod uses it, and the folder with it', async () => {
    const { name, path } = await volumeOf('data');
    await house.berth.ok('delete', 'pvc', 'data', '--wait=false');
    expect(await house.berth.ok('get', 'pvc', 'data', '--no-headers')).toMatch(/^data +Terminating /);
    expect(readFileSync(join(path, 'file'), 'utf8')).toContain('third');
    await house.berth.ok('delete', 'pod', 'third');
    await gone('pvc', 'data');
    await gone('pv', name);
    expect(existsSync(path)).toBe(false);
  });

  it('waits for its agent to be removed', async () => {
    await house.apply(claimOn('late'), claiming('brief', 'late'));
    await house.running('brief');
    const { name, path } = await volumeOf('late');
    await house.berth.ok('delete', 'pod', 'brief');
    process.kill(house.berth.pid('agent'), 'SIGSTOP');
    await house.berth.ok('delete', 'pvc', 'late');
    await eventually('the volume waits', async () =>
      (await house.berth.ok('get', 'pv', name, '--no-headers')).includes(' Terminating ') ? true : undefined,
    );
    expect(existsSync(path)).toBe(true);
    process.kill(house.berth.pid('agent'), 'SIGCONT');
    await gone('pv', name);
    expect(existsSync(path)).toBe(false);
  });
});

describe('a class of a user', () => {
  it('keeps the folder where it retains, given to the group of the pod', async () => {
    const kept = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'kept' }, reclaimPolicy: 'Retain' };
    await house.apply({ ...kept, provisioner: 'rancher.io/local-path', volumeBindingMode: 'WaitForFirstConsumer' });
    await house.apply(claimOn('archive', { storageClassName: 'kept' }));
    await house.apply(claiming('archivist', 'archive', { securityContext: { fsGroup: gid } }));
    await house.running('archivist');
    const { name, path } = await volumeOf('archive');
    expect(statSync(path).gid).toBe(gid);
    await house.berth.ok('delete', 'pod', 'archivist');
    await house.berth.ok('delete', 'pvc', 'archive');
    await eventually('the volume is released', async () =>
      (await house.berth.ok('get', 'pv', name, '--no-headers')).includes(' Released ') ? true : undefined,
    );
    await house.berth.ok('delete', 'pv', name);
    await gone('pv', name);
    expect(readFileSync(join(path, 'file'), 'utf8')).toBe('archivist\n');
  });

  it('keeps a pod off nodes without its volumes, and why tells it in figures', async () => {
    const disks = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'disks' } };
    await house.apply({ ...disks, provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer' });
    await house.apply(claimOn('disk', { storageClassName: 'disks' }), claiming('diskless', 'disk'));
    const pod = await house.until('diskless', 'is told why', (each) => conditionOf(each, 'PodScheduled')?.status === 'False');
    expect(conditionOf(pod, 'PodScheduled')?.message).toContain("didn't find available persistent volumes to bind");
    expect(await house.berth.ok('why', 'pod/diskless')).toContain(
      'claim "disk" asks for 1Gi RWO of class "disks": of 0 free volumes',
    );
  });
});
