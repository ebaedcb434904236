import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { createPodHouse, image, isReady, type PodHouse, type PodJson, script } from './pods-fixture.ts';
import { copyImage, createPrivateEngine, type PrivateEngine } from './private-engine.ts';

// A StatefulSet whose pods write to claims, on an engine of the tests' own, which is taken away from it.
let engine: PrivateEngine;
let house: PodHouse;
const machineEngine = process.env.DOCKER_HOST;
const names = ['db-0', 'db-1'];

beforeAll(async () => {
  engine = await createPrivateEngine('sets');
  await engine.start({ liveRestore: false });
  await copyImage(engine, image);
  process.env.DOCKER_HOST = engine.host;
  house = await createPodHouse('sets');
});
afterAll(async () => {
  try {
    await engine?.start({ liveRestore: false });
    await house?.berth.purge();
  } finally {
    if (machineEngine === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = machineEngine;
    await engine?.remove();
  }
});

/** Each start adds a line with the name of the pod to a file of its claim. */
function setOf(version: string): object {
  const labels = { app: 'db' };
  const text = `trap "exit 0" TERM; echo "$(hostname) ${version}" >>/data/starts; while :; do sleep 1000 & wait; done`;
  const container = script(text, {
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
    readinessProbe: { exec: { command: ['test', '-s', '/data/starts'] }, periodSeconds: 1 },
  });
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db' },
    spec: {
      replicas: names.length,
      serviceName: 'db',
      selector: { matchLabels: labels },
      volumeClaimTemplates: [
        { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } } },
      ],
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 5, containers: [container] } },
    },
  };
}

interface SetJson {
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly availableReplicas?: number;
    readonly updatedReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
  };
}

const rolledOut = () =>
  eventually(
    'the set is rolled out',
    async () => {
      const { metadata, status = {} } = (await house.berth.reader.get('StatefulSet', 'db')) as unknown as SetJson;
      const isDone =
        status.observedGeneration === metadata.generation &&
        status.currentRevision === status.updateRevision &&
        [status.availableReplicas, status.updatedReplicas].every((count) => count === names.length);
      return isDone || undefined;
    },
    120_000,
  );
const podsOf = async (): Promise<readonly PodJson[]> =>
  ((await house.berth.reader.list('Pod')) as unknown as readonly PodJson[]).filter(({ metadata }) =>
    metadata.name.startsWith('db-'),
  );
const startsOf = (name: string) => house.sh(name, 'cat /data/starts');
const claimUids = async (): Promise<string[]> =>
  ((await house.berth.reader.list('PersistentVolumeClaim')) as unknown as readonly { metadata: { name: string; uid: string } }[])
    .map(({ metadata }) => `${metadata.name} ${metadata.uid}`)
    .toSorted();

describe('the data of a StatefulSet', () => {
  let claims: string[];

  it('lies in claims, one for each pod', async () => {
    await house.apply(setOf('one'));
    await rolledOut();
    claims = await claimUids();
    expect(claims.map((claim) => claim.split(' ')[0])).toEqual(['data-db-0', 'data-db-1']);
    for (const name of names) expect(await startsOf(name)).toBe(`${name} one\n`);
  });

  it('outlives an update, and the pods come back under their names', async () => {
    await house.apply(setOf('two'));
    await rolledOut();
    for (const name of names) expect(await startsOf(name)).toBe(`${name} one\n${name} two\n`);
    expect(await claimUids()).toEqual(claims);
  });

  it('outlives the loss of the agent and the engine with all containers, and no pod is there twice', async () => {
    process.kill(house.berth.pid('agent'), 'SIGKILL');
    await engine.reboot();
    await engine.start({ liveRestore: false });
    for (const name of names)
      await eventually(
        `${name} has started again`,
        async () => {
          const text = await startsOf(name).catch(() => '');
          return text.split('\n').length > 3 || undefined;
        },
        180_000,
      );
    await rolledOut();
    const pods = await podsOf();
    expect(pods.map(({ metadata }) => metadata.name).toSorted()).toEqual(names);
    expect(pods.every(isReady)).toBe(true);
    for (const name of names) expect(await startsOf(name)).toMatch(new RegExp(`^${name} one\n(${name} two\n){2,}$`));
    expect(await claimUids()).toEqual(claims);
  });
});
