import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Node, PersistentVolume, Pod } from '../../api/generated/types.ts';
import { claim, storageClass, volume } from '../../test/builders/index.ts';
import { storageOf } from '../../test/builders/storage-view.ts';
import * as nodes from '../../test/reference/nodes.ts';
import { affinityFilter, affinityScores } from '../../test/reference/pods-near-pods.ts';
import { clusterHistory, nodeFrom, podFrom, type Step } from '../../test/reference/random-cluster.ts';
import { spreadFilter, spreadScores } from '../../test/reference/spreading.ts';
import { claimsProblem, volumeFilter } from '../../test/reference/volumes.ts';
import { createWorld, nameOf, nodesOf, type World, withNominated } from '../../test/reference/world.ts';
import { createCache } from '../cache/cache.ts';
import { createNodeTable, type NodeTable } from '../cache/node-table.ts';
import { nodeResourcesFit } from '../plugins/node-resources-fit.ts';
import { createPodOutline } from '../pod-outline.ts';
import { defaultProfile, type ProfileEntry } from '../profile.ts';
import { keepBesideNominated, rejectionOn } from './beside-nominated.ts';
import type { AnyPlugin, Attempt, MakeRoom, Proceed } from './plugin.ts';
import { podInfo } from './pod-info.ts';
import { createRunner, type Runner } from './runner.ts';

/** BERTH_CHAOS=long plays more. */
const histories = process.env.BERTH_CHAOS === 'long' ? 2_000 : 30;

type ReferenceFilter = (world: World, pod: Pod, node: Node) => string | undefined;

interface Reference {
  readonly filter?: ReferenceFilter;
  /** What it says with the pods for which room is being made; without it the same. */
  readonly beside?: 'in sums' | 'second look';
  /** Normalised scores of the nodes that are left. */
  readonly scores?: (world: World, pod: Pod, left: readonly Node[]) => number[];
}

/** Every plugin of the default profile that judges nodes. */
const references: Readonly<Record<string, Reference>> = {
  NodeName: { filter: nodes.nodeNameFilter },
  NodeUnschedulable: { filter: nodes.unschedulableFilter },
  NodeReady: { filter: nodes.readyFilter },
  TaintToleration: { filter: nodes.taintFilter, scores: nodes.taintScores },
  NodeAffinity: { filter: nodes.nodeAffinityFilter, scores: nodes.nodeAffinityScores },
  NodePorts: { filter: nodes.portsFilter, beside: 'in sums' },
  VolumeBinding: { filter: volumeFilter },
  NodeResourcesFit: { filter: nodes.fitFilter, beside: 'in sums', scores: nodes.strategyScores(nodes.leastAllocated) },
  NodeUsage: { filter: nodes.usageFilter, scores: nodes.usageScores },
  PodTopologySpread: { filter: spreadFilter, beside: 'second look', scores: spreadScores },
  InterPodAffinity: { filter: affinityFilter, beside: 'second look', scores: affinityScores },
  NodeResourcesBalanced: { scores: (world, pod, left) => nodes.balancedScores(withNominated(world, pod), pod, left) },
  ImageLocality: { scores: nodes.imageScores },
};

/** Kubernetes' two looks; sums are only looked at with the nominated pods, who never make them smaller. */
function verdictOf({ filter, beside }: Reference, world: World, pod: Pod, node: Node): string | undefined {
  const later = withNominated(world, pod, node);
  if (beside === 'in sums') return filter?.(later, pod, node);
  return filter?.(world, pod, node) ?? (beside ? filter?.(later, pod, node) : undefined);
}

const verdicts = (world: World, pod: Pod, node: Node): string[] =>
  Object.values(references).flatMap((reference) => verdictOf(reference, world, pod, node) ?? []);

/** The other ways to compare nodes by requests. */
const strategies = [
  {
    plugin: nodeResourcesFit({
      scoringStrategy: {
        type: 'MostAllocated',
        resources: [{ name: 'cpu' }, { name: 'memory', weight: 3 }, { name: 'example.com/gpu', weight: 5 }],
      },
    }),
    scores: nodes.strategyScores({
      weights: { cpu: 1, memory: 3, 'example.com/gpu': 5 },
      score: (share) => 100 * share,
    }),
  },
  {
    plugin: nodeResourcesFit({
      scoringStrategy: {
        type: 'RequestedToCapacityRatio',
        requestedToCapacityRatio: {
          shape: [
            { utilization: 20, score: 0 },
            { utilization: 60, score: 10 },
          ],
        },
      },
    }),
    scores: nodes.strategyScores({
      weights: { cpu: 1, memory: 1 },
      score: (share) => Math.min(100, Math.max(0, ((share - 0.2) / 0.4) * 100)),
      skipsZero: true,
    }),
  },
] as const;

const begin = Date.UTC(2026, 0, 1);
const zoneKey = 'topology.kubernetes.io/zone';

function setUp() {
  const world = createWorld(begin);
  for (const namespace of ['default', 'other']) {
    const add = (built: ReturnType<typeof claim>) => {
      const object = built.build();
      world.claims.set(`${namespace}/${object.metadata?.name}`, object);
    };
    add(claim('shared', namespace).modes('ReadWriteMany').on('v-shared').bound());
    add(claim('single', namespace).on('v-single').bound());
    add(claim('alone', namespace).modes('ReadWriteOncePod').on('v-alone').bound());
    add(claim('waiting', namespace));
    add(claim('disk', namespace).storageClass('disks').size('2Gi'));
    add(claim('disk2', namespace).storageClass('disks').modes('ReadWriteMany'));
    add(claim('folder', namespace).storageClass('folders').modes('ReadWriteMany'));
  }
  for (const each of [volume('v-shared'), volume('v-single'), volume('v-alone').onHost('n1')])
    world.volumes.set(each.build().metadata!.name!, each.build());
  const disk = (name: string) => volume(name).storageClass('disks').modes('ReadWriteOnce', 'ReadWriteMany');
  const zoned = (made: PersistentVolume) => {
    const matchExpressions = [{ key: zoneKey, operator: 'In', values: ['a', 'b'] }];
    made.spec!.nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  };
  for (const each of [disk('d1').onHost('n1'), disk('d2').size('2Gi').onHost('n2'), disk('d3').size('5Gi').with(zoned)])
    world.volumes.set(each.build().metadata!.name!, each.build());
  const inZone = [{ matchLabelExpressions: [{ key: zoneKey, values: ['b', 'c'] }] }];
  const folders = storageClass('folders').provisioner('example.com/f').waiting();
  for (const each of [
    storageClass('disks').waiting(),
    folders.with((made) => void Object.assign(made, { allowedTopologies: inZone })),
  ])
    world.classes.set(each.build().metadata!.name!, each.build());
  const cache = createCache({ now: () => world.now });
  const storage = storageOf({
    claims: [...world.claims.values()],
    volumes: [...world.volumes.values()],
    classes: [...world.classes.values()],
  });
  const profile = defaultProfile({ name: 'Bind' }, undefined, { storage });
  const outline = createPodOutline({ remembered: 20 });
  const runner = createRunner({ profile, random: () => 0 });
  return { world, cache, storage, outline, table: createNodeTable(), profile, runner };
}

type SetUp = Pick<ReturnType<typeof setUp>, 'world' | 'cache' | 'outline'>;

const versioned = <T extends { metadata?: object }>(object: T, version: number): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(version) },
});

/** Makes it happen in the cache and in the world. The world has whole pods, the cache what is kept of them. */
function happen(step: Exclude<Step, { kind: 'attempt' }>, { world, cache, outline }: SetUp, version: number): void {
  switch (step.kind) {
    case 'later':
      world.now += step.seconds * 1000;
      return;
    case 'namespace': {
      const object = { metadata: { name: step.name, ...(step.team && { labels: { team: step.team } }) } };
      if (step.team) cache.setNamespace(object);
      else cache.removeNamespace(object);
      if (step.team) world.namespaces.set(step.name, { team: step.team });
      else world.namespaces.delete(step.name);
      return;
    }
    case 'node': {
      // A node takes a reading once in a second at most.
      world.now += 1000;
      const name = `n${step.which}`;
      const known = world.nodes.get(name);
      const built = nodeFrom(name, step.look, world.now);
      const uid = known?.node.metadata?.uid ?? `${name}-${version}`;
      const node = versioned({ ...built, metadata: { ...built.metadata, uid } }, version);
      cache.setNode(node);
      const isSameReading = known?.node.status?.usage?.timestamp?.seconds === node.status?.usage?.timestamp?.seconds;
      world.nodes.set(name, { node, readingArrivedAt: known && isSameReading ? known.readingArrivedAt : world.now });
      return;
    }
    case 'nodeGone': {
      const known = world.nodes.get(`n${step.which}`);
      if (known) cache.removeNode(known.node);
      world.nodes.delete(`n${step.which}`);
      return;
    }
    case 'nominated': {
      const nominee = podFrom(`nominee${step.which}`, { ...step.look, nodeName: undefined });
      const info = podInfo(outline(nominee));
      cache.nominate(info, `n${step.on}`);
      world.nominated.set(info.uid, { pod: nominee, nodeName: `n${step.on}`, placedAt: 0 });
      return;
    }
    case 'withdrawn':
      cache.withdraw(`uid-nominee${step.which}`);
      world.nominated.delete(`uid-nominee${step.which}`);
      return;
    default:
      happenToPod(step, { world, cache, outline }, version);
  }
}

type PodStep = Extract<Step, { kind: 'bound' | 'assumed' | 'changed' | 'gone' }>;

function happenToPod(step: PodStep, { world, cache, outline }: SetUp, version: number): void {
  const [name, uid] = [`p${step.which}`, `uid-p${step.which}`];
  const known = world.pods.get(uid);
  if (step.kind === 'gone') {
    // Finished rather than deleted, so that the same uid may come again.
    if (known) cache.setPod(outline(versioned({ ...known.pod, status: { phase: 'Succeeded' } }, version)));
    world.pods.delete(uid);
  } else if (step.kind === 'changed') {
    if (!known) return;
    const metadata = { ...known.pod.metadata, labels: step.labels, ...(step.leaving && { deletionTimestamp: { seconds: 1 } }) };
    const pod = { ...known.pod, metadata, spec: { ...known.pod.spec, nodeName: known.nodeName } };
    cache.setPod(outline(versioned(pod, version)));
    world.pods.set(uid, { ...known, pod });
  } else {
    if (known && step.kind === 'assumed') return;
    const built = podFrom(name, { ...step.look, nodeName: undefined });
    const nodeName = `n${step.on}`;
    const pod = { ...built, spec: { ...built.spec, nodeName } };
    if (step.kind === 'assumed') cache.assume(podInfo(outline(built)), nodeName);
    else cache.setPod(outline(versioned(pod, version)));
    world.pods.set(uid, { pod, nodeName, placedAt: known?.placedAt ?? world.now });
  }
}

/** The plugins see what is kept of the pod, the references the whole. */
interface AttemptOf extends Attempt {
  readonly whole: Pod;
}

/**
 * What each plugin says, and what the reference says. Answers the names of the nodes that are left,
 * with the reference's totals.
 */
function judgeAll(entries: readonly ProfileEntry[], attempt: AttemptOf, world: World): Map<string, number> {
  const { whole: pod } = attempt;
  const all = nodesOf(world);
  for (const { plugin } of entries) compareFilters(plugin, attempt, world);
  const left = all.filter((node) => verdicts(world, pod, node).length === 0);
  // What nominated pods ask for of extended resources is in their sums, of CPU and memory not.
  if (world.nominated.size === 0)
    for (const { plugin, scores } of strategies) compareScores(plugin, attempt, { left, scores: scores(world, pod, left) });
  const totals = new Map(left.map((node) => [nameOf(node), 0]));
  for (const { plugin, weight } of entries) {
    const scores = references[plugin.name]?.scores?.(world, pod, left) ?? [];
    if (left.length > 1) compareScores(plugin, attempt, { left, scores });
    for (const [i, node] of left.entries()) totals.set(nameOf(node), totals.get(nameOf(node))! + weight * (scores[i] ?? 0));
  }
  return totals;
}

const asked = ({ plugin }: Pick<ProfileEntry, 'plugin'>, attempt: Attempt): Proceed<unknown> => {
  const nothing: Proceed<unknown> = { kind: 'proceed', state: undefined, filter: false, score: false };
  const prepared = plugin.prepare?.(attempt);
  return prepared?.kind === 'proceed' ? prepared : nothing;
};

function compareFilters(plugin: ProfileEntry['plugin'], attempt: AttemptOf, world: World): void {
  const reference = references[plugin.name] ?? {};
  const { state, filter: filters } = asked({ plugin }, attempt);
  const { nodes: table, whole } = attempt;
  const said = (row: number) => (filters && plugin.filter ? rejectionOn({ plugin, state }, table, row)?.reason : undefined);
  const rows = [...table.names.keys()];
  const wanted = rows.map((row) => verdictOf(reference, world, whole, table.nodes[row]!));
  expect(rows.map(said), plugin.name).toEqual(wanted);
  if (!filters || !plugin.filterRows) return;
  const passing = Int32Array.from(rows);
  const left = passing.subarray(0, plugin.filterRows(state, table, passing));
  const kept = left.subarray(0, keepBesideNominated([{ plugin, state, filters }], table, left));
  expect([...kept], plugin.name).toEqual(rows.filter((row) => !wanted[row]));
}

interface Scored {
  readonly left: readonly Node[];
  readonly scores: readonly number[];
}

function compareScores(plugin: AnyPlugin, attempt: Attempt, { left, scores }: Scored): void {
  const { state, score } = asked({ plugin }, attempt);
  if (!score || !plugin.score) {
    // Not asked, because it says the same of all.
    expect(new Set(scores).size, plugin.name).toBeLessThanOrEqual(1);
    return;
  }
  const rows = Int32Array.from(left, (node) => attempt.nodes.rowOf(nameOf(node))!);
  const own = new Float64Array(rows.length).fill(Number.NaN);
  plugin.score(state, attempt.nodes, rows, own);
  plugin.normalise?.(own);
  for (const [i, given] of own.entries()) expect(given, `${plugin.name} of ${nameOf(left[i]!)}`).toBeCloseTo(scores[i]!, 6);
}

function decide(attempt: AttemptOf, world: World, runner: Runner, totals: ReadonlyMap<string, number>): string | undefined {
  const decision = runner.decide(attempt);
  const { whole: pod } = attempt;
  if (decision.kind === 'placed') {
    expect(totals.get(decision.nodeName)).toBeGreaterThanOrEqual(Math.max(...totals.values()) - 1e-6);
    return decision.nodeName;
  }
  expect([...totals.keys()]).toEqual([]);
  for (const [row, name] of attempt.nodes.names.entries()) {
    const { node } = world.nodes.get(name)!;
    const [first] = verdicts(world, pod, node);
    expect(decision.diagnosis.rejectionOf(row)?.reason).toBe(first);
  }
  if (decision.room) checkRoom(decision.room, pod, world);
  return undefined;
}

/** Once those are gone who are taken away, all of them less important, nothing keeps the pod off the node. */
function checkRoom({ nominatedNodeName, victims }: MakeRoom, pod: Pod, world: World): void {
  expect(victims.filter(({ priority }) => priority >= (pod.spec?.priority ?? 0))).toEqual([]);
  const gone = new Set(victims.map(({ uid }) => uid));
  const emptier = { ...world, pods: new Map([...world.pods].filter(([uid]) => !gone.has(uid))) };
  const { node } = world.nodes.get(nominatedNodeName)!;
  expect(verdicts(emptier, pod, node)).toEqual([]);
}

function attemptAt(whole: Pod, { world, outline, table }: SetUp & { readonly table: NodeTable }): AttemptOf {
  return { pod: podInfo(outline(whole)), nodes: table, now: world.now, whole };
}

describe('the plugins of the default profile', () => {
  it('say of every node what a slow reference says, after any history of the cluster, and the runner chooses the best', () => {
    fc.assert(
      fc.property(clusterHistory, (steps) => {
        const all = setUp();
        const { world, cache, storage, table, profile, runner } = all;
        for (const [at, step] of steps.entries()) {
          if (step.kind !== 'attempt') {
            happen(step, all, at + 1);
            continue;
          }
          const pod = podFrom(`new${at}`, step.look);
          const attempt = attemptAt(pod, all);
          cache.sync(table, attempt.pod);
          const problem = claimsProblem(world, pod);
          if (problem !== undefined || world.nodes.size === 0) {
            const decision = runner.decide(attempt);
            expect(decision.kind).toBe('unschedulable');
            continue;
          }
          const nodeName = decide(attempt, world, runner, judgeAll(profile.plugins, attempt, world));
          if (nodeName === undefined || !step.stays) continue;
          const { plugin } = profile.plugins.find((entry) => entry.plugin.name === 'VolumeBinding')!;
          const { state } = asked({ plugin }, attempt);
          if (state !== undefined) expect(plugin.reserve?.(state, attempt, nodeName)).toBeTypeOf('function');
          world.promised.push(...storage.promises.toPod(attempt.pod.uid));
          cache.assume(attempt.pod, nodeName);
          world.pods.set(attempt.pod.uid, { pod: { ...pod, spec: { ...pod.spec, nodeName } }, nodeName, placedAt: world.now });
        }
      }),
      { numRuns: histories, seed: 6 },
    );
  });
});
