import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { node, pod } from '../../test/builders/index.ts';
import { podInfo } from '../framework/pod-info.ts';
import { createCache } from './cache.ts';
import { createNodeTable, type NodeTable } from './node-table.ts';

/** What may happen, to one of a few pods and nodes. */
type Step =
  | {
      readonly kind: 'assume' | 'acknowledge' | 'forget' | 'bound' | 'finished' | 'removed';
      readonly pod: number;
      readonly node: number;
    }
  | { readonly kind: 'node' | 'nodeGone'; readonly node: number; readonly cpu: number }
  | { readonly kind: 'sync' };

type PodStep = Extract<Step, { readonly pod: number }>;

const index = fc.integer({ min: 0, max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('assume', 'acknowledge', 'forget', 'bound', 'finished', 'removed' as const),
    pod: fc.integer({ min: 0, max: 6 }),
    node: index,
  }),
  fc.record({ kind: fc.constantFrom('node', 'nodeGone' as const), node: index, cpu: fc.integer({ min: 1, max: 8 }) }),
  fc.constant({ kind: 'sync' } as const),
);

/** Every second one wants a host port, on one of two addresses or on all. */
const portsOf = (which: number) =>
  which % 2 === 0
    ? [{ containerPort: 1, hostPort: 80, protocol: 'TCP', hostIP: ['', '10.0.0.1', '10.0.0.2', ''][which / 2]! }]
    : [];
const podOf = (which: number) =>
  pod(`p${which}`)
    .container('main', { ports: portsOf(which) })
    .requests({ cpu: `${100 * (which + 1)}m`, memory: `${which + 1}Mi` });
const at = <T extends { metadata?: object }>(object: T, resourceVersion: number): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(resourceVersion) },
});

/** The slow, obviously right cache: remembers where each pod is, and adds up when asked. */
function createReference() {
  const pods = new Map<number, { node: number; bound: boolean }>();
  const gone = new Set<number>();
  const nodes = new Map<number, number>();
  return {
    apply(given: Step): void {
      if (given.kind === 'node') nodes.set(given.node, given.cpu);
      else if (given.kind === 'nodeGone') nodes.delete(given.node);
      else if (given.kind === 'assume') pods.set(given.pod, { node: given.node, bound: false });
      else if (given.kind === 'forget' && pods.get(given.pod)?.bound === false) pods.delete(given.pod);
      else if (given.kind === 'bound' && !gone.has(given.pod)) pods.set(given.pod, { node: given.node, bound: true });
      else if (given.kind === 'finished' && !gone.has(given.pod)) pods.delete(given.pod);
      else if (given.kind === 'removed') {
        pods.delete(given.pod);
        gone.add(given.pod);
      }
    },
    /** An assumption is only made about a pod that is neither placed nor gone. */
    mayAssume: (which: number) => !pods.has(which) && !gone.has(which),
    rows() {
      return [...nodes].sort().map(([which, cpu]) => {
        const there = [...pods].filter(([, place]) => place.node === which).map(([pod]) => pod);
        const sum = (value: (pod: number) => number) => there.reduce((total, pod) => total + value(pod), 0);
        return [`n${which}`, cpu * 1000, there.length, sum((pod) => 100 * (pod + 1)), sum((pod) => (pod + 1) * 1024 ** 2)];
      });
    },
  };
}

describe('cache and node table', () => {
  it('agree with a reference that adds everything up, after any sequence of events', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cache = createCache({ now: () => 0 });
        const table = createNodeTable();
        const reference = createReference();
        const versions = new Map<number, number>();
        for (const [time, given] of steps.entries()) {
          const version = time + 1;
          if (given.kind === 'sync') {
            cache.sync(table);
            checkImages(table);
          } else if (given.kind === 'node') {
            versions.set(given.node, versions.get(given.node) ?? version);
            cache.setNode(at(nodeOf(given.node, given.cpu, versions.get(given.node)!), version));
          } else if (given.kind === 'nodeGone') {
            cache.removeNode(nodeOf(given.node, 1, versions.get(given.node) ?? 0));
            versions.delete(given.node);
          } else if (given.kind === 'assume') {
            if (!reference.mayAssume(given.pod)) continue;
            cache.assume(podInfo(podOf(given.pod).build()), `n${given.node}`);
          } else applyToPod(given as PodStep, version);
          if (given.kind !== 'sync') reference.apply(given);
        }
        // A copy says the same, and what is done to it changes nothing here.
        const copy = cache.fork();
        const ofCopy = createNodeTable();
        copy.sync(ofCopy);
        expect(rowsOf(ofCopy)).toEqual(reference.rows());
        for (const which of [0, 1, 2, 3]) copy.assume(podInfo(podOf(which).build()), `n${which}`);
        cache.sync(table);
        const rows = table.names.map((name, row) => {
          const { allocatableCpu, podCount, requestedCpu, requestedMemory } = table.columns;
          expect(table.rowOf(name)).toBe(row);
          expect(table.pods[row]?.size).toBe(podCount[row]);
          const ports = [...table.pods[row]!.values()].flatMap(({ hostPorts }) => hostPorts);
          expect([...table.hostPorts[row]!.values()].flat().sort(byAddress)).toEqual(ports.sort(byAddress));
          expect(table.columns.hostPorts[row]).toBe(ports.length);
          return [name, allocatableCpu[row], podCount[row], requestedCpu[row], requestedMemory[row]];
        });
        expect(rows.sort()).toEqual(reference.rows());
        checkImages(table);
        for (const name of ['ready', 'unschedulable', 'hardTaints', 'softTaints', 'hostPorts'] as const)
          expect(table.sums[name]).toBe(table.columns[name].slice(0, table.count).reduce((sum, flag) => sum + flag, 0));

        function applyToPod(given: PodStep, version: number): void {
          const uid = `uid-p${given.pod}`;
          const told = (built: Pod) => {
            // Told twice: doubling must change nothing.
            cache.setPod(at(built, version));
            cache.setPod(at(built, version));
          };
          if (given.kind === 'acknowledge') cache.acknowledge(uid);
          else if (given.kind === 'forget') cache.forget(uid);
          else if (given.kind === 'bound') told(podOf(given.pod).on(`n${given.node}`).build());
          else if (given.kind === 'finished') told(podOf(given.pod).on(`n${given.node}`).phase('Succeeded').build());
          else cache.removePod(podOf(given.pod).build());
        }
      }),
      { numRuns: 300, seed: 6 },
    );
  });

  it('end the same whatever the order in which two streams of events arrive', () => {
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8 });
    fc.assert(
      fc.property(order, (shuffled) => {
        const cache = createCache({ now: () => 0 });
        const table = createNodeTable();
        const news = [
          () => cache.setNode(at(nodeOf(0, 2, 0), 1)),
          () => cache.setNode(at(nodeOf(0, 4, 0), 2)),
          () => cache.setPod(at(podOf(0).on('n0').build(), 3)),
          () => cache.setPod(at(podOf(0).on('n0').phase('Running').build(), 4)),
          () => cache.setPod(at(podOf(1).on('n0').build(), 5)),
          () => cache.setPod(at(podOf(1).on('n0').phase('Failed').build(), 6)),
          () => cache.setPod(at(podOf(2).on('n0').build(), 7)),
          () => cache.removePod(at(podOf(2).on('n0').build(), 8)),
        ];
        for (const which of shuffled) news[which]!();
        cache.sync(table);
        expect([table.columns.allocatableCpu[0], table.columns.podCount[0], table.columns.requestedCpu[0]]).toEqual([
          4000, 1, 100,
        ]);
      }),
      { seed: 6 },
    );
  });
});

function rowsOf(table: NodeTable): unknown[] {
  const { allocatableCpu, podCount, requestedCpu, requestedMemory } = table.columns;
  return table.names
    .map((name, row) => [name, allocatableCpu[row], podCount[row], requestedCpu[row], requestedMemory[row]])
    .sort();
}

const byAddress = (a: { ip: string }, b: { ip: string }): number => (a.ip < b.ip ? -1 : Number(a.ip > b.ip));

/** A node of so many CPUs has these images; "none" is nowhere. */
const imagesOf = (cpu: number) => ({ 'even:1': cpu % 2 === 0 ? cpu : 0, 'small:1': cpu < 4 ? 1 : 0, 'none:1': 0 });

function checkImages(table: NodeTable): void {
  const present = table.names.map((_, row) => imagesOf(table.columns.allocatableCpu[row]! / 1000));
  for (const name of ['even:1', 'small:1', 'none:1'] as const) {
    const sizes = present.map((images) => images[name]);
    const column = table.image(name);
    expect(column?.nodes ?? 0).toBe(sizes.filter((size) => size > 0).length);
    if (column) expect([...column.sizes.slice(0, table.count)]).toEqual(sizes);
  }
}

function nodeOf(which: number, cpu: number, incarnation: number) {
  const plain = node(`n${which}`).capacity({ cpu: String(cpu) });
  const built = (cpu % 2 === 0 ? plain.unschedulable().taint('k', 'NoSchedule').ready(false) : plain).build();
  const present = Object.entries(imagesOf(cpu)).filter(([, size]) => size > 0);
  built.status!.images = present.map(([name, sizeBytes]) => ({ names: [name], sizeBytes }));
  return { ...built, metadata: { ...built.metadata, uid: `uid-n${which}-${incarnation}` } };
}
