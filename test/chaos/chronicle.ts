import { type Client, createInformer, type Node, type Pod } from '../../client/index.ts';
import { eventually, hangsAfterMs } from '../e2e/installation.ts';
import { isReady, namespace } from './pod-churn.ts';

/**
 * What happened first when, of nodes and pods, as the API told it: `node h2 Unknown`, `pod web-1 deleting`,
 * `pod web-1 gone`.
 */
export interface Chronicle {
  /** When it happened, in milliseconds; fails the test when it has not happened within `timeoutMs` from now. */
  when(what: string, timeoutMs?: number): Promise<number>;
  /** Whether it has happened. */
  has(what: string): boolean;
  /** Everything that has happened, with seconds since `origin`: for the message of a test that fails. */
  tell(origin: number): string;
  /** The fewest pods of an app that were ready at once, from when all of them were. */
  fewestReady(app: string): number;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly pods: ReadonlyMap<string, Pod>;
  /** Stops following. */
  close(): Promise<void>;
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
/** How many pods an app has when it is whole. */
const whole = 2;

/**
 * Follows nodes and pods. A pod with the label `app` that is being deleted is replaced at once,
 * as a ReplicaSet would, on any node.
 */
export async function startChronicle(client: Client): Promise<Chronicle> {
  const seen = new Map<string, number>();
  const nodes = new Map<string, Node>();
  const pods = new Map<string, Pod>();
  const fewest = new Map<string, number>();
  const failures: unknown[] = [];
  const note = (what: string): void => void (seen.has(what) || seen.set(what, Date.now()));
  const stop = new AbortController();
  const nodeInformer = createInformer<Node>({ client: client.nodes, name: 'nodes', logger: quiet });
  const podInformer = createInformer<Pod>({ client: client.pods, name: 'pods', scope: { namespace }, logger: quiet });

  function observeNode(node: Node): void {
    const name = node.metadata?.name ?? '';
    nodes.set(name, node);
    if (node.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'Unknown') note(`node ${name} Unknown`);
    for (const { key, effect } of node.spec?.taints ?? []) note(`node ${name} ${key}:${effect}`);
  }

  function observePod(pod: Pod): void {
    const name = pod.metadata?.name ?? '';
    pods.set(name, pod);
    if (isReady(pod)) note(`pod ${name} ready`);
    if (pod.metadata?.deletionTimestamp) {
      const isNews = !seen.has(`pod ${name} deleting`);
      note(`pod ${name} deleting`);
      if (isNews && pod.metadata.labels?.app) client.pods.create(successorOf(pod)).catch((error) => failures.push(error));
    }
    count();
  }

  function count(): void {
    const ready = new Map<string, number>();
    for (const pod of pods.values()) {
      const { app = '' } = pod.metadata?.labels ?? {};
      if (isReady(pod) && !pod.metadata?.deletionTimestamp) ready.set(app, (ready.get(app) ?? 0) + 1);
    }
    for (const [app, now] of ready) if (now >= whole && !fewest.has(app)) fewest.set(app, now);
    for (const [app, known] of fewest) fewest.set(app, Math.min(known, ready.get(app) ?? 0));
  }

  nodeInformer.addHandler({
    onAdd: observeNode,
    onUpdate: observeNode,
    onDelete: ({ metadata }) => forget(nodes, 'node', metadata?.name),
  });
  podInformer.addHandler({
    onAdd: observePod,
    onUpdate: observePod,
    onDelete: ({ metadata }) => forget(pods, 'pod', metadata?.name),
  });

  function forget(known: Map<string, unknown>, kind: string, name = ''): void {
    known.delete(name);
    note(`${kind} ${name} gone`);
    count();
  }

  const running = [nodeInformer.run(stop.signal), podInformer.run(stop.signal)];
  await Promise.all([nodeInformer.waitForSync(stop.signal), podInformer.waitForSync(stop.signal)]);
  const began = Date.now();
  const tell = (origin: number): string =>
    [...seen].map(([what, at]) => `${((at - origin) / 1000).toFixed(1)} s ${what}`).join('\n');
  return {
    nodes,
    pods,
    tell,
    has: (what) => seen.has(what),
    fewestReady: (app) => fewest.get(app) ?? 0,
    async when(what, timeoutMs = hangsAfterMs) {
      const found = await eventually(what, async () => seen.get(what), timeoutMs).catch((error: Error) => {
        throw new Error(`${error.message}; what happened:\n${tell(began)}`);
      });
      if (failures.length > 0) throw failures[0];
      return found;
    },
    async close() {
      stop.abort();
      await Promise.all(running);
    },
  };
}

function successorOf({ metadata, spec }: Pod): Pod {
  const { nodeName: _, ...rest } = spec!;
  return { metadata: { namespace, name: `${metadata?.name}-again`, labels: metadata?.labels ?? {} }, spec: rest };
}
