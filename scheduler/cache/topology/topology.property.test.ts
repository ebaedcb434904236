import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Affinity, LabelSelector, Pod, PodAffinityTerm } from '../../../api/generated/types.ts';
import { labelSelectorMatches } from '../../../api/meta/labels.ts';
import { metadata, node, pod } from '../../../test/builders/index.ts';
import { podInfo } from '../../framework/pod-info.ts';
import { selectionInNamespace, selectionOfTerm } from '../../framework/pod-selection.ts';
import { createCache } from '../cache.ts';
import { createNodeTable } from '../node-table.ts';
import type { Carried, NodeChoice, TermKind } from './topology.ts';

const few = <const T>(...values: T[]) => fc.constantFrom(...values);
const zone = few(undefined, 'a', 'b', 'c');
const labels = fc.record({ app: few('web', 'db'), tier: few('x', 'y') }, { requiredKeys: [] });
const selector: fc.Arbitrary<LabelSelector> = few<LabelSelector>(
  {},
  { matchLabels: { app: 'web' } },
  { matchLabels: { app: 'db', tier: 'x' } },
  { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['x'] }] },
  { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'db'] }] },
);
const topologyKey = few('zone', 'kubernetes.io/hostname');
const term: fc.Arbitrary<PodAffinityTerm> = fc.record(
  {
    topologyKey,
    labelSelector: selector,
    namespaces: few([], ['default'], ['other', 'default']),
    namespaceSelector: few<LabelSelector>({}, { matchLabels: { team: 'red' } }),
  },
  { requiredKeys: ['topologyKey'] },
);
const affinity: fc.Arbitrary<Affinity> = fc.record({
  podAffinity: fc.record({
    requiredDuringSchedulingIgnoredDuringExecution: fc.array(term, { maxLength: 1 }),
    preferredDuringSchedulingIgnoredDuringExecution: fc.array(fc.record({ weight: few(1, 7), podAffinityTerm: term }), {
      maxLength: 1,
    }),
  }),
  podAntiAffinity: fc.record({
    requiredDuringSchedulingIgnoredDuringExecution: fc.array(term, { maxLength: 2 }),
    preferredDuringSchedulingIgnoredDuringExecution: fc.array(fc.record({ weight: few(3), podAffinityTerm: term }), {
      maxLength: 1,
    }),
  }),
});
const nodeIndex = fc.integer({ min: 0, max: 5 });
const podIndex = fc.integer({ min: 0, max: 9 });
const namespace = few('default', 'other');

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: few('bound'), pod: podIndex, node: nodeIndex, labels, namespace, affinity }) },
  { weight: 2, arbitrary: fc.record({ kind: few('assume'), pod: podIndex, node: nodeIndex, labels, namespace, affinity }) },
  { weight: 3, arbitrary: fc.record({ kind: few('removed', 'leaving', 'forget'), pod: podIndex }) },
  { weight: 3, arbitrary: fc.record({ kind: few('node'), node: nodeIndex, zone, tainted: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: few('nodeGone'), node: nodeIndex }) },
  { weight: 1, arbitrary: fc.record({ kind: few('namespace'), namespace, team: few(undefined, 'red', 'blue') }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: few('look'), selector, topologyKey, namespace, ask: term, untainted: fc.boolean() }),
  },
);

/** What there is, and nothing that was added up. */
function createWorld() {
  const pods = new Map<number, { object: Pod; bound: boolean }>();
  const nodes = new Map<string, { uid: string; zone: string | undefined; tainted: boolean }>();
  const namespaces = new Map<string, Record<string, string>>();
  return { pods, nodes, namespaces };
}
type World = ReturnType<typeof createWorld>;

const valueIn = (world: World, name: string, key: string) => (key === 'zone' ? world.nodes.get(name)?.zone : name);

function isAbout(world: World, given: PodAffinityTerm, ownNamespace: string, target: Pod): boolean {
  const { namespace: where = '', labels: has = {} } = target.metadata ?? {};
  const named = given.namespaces ?? [];
  const own = named.length === 0 && !given.namespaceSelector;
  const inNamespace =
    (own && where === ownNamespace) ||
    named.includes(where) ||
    labelSelectorMatches(given.namespaceSelector, world.namespaces.get(where));
  return inNamespace && labelSelectorMatches(given.labelSelector, has);
}

/** Numbers by the domain's value, without those that are 0. */
function countBy(pairs: readonly (readonly [string | undefined, number])[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [value, amount] of pairs) if (value !== undefined) counts[value] = (counts[value] ?? 0) + amount;
  return Object.fromEntries(
    Object.entries(counts)
      .filter(([, count]) => count !== 0)
      .sort(),
  );
}

const untainted: NodeChoice = { key: 'untainted', chooses: ({ spec }) => (spec?.taints ?? []).length === 0 };

function placedPods(world: World): Pod[] {
  return [...world.pods.values()].map(({ object }) => object).filter(({ spec }) => world.nodes.has(spec?.nodeName ?? ''));
}

describe('the topology index', () => {
  it('agrees with counting all pods anew, after any sequence of events', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        const world = createWorld();
        const cache = createCache({ now: () => 0 });
        const table = createNodeTable();
        for (const [at, given] of steps.entries()) {
          apply(given, world, cache, at + 1);
          if (given.kind === 'look' && 'ask' in given) {
            cache.sync(table);
            look(given, world, table);
          }
        }
      }),
      { numRuns: 100, seed: 6 },
    );
  });
});

function versioned<T extends { metadata?: object }>(object: T, version: number): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}

function apply(given: Step, world: World, cache: ReturnType<typeof createCache>, version: number): void {
  if ('affinity' in given) {
    const name = `p${given.pod}`;
    const known = world.pods.get(given.pod);
    // The identity of a pod is a namespace, too: what changes it is another pod.
    const built = pod(name).uid(`uid-${name}`).namespace(given.namespace).labels(given.labels).spec({ affinity: given.affinity });
    if (given.kind === 'assume') {
      if (known) return;
      cache.assume(podInfo(built.build()), `n${given.node}`);
    } else cache.setPod(versioned(built.on(`n${given.node}`).build(), version));
    world.pods.set(given.pod, { object: built.on(`n${given.node}`).build(), bound: given.kind === 'bound' });
  } else if ('pod' in given) {
    const known = world.pods.get(given.pod);
    if (!known) return;
    if (given.kind === 'forget') {
      cache.forget(`uid-p${given.pod}`);
      if (!known.bound) world.pods.delete(given.pod);
    } else if (given.kind === 'leaving') {
      known.object.metadata = { ...known.object.metadata, deletionTimestamp: { seconds: 1 } };
      known.bound = true;
      cache.setPod(versioned(known.object, version));
    } else {
      // Finished rather than deleted: its uid may come again here.
      cache.setPod(versioned({ ...known.object, status: { phase: 'Failed' } }, version));
      world.pods.delete(given.pod);
    }
  } else if (given.kind === 'node' && 'tainted' in given) {
    const name = `n${given.node}`;
    const uid = world.nodes.get(name)?.uid ?? `${name}-${version}`;
    const plain = node(name).labels(given.zone ? { zone: given.zone } : {});
    const built = (given.tainted ? plain.taint('k', 'NoSchedule') : plain).build();
    cache.setNode(versioned({ ...built, metadata: { ...built.metadata, uid } }, version));
    world.nodes.set(name, { uid, zone: given.zone, tainted: given.tainted });
  } else if (given.kind === 'nodeGone' && 'node' in given) {
    const name = `n${given.node}`;
    const uid = world.nodes.get(name)?.uid;
    if (uid) cache.removeNode({ metadata: { name, uid } });
    world.nodes.delete(name);
  } else if ('team' in given) {
    const marks = given.team ? { team: given.team } : undefined;
    const object = { metadata: metadata({ name: given.namespace, ...(marks && { labels: marks }) }) };
    if (marks) cache.setNamespace(object);
    else cache.removeNamespace(object);
    if (marks) world.namespaces.set(given.namespace, marks);
    else world.namespaces.delete(given.namespace);
  }
}

type Look = Extract<Step, { kind: 'look'; ask: unknown }>;

function look(given: Look, world: World, table: ReturnType<typeof createNodeTable>): void {
  const all = placedPods(world);
  const key = given.topologyKey;
  const read = (tally: { domains: { size: number; valueOf(domain: number): string }; counts: Int32Array }) =>
    countBy(Array.from({ length: tally.domains.size }, (_, domain) => [tally.domains.valueOf(domain), tally.counts[domain]!]));

  const near = table.topology.tally(selectionOfTerm(given.ask, given.namespace), given.ask.topologyKey!);
  const matching = all.filter((object) => isAbout(world, given.ask, given.namespace, object));
  const nearest = countBy(matching.map(({ spec }) => [valueIn(world, spec!.nodeName!, given.ask.topologyKey!), 1]));
  expect(read(near)).toEqual(nearest);
  expect(near.total).toBe(Object.values(nearest).reduce((sum, count) => sum + count, 0));

  const choice = given.untainted ? untainted : undefined;
  const spread = table.topology.tally(selectionInNamespace(given.namespace, given.selector), key, choice);
  const chosen = [...world.nodes].filter(([, { tainted }]) => !choice || !tainted).map(([name]) => name);
  const counted = all.filter(
    ({ metadata: of = {}, spec }) =>
      of.namespace === given.namespace &&
      !of.deletionTimestamp &&
      labelSelectorMatches(given.selector, of.labels) &&
      chosen.includes(spec!.nodeName!),
  );
  expect(read(spread)).toEqual(countBy(counted.map(({ spec }) => [valueIn(world, spec!.nodeName!, key), 1])));
  expect(read({ domains: spread.domains, counts: spread.nodesIn })).toEqual(
    countBy(chosen.map((name) => [valueIn(world, name, key), 1])),
  );

  const asking = pod('asking').namespace(given.namespace).labels({ app: 'web' }).build();
  for (const kind of ['anti', 'required', 'preferred'] as const)
    expect(aboutBy(table.topology.termsAbout(podInfo(asking).face, kind)), kind).toEqual(termsOf(world, all, asking, kind));
}

/** Sums by topology key and value. */
function aboutBy(terms: readonly Carried[]): Record<string, number> {
  return countBy(
    terms.flatMap(({ domains, counts }) => {
      const sums = new Int32Array(domains.size);
      counts.addTo(sums, 1);
      return [...sums].map((sum, domain) => [`${domains.key}=${domains.valueOf(domain)}`, sum] as const);
    }),
  );
}

function termsOf(world: World, all: readonly Pod[], asking: Pod, kind: TermKind): Record<string, number> {
  return countBy(
    all.flatMap((object) => {
      const { podAffinity, podAntiAffinity } = object.spec?.affinity ?? {};
      const preferred = (side: typeof podAffinity, sign: number) =>
        (side?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
          ({ weight = 0, podAffinityTerm = {} }) => [podAffinityTerm, sign * weight] as const,
        );
      const required = (side: typeof podAffinity) =>
        (side?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((each) => [each, 1] as const);
      const said = {
        anti: required(podAntiAffinity),
        required: required(podAffinity),
        preferred: [...preferred(podAffinity, 1), ...preferred(podAntiAffinity, -1)],
      }[kind];
      return said
        .filter(([each]) => isAbout(world, each, object.metadata?.namespace ?? '', asking))
        .map(([{ topologyKey: key = '' }, weight]) => {
          const value = valueIn(world, object.spec!.nodeName!, key);
          return [value === undefined ? undefined : `${key}=${value}`, weight] as const;
        });
    }),
  );
}
