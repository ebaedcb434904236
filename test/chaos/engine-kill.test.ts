import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import type { Client, Pod } from '../../client/index.ts';
import { containersOf, eventually, freePort } from '../e2e/installation.ts';
import { copyImage, createPrivateEngine, type PrivateEngine, unmountBelow } from '../e2e/private-engine.ts';
import { createRunFolder, removeAbandoned } from './abandoned.ts';
import { printCounts } from './counts.ts';
import { effort } from './effort.ts';
import { expectUnchanged, takeAccount } from './machine-account.ts';
import { createChurn, createMounted, image, isReady, namespace, stay } from './pod-churn.ts';
import { type BerthProcess, connectAdmin, startAgent, startServer } from './processes.ts';
import { createChance } from './random.ts';

// The engine is killed at any moment, over and over, while pods come and go, and the machine loses its power.
// An engine of the test's own.
const rounds = effort(4, 100);
/**
 * Each takes most of a minute where the engine has left links behind: the agent looks twice, 20 s apart,
 * before it removes them.
 */
const settleEvery = effort(4, 5);
const longestLifeMs = 3_000;
const nodeName = `chaos-engine-${process.pid}`;
const hostPorts = [18_081, 18_082];
/**
 * Each kill without live-restore counts as a restart of every container:
 * waits that double would be what the test does most of its time.
 */
const backOff = ['--max-container-restart-period', '3s'];
const machineEngine = process.env.DOCKER_HOST;

let dataDir: string;
let address: string;
let engine: PrivateEngine;
let server: BerthProcess;
let agent: BerthProcess;
let client: Client;
/** Restarts that the engine needed to give ports back. */
let freed = 0;

const account = () =>
  takeAccount({
    dataDir,
    nodeName,
    hostPorts,
    inside: (program, ...args) => engine.inside(program, ...args),
    roots: [engine.folder],
  });
const page = async (port: number) => (await engine.inside('curl', '-sf', '--max-time', '5', `http://127.0.0.1:${port}/`)).stdout;
const get = (name: string) => client.pods.get({ namespace, name });

beforeAll(async () => {
  await removeAbandoned();
  engine = await createPrivateEngine('kill');
  await engine.start({ liveRestore: true });
  await copyImage(engine, image);
  process.env.DOCKER_HOST = engine.host;
  dataDir = await createRunFolder('engine-kill');
  address = `${await engine.connect()}:${await freePort()}`;
  server = await startServer(dataDir, address);
  client = await connectAdmin(dataDir, address);
  await createMounted(client);
  agent = startAgent(dataDir, address, nodeName, { within: engine.enter, flags: backOff });
});
afterAll(async () => {
  client?.close();
  await agent?.kill();
  await server?.kill();
  await engine?.start({ liveRestore: false });
  await engine?.remove();
  if (machineEngine === undefined) delete process.env.DOCKER_HOST;
  else process.env.DOCKER_HOST = machineEngine;
  await unmountBelow(dataDir);
  await rm(dataDir, { recursive: true, force: true });
});

describe.each([true, false])('with live-restore %s', (liveRestore) => {
  it('exactly one copy of each container, and nothing left of those that went, however often the engine is killed', async () => {
    await restartEngine(liveRestore);
    const before = await account();
    const churn = createChurn({ client, hostPorts, account, before, page, mayRestart: true });
    const chance = createChance(`engine killed, live-restore ${liveRestore}`);
    await churn.createAll();
    for (let round = 1; round <= rounds; round++) {
      const settles = round % settleEvery === 0;
      await churn.round(chance, longestLifeMs, settles, async () => {
        await engine.stop('SIGKILL');
        return () => engine.start({ liveRestore });
      });
      if (settles) await freeingPorts(liveRestore, () => churn.settle(round));
    }
    await churn.clear();
    printCounts(`engine killed, live-restore ${liveRestore}`, { kills: rounds, 'restarts to free ports': freed, violations: 0 });
    freed = 0;
  });
});

/**
 * Does what the event of a pod asks for: an engine that was killed in the middle may keep a host port in its memory for
 * a container that it has forgotten (Docker 20.10), until it is started again.
 */
async function freeingPorts(liveRestore: boolean, work: () => Promise<void>): Promise<void> {
  let done = false;
  let since = Date.now();
  const watching = (async () => {
    while (!done) {
      const { items } = await client.events.list({ namespace });
      const asks = items.some(
        ({ message, lastTimestamp }) =>
          message?.includes('restart the engine to free it') && (lastTimestamp?.seconds ?? 0) * 1000 > since,
      );
      if (asks) {
        freed++;
        await engine.stop('SIGTERM');
        await engine.start({ liveRestore });
        since = Date.now();
      }
      await delay(1_000);
    }
  })();
  try {
    await work();
  } finally {
    done = true;
    await watching;
  }
}

/** With nothing of an earlier life, also when a test before this one failed. */
async function restartEngine(liveRestore: boolean): Promise<void> {
  const { items } = await client.pods.list({ namespace });
  await Promise.all(items.map(({ metadata }) => client.pods.delete({ namespace, name: metadata?.name ?? '' })));
  await eventually('no pod is left', async () => ((await client.pods.list({ namespace })).items.length === 0 ? true : undefined));
  await engine.stop('SIGTERM');
  await engine.start({ liveRestore });
  await eventually('the node is ready', async () => {
    const node = await client.nodes.get({ name: nodeName });
    return isConditionTrue(node.status?.conditions, 'Ready') ? true : undefined;
  });
}

/** With a folder of the machine behind it. */
async function createClaim(name: string, path: string): Promise<void> {
  const accessModes = ['ReadWriteOnce'];
  const storage = { string: '1Gi' };
  await client.persistentVolumes.create({
    metadata: { name },
    spec: {
      accessModes,
      capacity: { storage },
      storageClassName: name,
      persistentVolumeSource: { hostPath: { path, type: 'DirectoryOrCreate' } },
    },
  });
  await client.persistentVolumeClaims.create({
    metadata: { namespace, name },
    spec: { accessModes, resources: { requests: { storage } }, storageClassName: name },
  });
}

it('after a reboot pods are there again with their names, what they had on disk, and one restart more', async () => {
  const volumeMounts = ['disk', 'memory', 'claim'].map((name) => ({ name, mountPath: `/${name}` }));
  const write = 'for each in disk memory claim; do date +%s%N >>/$each/starts; done';
  const podOf = (name: string, restartPolicy: string): Pod => ({
    metadata: { namespace, name },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: 1,
      containers: [
        { name: 'main', image, command: ['sh', '-c', `${write}; ${stay}`], imagePullPolicy: 'IfNotPresent', volumeMounts },
      ],
      volumes: [
        { name: 'disk', volumeSource: { emptyDir: {} } },
        { name: 'memory', volumeSource: { emptyDir: { medium: 'Memory' } } },
        { name: 'claim', volumeSource: { persistentVolumeClaim: { claimName: name } } },
      ],
    },
  });
  const kept = (name: string) => join(dataDir, 'kept', name);
  const names = ['stays', 'fails', 'ends'];
  await restartEngine(true);
  const before = await account();
  for (const name of names) await createClaim(name, kept(name));
  await client.pods.create(podOf('stays', 'Always'));
  await client.pods.create(podOf('fails', 'OnFailure'));
  await client.pods.create(podOf('ends', 'Never'));
  const until = (name: string, what: string, test: (pod: Pod) => boolean) =>
    eventually(
      `pod ${name} ${what}`,
      async () => {
        const pod = await get(name);
        if (test(pod)) return pod;
        throw new Error(JSON.stringify(pod.status));
      },
      120_000,
    );
  for (const name of names) await until(name, 'is ready', isReady);
  const uids = Object.fromEntries(await Promise.all(names.map(async (name) => [name, (await get(name)).metadata?.uid])));

  await agent.kill();
  await engine.reboot();
  await unmountBelow(dataDir);
  await engine.start({ liveRestore: true });
  agent = startAgent(dataDir, address, nodeName, { within: engine.enter, flags: backOff });

  for (const name of ['stays', 'fails']) {
    const pod = await until(
      name,
      'runs again',
      (each) => isReady(each) && each.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(pod.metadata?.uid).toBe(uids[name]);
    const { id } = (await containersOf(nodeName)).find(
      (each) => each.pod === name && each.container === 'main' && each.state === 'running',
    )!;
    const starts = async (folder: string) =>
      (await engine.docker('exec', id, 'cat', `/${folder}/starts`)).trim().split('\n').length;
    const counts = [await starts('disk'), await starts('claim'), await starts('memory')];
    expect(counts, `starts of ${name}, on disk, in its claim and in memory`).toEqual([2, 2, 1]);
  }
  const ended = await until('ends', 'has failed', (pod) => pod.status?.phase === 'Failed');
  expect(ended.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  const alive = (await containersOf(nodeName)).filter((each) => each.state === 'running');
  expect(alive.map((each) => `${each.pod}/${each.container}`).sort()).toEqual(
    ['fails', 'stays'].flatMap((pod) => [`${pod}/POD`, `${pod}/main`]),
  );
  await Promise.all(names.map((name) => client.pods.delete({ namespace, name })));
  await eventually('all pods are gone', async () =>
    (await client.pods.list({ namespace })).items.length === 0 ? true : undefined,
  );
  await eventually('the machine is as it was', async () => {
    expectUnchanged(before, await account());
    return true;
  });
  // What is in claims outlives their pods.
  const lines = names.map(
    (name) =>
      readFileSync(join(kept(name), 'starts'), 'utf8')
        .trim()
        .split('\n').length,
  );
  expect(lines).toEqual([2, 2, 1]);
  printCounts('reboot', { reboots: 1, violations: 0 });
});
