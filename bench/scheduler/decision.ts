import type { Node, Pod } from '../../api/generated/types.ts';
import { createCache } from '../../scheduler/cache/cache.ts';
import { createNodeTable, type NodeTable } from '../../scheduler/cache/node-table.ts';
import { podInfo } from '../../scheduler/framework/pod-info.ts';
import { createRunner } from '../../scheduler/framework/runner.ts';
import { defaultProfile } from '../../scheduler/profile.ts';
import { atMost, type Figure, median, note } from '../figure.ts';

/** Nodes, and how many scans of four columns a decision may take. */
const sizes = [
  { nodes: 500, mostScans: undefined },
  { nodes: 5_000, mostScans: 2.4 },
  { nodes: 15_000, mostScans: 1.7 },
];
/** Judged anew for every pod. */
const manyShapesNodes = 5_000;
const shapes = 200;
const warmUp = 1_000;
const measured = 5_000;
const memory = 500 * 1024 ** 2;

/**
 * How long the scheduler takes to decide about one pod, without the API: sync, decide, assume. Nodes of 4 CPU, 32 GiB
 * and 110 pods with a reading each; pods of 100m and 500Mi. The floor is one loop over four columns in the same run:
 * the least that any look at all nodes costs.
 */
export async function benchDecision(say: (text: string) => void): Promise<Figure[]> {
  const figures: Figure[] = [];
  const medians: number[] = [];
  for (const { nodes: size, mostScans } of sizes) {
    say(`${size} nodes, ${measured} pods`);
    const { decisions, floors } = measure(size, 1);
    decisions.sort((a, b) => a - b);
    medians.push(median(decisions));
    const scans = median(decisions) / median(floors);
    const name = `decision, ${size} nodes, in scans of four columns`;
    figures.push(
      mostScans === undefined ? note(name, scans, 'x') : atMost(name, scans, 'x', mostScans),
      note(`decision, ${size} nodes, p50`, median(decisions), 'us'),
      note(`decision, ${size} nodes, p99`, decisions[Math.floor(decisions.length * 0.99)]!, 'us'),
      note(`one scan of four columns, ${size} nodes, p50`, median(floors), 'us'),
    );
  }
  // More shapes than are remembered: every node is judged anew for each pod.
  const { decisions } = measure(manyShapesNodes, shapes);
  figures.push(note(`decision, ${manyShapesNodes} nodes, pods of ${shapes} shapes in turn, p50`, median(decisions), 'us'));
  const [smallest, , largest] = medians;
  figures.push(note('growth from 500 to 15,000 nodes', largest! / smallest!, 'x'));
  return figures;
}

function measure(size: number, differentShapes: number): { decisions: number[]; floors: number[] } {
  const now = Date.UTC(2026, 0, 1);
  const cache = createCache({ now: () => now });
  for (let i = 0; i < size; i++) cache.setNode(machine(i, now));
  const table = createNodeTable();
  const runner = createRunner({ profile: defaultProfile({ name: 'Bind' }), random: Math.random });
  const decisions: number[] = [];
  const floors: number[] = [];
  for (let i = 0; i < warmUp + measured; i++) {
    const info = podInfo(podOf(i, i % differentShapes));
    const begin = performance.now();
    cache.sync(table);
    const decision = runner.decide({ pod: info, nodes: table, now });
    if (decision.kind !== 'placed') throw new Error(`pod ${i} was not placed: ${decision.diagnosis.message}`);
    cache.assume(info, decision.nodeName);
    const decided = performance.now();
    if (scan(table) < 0) throw new Error('no node has room');
    const scanned = performance.now();
    if (i < warmUp) continue;
    decisions.push((decided - begin) * 1000);
    floors.push((scanned - decided) * 1000);
  }
  return { decisions, floors };
}

/** Asks for an image that a quarter of the nodes have. */
function podOf(index: number, shape: number): Pod {
  const resources = { requests: { cpu: { string: `${100 + shape}m` }, memory: { string: '500Mi' } } };
  return {
    metadata: { namespace: 'default', name: `p${index}`, uid: `p${index}` },
    spec: { containers: [{ name: 'main', image: 'app-7:1', resources }] },
  };
}

function machine(index: number, now: number): Node {
  const size = { cpu: { string: '4' }, memory: { string: '32Gi' }, pods: { string: '110' } };
  const used = { cpu: { string: `${index % 7}00m` }, memory: { string: `${index % 5}Gi` } };
  return {
    metadata: { name: `node-${index}`, uid: `node-${index}` },
    status: {
      capacity: size,
      allocatable: size,
      conditions: [{ type: 'Ready', status: 'True' }],
      usage: { timestamp: { seconds: now / 1000 }, ...used },
      images: Array.from({ length: 10 }, (_, i) => ({ names: [`app-${(index + i) % 40}:1`], sizeBytes: 2e8 })),
    },
  };
}

/** The row with the largest free share of memory that has room, or -1. */
function scan({ columns, count }: NodeTable): number {
  const { allocatableCpu, requestedCpu, allocatableMemory, requestedMemory } = columns;
  let best = -1;
  let most = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < count; row++) {
    if (requestedCpu[row]! + 100 > allocatableCpu[row]!) continue;
    const share = (allocatableMemory[row]! - requestedMemory[row]! - memory) / allocatableMemory[row]!;
    if (share <= most) continue;
    most = share;
    best = row;
  }
  return best;
}
