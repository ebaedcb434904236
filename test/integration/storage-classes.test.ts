import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNotFound } from '../../api/errors/index.ts';
import type { PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { connect } from '../../client/index.ts';
import { runScheduler } from '../../scheduler/main.ts';
import { claim, pod, storageClass, volume } from '../builders/index.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { isGone, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

// Server, controllers, scheduler and two agents whose engines are in memory: their folders are real.
let server: RunningServer;
const machines = new Map<string, Machine>();
const agents = new Map<string, RunningAgent>();
const stops: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await startServer();
  stops.push(await startControllers(server), await startOwnScheduler());
  for (const name of ['n1', 'n2']) {
    machines.set(name, await startMachine());
    agents.set(name, startAgent(server, machines.get(name)!, name));
  }
  for (const name of machines.keys())
    await until(`node ${name}`, async () =>
      isConditionTrue((await server.client.nodes.get({ name }).catch(() => undefined))?.status?.conditions, 'Ready'),
    );
});
afterAll(async () => {
  for (const stop of [...agents.values()].map((agent) => () => agent.stop())) await stop();
  for (const stop of stops) await stop();
  for (const machine of machines.values()) await machine.remove();
  await server.stop();
  await server.remove();
});

async function startOwnScheduler(): Promise<() => Promise<void>> {
  const { address, ca } = server.info;
  const client = connect({ address, ca, ...(await readPair(server.dataDir, 'scheduler')) });
  const stop = new AbortController();
  const running = runScheduler({ client, logger: createFakeLogger() }, stop.signal).finally(() => client.close());
  return async () => {
    stop.abort();
    await running;
  };
}

/** What a builder made, as a user would send it. */
const sent = <T extends { metadata?: object; status?: unknown }>(object: T, namespace?: string): T => {
  const { name, labels } = object.metadata as { name?: string; labels?: Record<string, string> };
  const { status: _, ...rest } = object;
  return { ...rest, metadata: { name, ...(labels && { labels }), ...(namespace && { namespace }) } } as T;
};
const using = (name: string, ...claims: string[]) =>
  pod(name).spec({
    volumes: claims.map((claimName, i) => ({ name: `v${i}`, volumeSource: { persistentVolumeClaim: { claimName } } })),
  });
const createClaim = (object: PersistentVolumeClaim) => server.client.persistentVolumeClaims.create(sent(object, 'default'));
const createPod = (builder: ReturnType<typeof pod>) => server.client.pods.create(sent(builder.build(), 'default'));
const running = (name: string) => podWhere(server.client, name, ({ status }) => status?.phase === 'Running');
async function end(name: string): Promise<void> {
  await server.client.pods.delete({ namespace: 'default', name }, { gracePeriodSeconds: 0 });
  await until(`pod ${name} is gone`, () => isGone(server.client, name));
}
const getClaim = (name: string) => server.client.persistentVolumeClaims.get({ namespace: 'default', name });
const getVolume = (name: string) =>
  server.client.persistentVolumes.get({ name }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
async function volumeOf(name: string) {
  const { spec } = await getClaim(name);
  const found = await getVolume(spec?.volumeName ?? '');
  return { name: spec?.volumeName ?? '', path: found?.spec?.persistentVolumeSource?.local?.path ?? '', volume: found };
}
const deleteClaim = (name: string) => server.client.persistentVolumeClaims.delete({ namespace: 'default', name });
const createClass = (object: StorageClass) => server.client.storageClasses.create(sent(object));

describe('a claim of the default class', () => {
  it('is bound when a pod uses it, to a world-writable folder on the node of that pod', async () => {
    const made = await createClaim(claim('data').build());
    expect(made.spec?.storageClassName).toBe('local-path');
    await until('it is told that it waits', async () => {
      const { items } = await server.client.events.list({ namespace: 'default' });
      return items.some(({ reason, involvedObject }) => reason === 'WaitForFirstConsumer' && involvedObject?.name === 'data');
    });
    await createPod(using('writer', 'data'));
    const { spec } = await running('writer');
    expect((await getClaim('data')).status).toMatchObject({ phase: 'Bound', capacity: { storage: { string: '1Gi' } } });
    const { name, path } = await volumeOf('data');
    expect(path).toBe(
      join(machines.get(spec!.nodeName!)!.dataDir, 'node', spec!.nodeName!, 'local-path', `${name}_default_data`),
    );
    expect(statSync(path).mode & 0o777).toBe(0o777);
  });

  it('attracts every later pod to its node', async () => {
    const { spec } = await running('writer');
    for (const name of ['again', 'and-again']) {
      await end(name === 'again' ? 'writer' : 'again');
      await createPod(using(name, 'data'));
      expect((await running(name)).spec?.nodeName).toBe(spec?.nodeName);
    }
  });

  it('is removed with its folder after its last pod', async () => {
    const { name, path } = await volumeOf('data');
    await deleteClaim('data');
    expect((await getClaim('data')).metadata?.deletionTimestamp).toBeDefined();
    expect(existsSync(path)).toBe(true);
    await end('and-again');
    await until('the volume is gone', async () => (await getVolume(name)) === undefined);
    expect(existsSync(path)).toBe(false);
  });

  it('is bound once for two pods that share it', async () => {
    await createClaim(claim('both').build());
    await Promise.all(['one', 'two'].map((name) => createPod(using(name, 'both'))));
    const [one, two] = await Promise.all(['one', 'two'].map(running));
    expect(one?.spec?.nodeName).toBe(two?.spec?.nodeName);
    await Promise.all(['one', 'two'].map(end));
    await deleteClaim('both');
  });
});

describe('other classes', () => {
  it('with reclaimPolicy Retain keep the folder, also when the volume is deleted', async () => {
    const kept = storageClass('kept').provisioner('rancher.io/local-path').waiting();
    await createClass(kept.with((made) => void Object.assign(made, { reclaimPolicy: 'Retain' })).build());
    await createClaim(claim('archive').storageClass('kept').build());
    await createPod(using('archivist', 'archive'));
    await running('archivist');
    const { name, path } = await volumeOf('archive');
    await end('archivist');
    await deleteClaim('archive');
    await until('the volume is released', async () => (await getVolume(name))?.status?.phase === 'Released');
    expect(existsSync(path)).toBe(true);
    await server.client.persistentVolumes.delete({ name });
    await until('the volume is gone', async () => (await getVolume(name)) === undefined);
    expect(readdirSync(join(path, '..'))).toContain(path.slice(path.lastIndexOf('/') + 1));
  });

  it('bind each of many pods to a static volume of its own on its node', async () => {
    await createClass(storageClass('disks').waiting().build());
    const names = Array.from({ length: 16 }, (_, i) => `d${i}`);
    for (const [i, name] of names.entries()) {
      const disk = volume(name)
        .storageClass('disks')
        .onHost(i % 2 === 0 ? 'n1' : 'n2');
      const folder = { hostPath: { path: join(machines.get('n1')!.dataDir, name), type: 'DirectoryOrCreate' } };
      await server.client.persistentVolumes.create(
        sent(disk.with(({ spec }) => void Object.assign(spec!, { persistentVolumeSource: folder })).build()),
      );
    }
    await Promise.all(names.map((name) => createClaim(claim(`c-${name}`).storageClass('disks').build())));
    await Promise.all(names.map((name) => createPod(using(`p-${name}`, `c-${name}`))));
    const pods = await Promise.all(names.map((name) => running(`p-${name}`)));
    const claims = await Promise.all(names.map((name) => getClaim(`c-${name}`)));
    expect(new Set(claims.map(({ spec }) => spec?.volumeName)).size).toBe(names.length);
    for (const [i, { spec }] of claims.entries()) {
      const host = Number(spec?.volumeName?.slice(1)) % 2 === 0 ? 'n1' : 'n2';
      expect(pods[i]?.spec?.nodeName).toBe(host);
    }
    await createClaim(claim('c-late').storageClass('disks').build());
    await createPod(using('p-late', 'c-late'));
    const late = await podWhere(server.client, 'p-late', ({ status }) =>
      (status?.conditions ?? []).some(({ message }) => message),
    );
    expect(late.status?.conditions?.[0]?.message).toBe(
      "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.",
    );
    await server.client.persistentVolumes.create(
      sent(
        volume('d-late')
          .storageClass('disks')
          .with(
            ({ spec }) =>
              void Object.assign(spec!, {
                persistentVolumeSource: {
                  hostPath: { path: join(machines.get('n1')!.dataDir, 'late'), type: 'DirectoryOrCreate' },
                },
              }),
          )
          .build(),
      ),
    );
    await running('p-late');
  });

  it('report a provisioner that does not run, and what local-path does not support', async () => {
    await createClass(storageClass('theirs').provisioner('example.com/disks').waiting().build());
    await createClaim(claim('elsewhere').storageClass('theirs').build());
    await createClaim(claim('shared').storageClass('local-path').modes('ReadWriteMany').build());
    await createPod(using('stuck', 'elsewhere'));
    await createPod(using('sharing', 'shared'));
    await until('the claim is handed on', async () => {
      const { metadata } = await getClaim('elsewhere');
      return metadata?.annotations?.['volume.kubernetes.io/storage-provisioner'] === 'example.com/disks';
    });
    await until('the reason is told', async () => {
      const { items } = await server.client.events.list({ namespace: 'default' });
      return items.some(({ message }) => message?.includes('access mode "ReadWriteMany" is not possible'));
    });
    const { metadata } = await getClaim('elsewhere');
    const node = metadata?.annotations?.['volume.kubernetes.io/selected-node'];
    // What the provisioner would do.
    const made = volume('theirs').storageClass('theirs').onHost(node!).keptFor('default/elsewhere', metadata?.uid);
    const hostPath = { path: join(machines.get(node!)!.dataDir, 'theirs'), type: 'DirectoryOrCreate' };
    await server.client.persistentVolumes.create(
      sent(made.with(({ spec }) => void Object.assign(spec!, { persistentVolumeSource: { hostPath } })).build()),
    );
    expect((await running('stuck')).spec?.nodeName).toBe(node);
  });
});

describe('a deleted node', () => {
  it('does not block the deletion of its volumes, whose data no agent can remove', async () => {
    await createClaim(claim('lost').build());
    await createPod(using('loser', 'lost'));
    const { spec } = await running('loser');
    const { name } = await volumeOf('lost');
    await agents.get(spec!.nodeName!)!.stop();
    agents.delete(spec!.nodeName!);
    await server.client.nodes.delete({ name: spec!.nodeName! });
    await server.client.pods.delete({ namespace: 'default', name: 'loser' }, { gracePeriodSeconds: 0 });
    await deleteClaim('lost');
    await until('the volume is gone', async () => (await getVolume(name)) === undefined);
  });
});

it('the default class is created once, and not again after a user deletes it', async () => {
  const first = await startServer({ backend: 'lmdb' });
  const { metadata } = await first.client.storageClasses.get({ name: 'local-path' });
  expect(metadata?.annotations?.['storageclass.kubernetes.io/is-default-class']).toBe('true');
  await first.client.storageClasses.delete({ name: 'local-path' });
  await first.stop();
  const second = await startServer({ backend: 'lmdb', dataDir: first.dataDir });
  expect((await second.client.storageClasses.list()).items).toEqual([]);
  await second.stop();
  await second.remove();
});
