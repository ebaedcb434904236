import { expect, it } from 'vitest';
import { decodeMessage } from '../../api/codec/message.ts';
import type { DaemonSet, Pod, StatefulSet } from '../../api/generated/types.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import { count } from '../builders/deployment.ts';
import { PlayedNodes } from '../simulation/played-nodes.ts';
import { World } from '../simulation/world.ts';
import { effort } from './effort.ts';
import { createChance } from './random.ts';

// Random histories of StatefulSets and DaemonSets in memory: real controllers and registry, faulty calls and watches,
// controllers that are killed at any moment, templates that never become ready.
const histories = effort(60, 10_000);
const at = (name: string) => ({ namespace: 'default', name });
const nodes = ['n1', 'n2', 'n3'];
const containers = (image: string) => [{ name: 'c', image }];
const templateOf = (name: string, image: string) => ({
  metadata: { labels: { app: name } },
  spec: { containers: containers(image) },
});
const claim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: { string: '1Gi' } } } },
};

function statefulSetOf({ chance }: World): StatefulSet {
  const rollingUpdate = { partition: 0, maxUnavailable: count(1 + chance.below(2)) };
  return {
    metadata: at('db'),
    spec: {
      replicas: chance.below(4),
      selector: { matchLabels: { app: 'db' } },
      template: templateOf('db', `i:${chance.below(3)}`),
      podManagementPolicy: chance.pick(['OrderedReady', 'Parallel']),
      updateStrategy: { type: 'RollingUpdate', ...(chance.next() < 0.7 && { rollingUpdate }) },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: chance.pick(['Retain', 'Delete']) },
      ...(chance.next() < 0.5 && { volumeClaimTemplates: [claim] }),
    },
  };
}

const daemonSetOf = ({ chance }: World): DaemonSet => ({
  metadata: at('log'),
  spec: {
    selector: { matchLabels: { app: 'log' } },
    template: templateOf('log', `i:${chance.below(3)}`),
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: count(1 + chance.below(2)), maxSurge: count(0) } },
  },
});

/** One thing that a user does, or that happens. */
async function act(world: World): Promise<void> {
  const { chance, client } = world;
  const { statefulSets, daemonSets, pods } = client;
  const set = await statefulSets.get(at('db')).catch(() => undefined);
  const daemon = await daemonSets.get(at('log')).catch(() => undefined);
  if (!set) return void (await statefulSets.create(statefulSetOf(world)));
  if (!daemon) return void (await daemonSets.create(daemonSetOf(world)));
  const image = (): string => (chance.next() < 0.3 ? 'bad' : `i:${chance.below(3)}`);
  const any = (await world.pods())[0]?.metadata?.name;
  const things = [
    () => statefulSets.patch(at('db'), { spec: { replicas: chance.below(5) } }),
    () => statefulSets.patch(at('db'), { spec: { ordinals: { start: chance.below(3) } } }),
    () => statefulSets.patch(at('db'), { spec: { template: templateOf('db', image()) } }),
    () => statefulSets.patch(at('db'), { spec: { template: templateOf('db', image()) } }),
    () => daemonSets.patch(at('log'), { spec: { template: templateOf('log', image()) } }),
    () =>
      client.nodes.patch(
        { name: chance.pick(nodes) },
        { spec: { taints: chance.pick([[], [{ key: 'x', effect: 'NoExecute' }]]) } },
      ),
    () => world.restartControllers(),
    async () => any !== undefined && (await pods.delete(at(any))),
    () => (chance.next() < 0.2 ? statefulSets.delete(at('db')) : undefined),
    () => (chance.next() < 0.2 ? daemonSets.delete(at('log')) : undefined),
  ];
  await chance.pick(things)();
}

/** Notes every pod that a DaemonSet made on a node beside another that stays: until `signal` aborts. */
async function findDoubles({ server }: World, doubles: string[], signal: AbortSignal): Promise<void> {
  const prefix = keyPrefixOf(kindNamed('Pod'));
  const staying = new Map<string, string>();
  try {
    for await (const batch of server.registry.storage.watch({ prefix: '', from: 0 }, signal))
      for (const { type, key, bytes } of batch) {
        if (!key.startsWith(prefix)) continue;
        const pod = decodeMessage<Pod>('berth.core.v1.Pod', bytes);
        const owner = controllerOf(pod);
        const { uid = '', deletionTimestamp } = pod.metadata ?? {};
        const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
        const node = required?.nodeSelectorTerms?.[0]?.matchFields?.[0]?.values?.[0];
        if (owner?.kind !== 'DaemonSet') continue;
        const place = `${owner.uid} on ${node}`;
        const other = staying.get(place);
        const stays = type !== 'delete' && !deletionTimestamp && !isFinished(pod);
        if (!stays && other === uid) staying.delete(place);
        if (stays && other !== undefined && other !== uid) doubles.push(`${pod.metadata?.name} beside another on ${node}`);
        if (stays) staying.set(place, uid);
      }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
const imageOf = ({ spec }: Pod): string => spec?.containers?.[0]?.image ?? '';

/** What is wrong in the end, in words. */
async function findWrong(world: World): Promise<string[]> {
  const pods = await world.pods();
  const wrong: string[] = [];
  const compare = (name: string, found: string[], wanted: string[]): void => {
    if (found.toSorted().join() !== wanted.toSorted().join()) wrong.push(`${name} has ${found} and wants ${wanted}`);
  };
  const shown = (name: string, place: (pod: Pod) => string | undefined) =>
    pods
      .filter(({ metadata }) => metadata?.labels?.app === name)
      .map((pod) => `${place(pod)}=${isReady(pod) ? imageOf(pod) : 'not ready'}`);
  const set = await world.client.statefulSets.get(at('db')).catch(() => undefined);
  const { replicas = 0, ordinals } = set?.spec ?? {};
  const names = Array.from({ length: replicas }, (_, nth) => `db-${(ordinals?.start ?? 0) + nth}`);
  compare(
    'db',
    shown('db', ({ metadata }) => metadata?.name),
    names.map((name) => `${name}=i:9`),
  );
  if (set && set.status?.availableReplicas !== replicas)
    wrong.push(`db says ${set.status?.availableReplicas} of ${replicas} are available`);
  const daemon = await world.client.daemonSets.get(at('log')).catch(() => undefined);
  const free = (await world.client.nodes.list({})).items
    .filter(({ spec }) => !spec?.taints?.length)
    .map(({ metadata }) => metadata?.name ?? '');
  compare(
    'log',
    shown('log', ({ spec }) => spec?.nodeName),
    daemon ? free.map((name) => `${name}=i:9`) : [],
  );
  if (daemon && daemon.status?.numberAvailable !== free.length)
    wrong.push(`log says ${daemon.status?.numberAvailable} of ${free.length}`);
  const revisions = (await world.client.controllerRevisions.list({ namespace: 'default' })).items;
  const numbers = revisions.map((revision) => `${controllerOf(revision)?.kind} ${revision.revision}`);
  if (new Set(numbers).size !== numbers.length) wrong.push(`revisions with one number: ${numbers}`);
  return wrong;
}

async function runHistory(seed: number): Promise<string[]> {
  const world = await World.start(seed, ['statefulset', 'daemonset', 'dependents', 'volume-protection']);
  const watching = new AbortController();
  const doubles: string[] = [];
  const following = findDoubles(world, doubles, watching.signal);
  const played = new PlayedNodes(world, {
    names: nodes,
    becomesReady: (pod) => imageOf(pod) !== 'bad',
    // In the end nothing fails by itself any more.
    ends: { rate: () => (world.faults.rates.delayMs > 0 ? 0.01 : 0), phase: () => 'Failed' },
  });
  await played.register();
  world.setFaults({ refused: 0.1, unheard: 0.12, conflict: 0.12, broken: 0.05, expired: 0.05, delayMs: 400 });
  await world.restartControllers();
  for (let turn = 0; turn < 12; turn++) {
    await act(world);
    await world.pass(world.chance.below(2_000), () => played.step());
  }
  // Nothing is deleted by hand in the end: a template that works is enough.
  for (const name of ['db', 'log']) {
    const change = { spec: { template: templateOf(name, 'i:9') } };
    await (name === 'db' ? world.client.statefulSets : world.client.daemonSets).patch(at(name), change).catch(() => {});
  }
  world.setFaults({});
  let wrong = ['not looked at'];
  for (let tries = 0; wrong.length > 0 && tries < 300; tries++) {
    await world.pass(1_000, () => played.step());
    wrong = await findWrong(world);
  }
  watching.abort();
  await following;
  await world.stop();
  return [...wrong, ...doubles];
}

it(`${histories} random histories of StatefulSets and DaemonSets end as wanted, with one pod for each name and node`, async () => {
  const chance = createChance('simulated sets');
  const failed: string[] = [];
  for (let nth = 0; nth < histories && failed.length < 3; nth++) {
    const seed = chance.below(2 ** 31);
    const wrong = await runHistory(seed);
    if (wrong.length > 0) failed.push(`seed ${seed}: ${wrong.join('; ')}`);
  }
  expect(failed).toEqual([]);
});
