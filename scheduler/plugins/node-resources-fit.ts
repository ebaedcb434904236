import { qualifiedNameError } from '../../api/meta/names.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import type { NodeTable } from '../cache/node-table.ts';
import { list, record, refine, text, type ValueOf } from '../config/shape.ts';
import { wordAmounts } from '../framework/amounts.ts';
import {
  type ClusterEvent,
  type ClusterEventKind,
  definePlugin,
  type Plugin,
  proceed,
  type Rejection,
  unresolvable,
  unschedulable,
} from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import {
  compileScoring,
  type ScoredResource,
  scoredResources,
  scoreResources,
  scoringStrategy,
} from '../framework/resource-scoring.ts';

/** A resource that the pod asks for, beside the table's columns of it. */
interface Demand {
  readonly resource: string;
  readonly amount: number;
  readonly allocatable: Float64Array;
  readonly requested: Float64Array;
  /** For a node that is full, and for one that would be too small when empty. */
  readonly full: Rejection;
  readonly tooSmall: Rejection;
}

const extendedName = refine(text(), (name) =>
  name.includes('/') ? qualifiedNameError(name) : 'must be the name of an extended resource such as example.com/gpu',
);
const groupName = refine(text(), (name) =>
  name.includes('/') ? 'must be the part before the slash, e.g. example.com' : qualifiedNameError(`${name}/x`),
);

export const nodeResourcesFitArguments = record({
  scoringStrategy,
  /** Extended resources that other components account for: by name, and by the part of the name before the slash. */
  ignoredResources: list(extendedName),
  ignoredResourceGroups: list(groupName),
});
export type NodeResourcesFitArguments = ValueOf<typeof nodeResourcesFitArguments>;

interface State {
  readonly demands: readonly Demand[];
  readonly scored: readonly ScoredResource[];
}

/**
 * Keeps a pod off nodes whose allocatable resources, less the requests of the pods there, do not hold its requests;
 * resources it does not ask for are not looked at. Prefers nodes with the largest free share of CPU and memory (least
 * allocated), or as its arguments say.
 */
export function nodeResourcesFit(given: NodeResourcesFitArguments = {}): Plugin<State> {
  const scoring = compileScoring(given.scoringStrategy);
  const isIgnored = (resource: string) =>
    given.ignoredResources?.includes(resource) || given.ignoredResourceGroups?.includes(resource.split('/', 1)[0]!);
  return definePlugin<State>({
    name: 'NodeResourcesFit',
    prepare({ pod, nodes }) {
      const demands = demandsOf(pod, nodes).filter(({ resource }) => ownResources.has(resource) || !isIgnored(resource));
      const scored = scoredResources(scoring, pod, nodes);
      let shape = '';
      for (const { amount } of scored) shape += `${amount} `;
      for (const { resource, amount } of demands) shape += ` ${resource} ${amount}`;
      return proceed({ demands, scored }, { shape });
    },
    filter({ demands }, _, row) {
      let found: Rejection | undefined;
      for (let i = 0; i < demands.length; i++) {
        const demand = demands[i]!;
        if (isMet(demand, row)) continue;
        const next = demand.amount <= demand.allocatable[row]! ? demand.full : demand.tooSmall;
        found = found ? both(found, next) : next;
        if (found.also?.length === mostTold - 1) break;
      }
      return found;
    },
    filterRows({ demands }, _, rows) {
      let left = rows.length;
      for (const demand of demands) {
        let kept = 0;
        for (let i = 0; i < left; i++) if (isMet(demand, rows[i]!)) rows[kept++] = rows[i]!;
        left = kept;
      }
      return left;
    },
    explain({ demands }, _, row) {
      const short = demands.filter((demand) => !isMet(demand, row));
      return short.map((demand) => explainDemand(demand, row)).join('; ');
    },
    helps,
    score: ({ scored }, _, rows, scores) => scoreResources(scoring, scored, rows, scores),
  });
}

function helps(pod: PodInfo, event: ClusterEvent): boolean {
  if (event.kind === 'pod/removed' || event.kind === 'pod/shrunk') return true;
  if (!('node' in event)) return false;
  const allocatable = event.node.status?.allocatable ?? {};
  const { cpuMilli, memory } = pod.requests;
  return quantityMilli(allocatable.cpu ?? {}) >= cpuMilli && quantityValue(allocatable.memory ?? {}) >= memory;
}

/** A resource that no node has (undefined in its column) is not enough of it. */
function isMet({ amount, allocatable, requested }: Demand, row: number): boolean {
  return requested[row]! + amount <= allocatable[row]!;
}

/** The part of `allocatable` that stays free, 0 to 1. */
export function freeShare(allocatable: number, used: number): number {
  return used >= allocatable ? 0 : (allocatable - used) / allocatable;
}

const biggerNode: readonly ClusterEventKind[] = ['node/added', 'node/resources'];
const moreRoom: readonly ClusterEventKind[] = [...biggerNode, 'pod/removed', 'pod/shrunk'];
const rejections = new Map<string, Pick<Demand, 'full' | 'tooSmall'>>();

/** One pair of rejections for each resource name; the few names that exist in a cluster make this small. */
function rejectionsFor(resource: string): Pick<Demand, 'full' | 'tooSmall'> {
  const reason = resource === 'pods' ? 'too many pods' : `insufficient ${resource}`;
  return { full: unschedulable(reason, moreRoom), tooSmall: unresolvable(reason, biggerNode) };
}
for (const resource of ['pods', 'cpu', 'memory', 'ephemeral-storage']) rejections.set(resource, rejectionsFor(resource));

/** So many of what a node lacks are told. */
const mostTold = 8;
const joined = new WeakMap<Rejection, WeakMap<Rejection, Rejection>>();

/** Of a node that lacks more than one. If it is too small for either when empty, evicting pods does not help. */
function both(a: Rejection, b: Rejection): Rejection {
  const known = joined.get(a)?.get(b);
  if (known) return known;
  const { code, wakeOn } = b.code === 'unresolvable' ? b : a;
  const rejection: Rejection = { kind: 'reject', reason: a.reason, also: [...(a.also ?? []), b.reason], code, wakeOn };
  const others = joined.get(a) ?? new WeakMap<Rejection, Rejection>();
  joined.set(a, others.set(b, rejection));
  return rejection;
}

const ownResources: ReadonlySet<string> = new Set(rejections.keys());
const none = new Float64Array(0);

function demandsOf({ requests }: PodInfo, nodes: NodeTable): Demand[] {
  const { columns } = nodes;
  const demand = (resource: string, amount: number, [allocatable, requested]: readonly [Float64Array, Float64Array]): Demand => ({
    resource,
    amount,
    allocatable,
    requested,
    ...(rejections.get(resource) ?? rejectionsFor(resource)),
  });
  const demands = [
    demand('pods', 1, [columns.allocatablePods, columns.podCount]),
    demand('cpu', requests.cpuMilli, [columns.allocatableCpu, columns.requestedCpu]),
    demand('memory', requests.memory, [columns.allocatableMemory, columns.requestedMemory]),
    demand('ephemeral-storage', requests.ephemeralStorage, [columns.allocatableStorage, columns.requestedStorage]),
  ];
  for (const [resource, amount] of requests.extended) {
    const column = nodes.extended(resource);
    demands.push(demand(resource, amount, [column?.allocatable ?? none, column?.requested ?? none]));
  }
  return demands.filter(({ amount }) => amount > 0);
}

function explainDemand({ resource, amount, allocatable, requested }: Demand, row: number): string {
  if (resource === 'pods') return `holds ${requested[row]} of at most ${allocatable[row]} pods`;
  const name = resource === 'cpu' ? 'CPU' : resource;
  const all = allocatable[row] ?? 0;
  if (amount > all) {
    const [needed, there] = wordAmounts(resource, amount, all);
    return `needs ${needed} ${name}, the node has ${all === 0 ? 'none' : `${there} in all`}`;
  }
  const [needed, free] = wordAmounts(resource, amount, Math.max(0, all - (requested[row] ?? 0)));
  return `needs ${needed} ${name}, ${free} free`;
}
