import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Pod, PodDisruptionBudget } from '../../api/generated/types.ts';
import { node, pod } from '../../test/builders/index.ts';
import { preempt } from '../../test/builders/preempt.ts';
import { choicesFor, fitsBeside, type ReferenceNode, type ReferencePod } from '../../test/reference/preemption.ts';
import { createCache } from '../cache/cache.ts';
import { createNodeTable } from '../cache/node-table.ts';
import { type PodInfo, podInfo } from '../framework/pod-info.ts';
import { createRunner } from '../framework/runner.ts';
import { defaultProfile } from '../profile.ts';

type Drawn = Omit<ReferencePod, 'name'>;
const drawnPod: fc.Arbitrary<Drawn> = fc.record({
  priority: fc.integer({ min: 0, max: 4 }),
  cpu: fc.integer({ min: 0, max: 6 }),
  hostPort: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, fc.constantFrom(80, 81)),
  startedAt: fc.integer({ min: 1, max: 5 }),
  budget: fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, fc.constantFrom('a', 'b')),
});

interface Scene {
  readonly nodes: readonly ReferenceNode[];
  readonly preemptor: ReferencePod;
  readonly allowed: ReadonlyMap<string, number>;
}

/** Nodes whose pods fit on them: what is drawn and does not fit is left out. */
const scene: fc.Arbitrary<Scene> = fc
  .record({
    nodes: fc.array(
      fc.tuple(fc.integer({ min: 4, max: 12 }), fc.integer({ min: 2, max: 6 }), fc.array(drawnPod, { maxLength: 7 })),
      {
        minLength: 1,
        maxLength: 5,
      },
    ),
    preemptor: drawnPod,
    a: fc.integer({ min: 0, max: 3 }),
    b: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ nodes, preemptor, a, b }) => ({
    preemptor: { ...preemptor, name: 'preemptor', priority: preemptor.priority + 1, budget: undefined },
    allowed: new Map(Object.entries({ a, b })),
    nodes: nodes.map(([cpu, mostPods, drawn], at) => {
      const pods: ReferencePod[] = [];
      for (const [i, each] of drawn.entries()) {
        const next = { ...each, name: `p${at}-${i}` };
        if (fitsBeside(next, { name: '', cpu, mostPods, pods }, pods)) pods.push(next);
      }
      return { name: `n${at}`, cpu, mostPods, pods };
    }),
  }));

function built({ name, priority, cpu, hostPort, startedAt, budget }: ReferencePod, on?: string): Pod {
  const ports = hostPort === undefined ? [] : [{ containerPort: 1, hostPort, protocol: 'TCP' }];
  const made = pod(name)
    .container('main', { ports })
    .priority(priority)
    .status({ startTime: { seconds: startedAt } })
    .labels(budget ? { budget } : {});
  const asking = cpu > 0 ? made.requests({ cpu: String(cpu) }) : made;
  return (on ? asking.on(on) : asking).build();
}

const nodesOf = ({ nodes }: Scene) =>
  nodes.map(({ name, cpu, mostPods }) =>
    node(name)
      .capacity({ cpu: String(cpu), pods: String(mostPods) })
      .build(),
  );
const podsOf = ({ nodes }: Scene) => nodes.flatMap(({ name, pods }) => pods.map((each) => built(each, name)));
const budgetsOf = ({ allowed }: Scene): PodDisruptionBudget[] =>
  [...allowed].map(([budget, disruptionsAllowed]) => ({
    metadata: { name: budget, namespace: 'default' },
    spec: { selector: { matchLabels: { budget } } },
    status: { disruptionsAllowed },
  }));

describe('preemption on any cluster', () => {
  it('makes the room that a slow reference makes, in the node that it prefers, and leaves the table as it was', () => {
    let made = 0;
    fc.assert(
      fc.property(scene, (drawn) => {
        const { nodes, preemptor, allowed } = drawn;
        const fits = nodes.some((each) => fitsBeside(preemptor, each, each.pods));
        const wanted = fits ? [] : choicesFor(preemptor, nodes, allowed);
        const found = preempt(built(preemptor), { nodes: nodesOf(drawn), pods: podsOf(drawn), budgets: budgetsOf(drawn) });
        expect(found.after).toEqual(found.before);
        expect(found.decision.kind).toBe(fits ? 'placed' : 'unschedulable');
        const words = wanted.map(({ node: name, victims }) => `${name}: ${victims.map((each) => each.name).join(' ')}`);
        if (words.length === 0) expect(found.chosen).toBeUndefined();
        else expect(words).toContain(found.chosen);
        if (words.length > 0) made += 1;
      }),
      { numRuns: 150, seed: 6 },
    );
    // Clusters in which nothing happens prove nothing.
    expect(made).toBeGreaterThan(20);
  });

  it('never takes away in vain or too many: it fits when the victims are gone, and not when one of them stays', () => {
    fc.assert(
      fc.property(scene, (drawn) => {
        const { nodes, preemptor } = drawn;
        const { decision } = preempt(built(preemptor), { nodes: nodesOf(drawn), pods: podsOf(drawn), budgets: budgetsOf(drawn) });
        const room = decision.kind === 'unschedulable' ? decision.room : undefined;
        if (!room) return;
        const there = nodes.find(({ name }) => name === room.nominatedNodeName)!;
        const gone = new Set(room.victims.map((victim) => victim.pod.metadata!.name!));
        const staying = there.pods.filter(({ name }) => !gone.has(name));
        expect(fitsBeside(preemptor, there, staying)).toBe(true);
        for (const victim of there.pods.filter(({ name }) => gone.has(name))) {
          expect(victim.priority).toBeLessThan(preemptor.priority);
          expect(fitsBeside(preemptor, there, [...staying, victim])).toBe(false);
        }
      }),
      { numRuns: 120, seed: 7 },
    );
  });
});

type Step = { readonly kind: 'arrive'; readonly pod: Drawn } | { readonly kind: 'attempt' | 'end'; readonly at: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: drawnPod.map((drawn): Step => ({ kind: 'arrive', pod: drawn })) },
  { weight: 8, arbitrary: fc.nat(20).map((at): Step => ({ kind: 'attempt', at })) },
  { weight: 4, arbitrary: fc.nat(20).map((at): Step => ({ kind: 'end', at })) },
);

/** Two nodes of 8 CPU, and what the scheduling loop does, without the API: victims end when the test says so. */
function createWorld() {
  const capacity = 8;
  const names = ['n0', 'n1'];
  const cache = createCache({ now: () => 0 });
  const table = createNodeTable();
  for (const name of names)
    cache.setNode(
      node(name)
        .capacity({ cpu: String(capacity) })
        .build(),
    );
  const leaving = new Map<string, PodInfo>();
  const waiting = new Map<string, PodInfo>();
  const placed = new Map<string, { readonly pod: PodInfo; readonly on: string }>();
  const preemption = { budgets: { list: () => [] }, isLeaving: (uid: string) => leaving.has(uid) };
  const runner = createRunner({ profile: defaultProfile({ name: 'Bind' }, undefined, { preemption }), random: () => 0 });
  const cpuOn = (on: string) =>
    [...placed.values()].reduce((sum, each) => sum + (each.on === on ? each.pod.requests.cpuMilli : 0), 0);
  const nth = <T>(map: ReadonlyMap<string, T>, at: number) => [...map.values()][at % map.size];

  function place(info: PodInfo, on: string): void {
    const promised = [...cache.nominatedOn(on)].filter(
      (other) => other.uid !== info.uid && other.priority >= info.priority && !placed.has(other.uid),
    );
    placed.set(info.uid, { pod: info, on });
    waiting.delete(info.uid);
    cache.assume(info, on);
    expect(cpuOn(on)).toBeLessThanOrEqual(capacity * 1000);
    // A pod without requests preempts no pod, even where a more important one has taken what was promised.
    if (info.requests.cpuMilli === 0) return;
    expect(promised.reduce((sum, other) => sum + other.requests.cpuMilli, cpuOn(on))).toBeLessThanOrEqual(
      capacity * 1000 + leavingOn(on),
    );
  }

  const leavingOn = (on: string) =>
    [...leaving.values()].reduce((sum, info) => sum + (placed.get(info.uid)?.on === on ? info.requests.cpuMilli : 0), 0);

  function attempt(info: PodInfo): boolean {
    cache.sync(table, info);
    const decision = runner.decide({ pod: info, nodes: table, now: 0, nominatedNodeName: cache.nominatedNode(info.uid) });
    if (decision.kind === 'placed') {
      place(info, decision.nodeName);
      return true;
    }
    const { room } = decision;
    if (!room) cache.withdraw(info.uid);
    if (!room || room.victims.length === 0) return false;
    for (const other of [...cache.nominatedOn(room.nominatedNodeName)])
      if (other.priority < info.priority) cache.withdraw(other.uid);
    cache.nominate(info, room.nominatedNodeName);
    for (const victim of room.victims) {
      expect(victim.priority).toBeLessThan(info.priority);
      leaving.set(victim.uid, victim);
    }
    return true;
  }

  function end(info: PodInfo): void {
    leaving.delete(info.uid);
    placed.delete(info.uid);
    cache.removePod(info.pod);
  }

  let count = 0;
  return {
    waiting,
    attempt,
    arrive(drawn: Drawn): void {
      count += 1;
      const info = podInfo(built({ ...drawn, name: `w${count}`, hostPort: undefined }));
      waiting.set(info.uid, info);
    },
    attemptAny(at: number): void {
      const info = nth(waiting, at);
      if (info) attempt(info);
    },
    endAny(at: number): void {
      const info = nth(leaving, at);
      if (info) end(info);
    },
    /** Lets all victims end and tries every pod, the most important first, until nothing happens any more. */
    settle(): void {
      for (let round = 0; round < 200; round++) {
        for (const info of [...leaving.values()]) end(info);
        const order = [...waiting.values()].toSorted((a, b) => b.priority - a.priority);
        if (!order.map((info) => attempt(info)).some(Boolean)) return;
      }
      throw new Error('it never comes to rest');
    },
    stateOf: (): ReferenceNode[] =>
      names.map((name) => ({
        name,
        cpu: capacity * 1000,
        mostPods: 110,
        pods: [...placed.values()].filter(({ on }) => on === name).map(({ pod: info }) => referenceOf(info)),
      })),
  };
}

const referenceOf = ({ uid, priority, requests }: PodInfo): ReferencePod => ({
  name: uid,
  priority,
  cpu: requests.cpuMilli,
  hostPort: undefined,
  startedAt: 0,
  budget: undefined,
});

describe('preemption in any order of arrivals, attempts and ends', () => {
  it('never over-commits a node nor gives away promised room, and comes to rest with no pod waiting that others should make room for', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }), (steps) => {
        const world = createWorld();
        for (const each of steps) {
          if (each.kind === 'arrive') world.arrive(each.pod);
          else if (each.kind === 'attempt') world.attemptAny(each.at);
          else world.endAny(each.at);
        }
        world.settle();
        const nodes = world.stateOf();
        for (const info of world.waiting.values()) {
          const pending = referenceOf(info);
          expect(nodes.some((each) => fitsBeside(pending, each, each.pods))).toBe(false);
          expect(choicesFor(pending, nodes, new Map())).toEqual([]);
        }
      }),
      { numRuns: 40, seed: 6 },
    );
  });
});
