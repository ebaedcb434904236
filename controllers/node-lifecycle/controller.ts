import { messageToJson } from '../../api/codec/json.ts';
import { isNotFound } from '../../api/errors/index.ts';
import type { Lease, Node, Pod } from '../../api/generated/types.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import {
  type Client,
  type Clock,
  type EventRecorder,
  type Informer,
  type Logger,
  listAll,
  type ObjectKey,
  referenceTo,
} from '../../client/index.ts';
import { attemptEach, isServerFault } from '../attempt-each.ts';
import { type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import type { Outage } from '../outage.ts';
import { createWaits } from '../waits.ts';
import { decideNode, decidePod, decideTransition, isGivenUp, lossOf, type NodeAction, type NodeView } from './decide.ts';
import { createSilence } from './silence.ts';
import { defaultEvictionRates, type EvictionRates } from './zone-state.ts';
import { createZones } from './zones.ts';

export interface NodeLifecycleOptions {
  readonly client: Pick<Client, 'nodes' | 'pods' | 'leases'>;
  readonly nodes: Informer<Node>;
  readonly leases: Informer<Lease>;
  readonly events: Pick<EventRecorder, 'event'>;
  /** How long an agent may say nothing: three renewals of its lease. */
  readonly graceMs?: number | undefined;
  /** How fast lost nodes may be given up; what is left out is Kubernetes' figure. */
  readonly rates?: Partial<EvictionRates> | undefined;
  readonly outage: Outage;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Agents renew every 10 s, so two renewals may be lost; and it leaves 10 s of the 40 after which a dead node must be seen to be so.
 */
const defaultGraceMs = 30_000;

/**
 * So long it is looked whether others are lost with a node before it is given up. Of nodes that are cut off together, the last is silent 10 s
 * after the first at most; and of the 40 s after which a dead node must be given up, 10 are left.
 */
const settleMs = 7_000;

/**
 * Notices nodes whose agent is silent and says so: in the node's conditions, in its taints, in the Ready condition of its pods. The way
 * back is the agent's own: its status replaces the conditions, and only the taints are left to follow. Nodes that are lost are given up, which is
 * a taint with the effect NoExecute, no faster than the rates allow. Evicts nothing itself.
 *
 * Nothing is judged while the API server is away, nor before a whole grace period was watched after that, or after the start.
 */
export function createNodeLifecycle(options: NodeLifecycleOptions): Controller {
  const { client, nodes, leases, events, outage, clock, logger, graceMs = defaultGraceMs } = options;
  const silence = createSilence({ clock, graceMs });
  const settling = createWaits({ clock, ms: settleMs });
  const rates = { ...defaultEvictionRates, ...options.rates };
  const zones = createZones({ nodes, rates, clock, logger, resumed: restart });

  async function reconcile(name: string, signal: AbortSignal): Promise<void> {
    const node = nodes.lister.get(name);
    if (node === undefined) {
      settling.forget(name);
      return silence.forget(name);
    }
    try {
      await listen(node, signal);
      await act(node, signal);
    } catch (error) {
      // Agents may have failed at the same calls: no silence counts.
      if (isServerFault(error)) {
        outage.began();
        silence.restart(name);
      }
      throw error;
    }
  }

  function isBack(): void {
    if (outage.ended()) logger.info({ graceMs }, 'the API server answers again: every node has a whole grace period from now on');
  }

  /** Periods of nodes that could not be heard begin afresh. */
  function restart(names: readonly string[]): void {
    for (const name of names) {
      silence.restart(name);
      settling.forget(name);
    }
  }

  async function listen(node: Node, signal: AbortSignal): Promise<void> {
    const { name = '' } = node.metadata ?? {};
    const key = { namespace: namespaces.nodeLease, name };
    if (!silence.isInDoubt(name)) {
      if (silence.observe(name, signOf(node, leases.lister.get(`${key.namespace}/${name}`)))) isBack();
      return;
    }
    const lease = await findLease(key, signal);
    isBack();
    silence.observe(name, signOf(node, lease));
    silence.confirm(name);
  }

  async function findLease(key: ObjectKey, signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return await client.leases.get(key, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function act(node: Node, signal: AbortSignal): Promise<void> {
    const { name = '' } = node.metadata ?? {};
    const silent = silence.isSilent(name);
    const now = clock.now();
    let current = node;
    const view = { node, silent, heardAt: silence.heardAt(name) ?? now, giveUp: computeGiveUp(node, silent), now };
    for (const action of decideNode(view)) current = await write(current, action, signal);
    if (silent) await unreadyPods(current, signal);
  }

  function computeGiveUp(node: Node, silent: boolean): NodeView['giveUp'] {
    const { name = '' } = node.metadata ?? {};
    const loss = lossOf(node, silent);
    if (loss !== 'lost') {
      settling.forget(name);
      return loss === 'none' || zones.isStopped(node) ? 'no' : 'keep';
    }
    const already = isGivenUp(node);
    if (already || settling.isOver(name)) return zones.mayGiveUp(node, already) ? 'yes' : 'no';
    settling.begin(name);
    return 'no';
  }

  async function write(node: Node, action: NodeAction, signal: AbortSignal): Promise<Node> {
    const { name = '', uid, resourceVersion } = node.metadata ?? {};
    const metadata = { uid, resourceVersion };
    if (action.type === 'set-taints') {
      const taints = action.taints.map((taint) => messageToJson('berth.core.v1.Taint', taint));
      logger.info({ node: name, taints: action.taints.map(({ key }) => key) }, 'tainting the node');
      return client.nodes.patch({ name }, { metadata, spec: { taints } }, {}, { signal });
    }
    const conditions = action.conditions.map((condition) => messageToJson('berth.core.v1.NodeCondition', condition));
    logger.warn({ node: name, graceMs }, 'nothing is heard of the agent of the node, its state is unknown');
    return client.nodes.patch(
      { name, subresource: 'status', type: 'strategic' },
      { metadata, status: { conditions } },
      {},
      { signal },
    );
  }

  /** Read when needed and not kept: nodes are rarely lost, and the pods of all of them are much to remember. */
  async function unreadyPods(node: Node, signal: AbortSignal): Promise<void> {
    const { name = '' } = node.metadata ?? {};
    const { items } = await listAll(client.pods, { fieldSelector: `spec.nodeName=${name}` }, { signal });
    await attemptEach(items, (pod) => unready(pod, node, signal));
  }

  async function unready(pod: Pod, node: Node, signal: AbortSignal): Promise<void> {
    const condition = decidePod(pod, node, clock.now());
    if (condition === undefined) return;
    const { namespace, name = '', uid, resourceVersion, generation: observedGeneration } = pod.metadata ?? {};
    const conditions = [messageToJson('berth.core.v1.PodCondition', { ...condition, observedGeneration })];
    try {
      const patch = { metadata: { uid, resourceVersion }, status: { conditions } };
      await client.pods.patch({ namespace, name, subresource: 'status', type: 'strategic' }, patch, {}, { signal });
      events.event(referenceTo('Pod', pod), 'Warning', 'NodeNotReady', condition.message ?? '');
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Adds no key. */
  const outages: Source = { waitForSync: async () => {}, connect: () => outage.listen(() => restart([...silence.names()])) };

  /** Adds no key: it only informs people. */
  const transitions: Source = {
    waitForSync: (signal) => nodes.waitForSync(signal),
    connect: () =>
      nodes.addHandler({
        name: 'node transitions',
        onUpdate(next, old) {
          const transition = next.metadata?.uid === old.metadata?.uid ? decideTransition(next, old) : undefined;
          if (transition === undefined) return;
          events.event(referenceTo('Node', next), transition.type, transition.reason, transition.message);
        },
      }),
  };

  const ofNode = ({ metadata }: Node) => [metadata?.name ?? ''];
  const ofLease = ({ metadata }: Lease) => (metadata?.namespace === namespaces.nodeLease ? [metadata.name ?? ''] : []);
  return {
    name: 'node-lifecycle',
    sources: [changesOf(nodes, ofNode), changesOf(leases, ofLease), silence, settling, zones, outages, transitions],
    reconcile,
  };
}

/** Changes whenever the agent writes: with each renewal of its lease, and with each status. */
function signOf(node: Node, lease: Lease | undefined): string {
  const beat = findCondition(node.status?.conditions, 'Ready')?.lastHeartbeatTime;
  return [node.metadata?.uid, lease?.metadata?.resourceVersion, beat?.seconds, beat?.nanos].join('/');
}

export const nodeLifecycle: ControllerDefinition = {
  component: 'node-controller',
  watches: { Node: { whole: true }, Lease: { whole: true } },
  create: ({ informer, settings, ...context }) =>
    createNodeLifecycle({
      ...context,
      nodes: informer('Node'),
      leases: informer('Lease'),
      graceMs: settings.nodeGraceMs,
      rates: settings.evictionRates,
    }),
};
