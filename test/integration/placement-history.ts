import type { Node, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { podRequests, resourceAmounts } from '../../api/kinds/pod/resources.ts';
import type { Client } from '../../client/index.ts';

/** One change of a pod or a node, as a watch told it. */
export interface Change {
  readonly version: number;
  readonly isDeleted: boolean;
  readonly pod?: Pod;
  readonly node?: Node;
}

/** Everything that a watch from before the first change told of pods and nodes. */
export interface PlacementHistory {
  readonly changes: readonly Change[];
  /** How things are with every pod that is there, by uid, and with every node, by name. */
  readonly pods: ReadonlyMap<string, Pod>;
  readonly nodes: ReadonlyMap<string, Node>;
  /** How many bindings there were. */
  readonly bindings: number;
  /**
   * Resolves when `isDone`, which is asked after everything that is heard;
   * throws when nothing comes of it in so many milliseconds.
   */
  until(isDone: () => boolean, withinMs: number, describe?: () => string): Promise<void>;
  close(): Promise<void>;
}

/** Begins to follow; call it before anything happens. */
export async function followPlacements(client: Client): Promise<PlacementHistory> {
  const stop = new AbortController();
  const changes: Change[] = [];
  const pods = new Map<string, Pod>();
  const nodes = new Map<string, Node>();
  const wakes = new Set<() => void>();
  let failure: unknown;
  let bindings = 0;
  const { metadata } = await client.pods.list({ limit: 1 });
  const from = { resourceVersion: metadata.resourceVersion ?? '' };

  async function follow<T extends Pod | Node>(
    events: AsyncIterable<{ type: string; object: T }[]>,
    take: (object: T, isDeleted: boolean) => void,
  ) {
    try {
      for await (const batch of events) {
        for (const { type, object } of batch) if (type !== 'BOOKMARK') take(object, type === 'DELETED');
        for (const wake of [...wakes]) wake();
      }
      if (!stop.signal.aborted) failure = new Error('the watch has ended');
    } catch (error) {
      if (!stop.signal.aborted) failure = error;
    }
    for (const wake of [...wakes]) wake();
  }

  const versionOf = ({ metadata: about }: Pod | Node): number => Number(about?.resourceVersion);
  const following = [
    follow<Pod>(client.pods.watch(from, { signal: stop.signal }), (pod, isDeleted) => {
      changes.push({ version: versionOf(pod), isDeleted, pod });
      if (pod.spec?.nodeName && !pods.get(pod.metadata?.uid ?? '')?.spec?.nodeName && !isDeleted) bindings++;
      if (isDeleted) pods.delete(pod.metadata?.uid ?? '');
      else pods.set(pod.metadata?.uid ?? '', pod);
    }),
    follow<Node>(client.nodes.watch(from, { signal: stop.signal }), (node, isDeleted) => {
      changes.push({ version: versionOf(node), isDeleted, node });
      if (isDeleted) nodes.delete(node.metadata?.name ?? '');
      else nodes.set(node.metadata?.name ?? '', node);
    }),
  ];

  return {
    changes,
    pods,
    nodes,
    get bindings() {
      return bindings;
    },
    async until(isDone, withinMs, describe = () => '') {
      const endsAt = performance.now() + withinMs;
      while (!isDone()) {
        if (failure !== undefined) throw failure;
        const leftMs = endsAt - performance.now();
        if (leftMs <= 0) throw new Error(`not so within ${withinMs} ms: ${describe()}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(wake, Math.min(leftMs, 500));
          function wake(): void {
            clearTimeout(timer);
            wakes.delete(wake);
            resolve();
          }
          wakes.add(wake);
        });
      }
    },
    async close() {
      stop.abort();
      await Promise.all(following);
    },
  };
}

/** What a pod takes of its node; a finished one nothing. */
function shareOf(pod: Pod | undefined): Record<string, number> {
  if (!pod?.spec?.nodeName || isFinished(pod)) return {};
  return { ...podRequests(pod), pods: 1 };
}

/**
 * Walks the changes in the order of their versions and says what is wrong: a pod whose node changed, or a binding by
 * which the pods of a node ask for more than it has. The sums are added up from the pods each time: slow, and obviously
 * right.
 */
export function findOverCommitments(changes: readonly Change[]): string[] {
  const wrong: string[] = [];
  const pods = new Map<string, Pod>();
  const allocatable = new Map<string, Record<string, number>>();
  for (const { version, isDeleted, pod, node } of [...changes].sort((a, b) => a.version - b.version)) {
    if (node && !isDeleted) allocatable.set(node.metadata?.name ?? '', resourceAmounts(node.status?.allocatable));
    if (!pod) continue;
    const uid = pod.metadata?.uid ?? '';
    const before = pods.get(uid);
    if (isDeleted) pods.delete(uid);
    else pods.set(uid, pod);
    const nodeName = pod.spec?.nodeName ?? '';
    if (before?.spec?.nodeName && before.spec.nodeName !== nodeName)
      wrong.push(`at ${version} pod ${pod.metadata?.name} went from node "${before.spec.nodeName}" to "${nodeName}"`);
    if (isDeleted || nodeName === '' || before?.spec?.nodeName) continue;
    wrong.push(...excess([...pods.values()], nodeName, allocatable.get(nodeName)).map((text) => `at ${version} ${text}`));
  }
  return wrong;
}

function excess(pods: readonly Pod[], nodeName: string, has: Readonly<Record<string, number>> | undefined): string[] {
  const asked: Record<string, number> = {};
  for (const pod of pods) {
    if (pod.spec?.nodeName !== nodeName) continue;
    for (const [name, amount] of Object.entries(shareOf(pod))) asked[name] = (asked[name] ?? 0) + amount;
  }
  return Object.entries(asked)
    .filter(([name, amount]) => amount > (has?.[name] ?? 0))
    .map(([name, amount]) => `the pods of node "${nodeName}" ask for ${amount} ${name} of ${has?.[name] ?? 0}`);
}

/** Whether the pod would fit on a node by requests alone, as the history left it. */
export function fitsSomewhere({ pods, nodes }: Pick<PlacementHistory, 'pods' | 'nodes'>, pod: Pod): boolean {
  const wanted = { ...podRequests(pod), pods: 1 } as Record<string, number>;
  return [...nodes.values()].some((node) => {
    const free = { ...resourceAmounts(node.status?.allocatable) } as Record<string, number>;
    for (const other of pods.values()) {
      if (other.spec?.nodeName !== node.metadata?.name) continue;
      for (const [name, amount] of Object.entries(shareOf(other))) free[name] = (free[name] ?? 0) - amount;
    }
    return Object.entries(wanted).every(([name, amount]) => amount <= (free[name] ?? 0));
  });
}
