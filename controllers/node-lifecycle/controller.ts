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
import { attemptTogether, isServerFault } from '../attempt-each.ts';
import { type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import type { Outage } from '../outage.ts';
import { writeStatus } from '../rules.ts';
import { createWaits, type Waits } from '../waits.ts';
import { decideNode, decidePod, decideTransitions, isGivenUp, lossOf, type NodeAction, type NodeView } from './decide.ts';
import { createSilence, type Silence } from './silence.ts';
import { defaultEvictionRates, type EvictionRates } from './zone-state.ts';
import { createZones, type Zones } from './zones.ts';

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
 * Agents renew every 10 s, so two renewals may be lost; and it leaves 10 s of the 40 after which a dead node must be
 * seen to be so.
 */
const defaultGraceMs = 30_000;

/**
 * So long it is looked whether others are lost with a node before it is given up. Of nodes that are cut off together,
 * the last is silent 10 s after the first at most; and of the 40 s after which a dead node must be given up, 10 are
 * left.
 */
const settleMs = 7_000;

/**
 * Notices nodes whose agent is silent and says so: in the node's conditions, in its taints, in the Ready condition of
 * its pods. The way back is the agent's own: its status replaces the conditions, and only the taints are left to
 * follow. Nodes that are lost are given up, which is a taint with the effect NoExecute, no faster than the rates allow.
 * Evicts nothing itself.
 *
 * Nothing is judged while the API server is away, nor before a whole grace period was watched after that,
 * or after the start.
 */
export function createNodeLifecycle(options: NodeLifecycleOptions): Controller {
  return new NodeLifecycleController(options);
}

class NodeLifecycleController implements Controller {
  readonly #options: NodeLifecycleOptions;
  readonly #graceMs: number;
  readonly #silence: Silence;
  readonly #settling: Waits;
  readonly #zones: Zones;
  readonly name = 'node-lifecycle';
  readonly sources: readonly Source[];

  constructor(options: NodeLifecycleOptions) {
    this.#options = options;
    this.#graceMs = options.graceMs ?? defaultGraceMs;
    this.#silence = createSilence({ clock: options.clock, graceMs: this.#graceMs });
    this.#settling = createWaits({ clock: options.clock, ms: settleMs });
    const rates = { ...defaultEvictionRates, ...options.rates };
    this.#zones = createZones({
      nodes: options.nodes,
      rates,
      clock: options.clock,
      logger: options.logger,
      resumed: (names) => this.#restart(names),
    });
    // Adds no key.
    const outages: Source = {
      waitForSync: async () => {},
      connect: () => options.outage.listen(() => this.#restart([...this.#silence.names()])),
    };
    // Adds no key: it only informs people.
    const transitions: Source = {
      waitForSync: (signal) => options.nodes.waitForSync(signal),
      connect: () =>
        options.nodes.addHandler({
          name: 'node transitions',
          onUpdate(next, old) {
            if (next.metadata?.uid !== old.metadata?.uid) return;
            for (const { type, reason, message } of decideTransitions(next, old))
              options.events.event(referenceTo('Node', next), type, reason, message);
          },
        }),
    };
    this.sources = [
      changesOf(options.nodes, (node) => this.#ofNode(node)),
      changesOf(options.leases, (lease) => this.#ofLease(lease)),
      this.#silence,
      this.#settling,
      this.#zones,
      outages,
      transitions,
    ];
  }

  async reconcile(name: string, signal: AbortSignal): Promise<void> {
    const node = this.#options.nodes.lister.get(name);
    if (node === undefined) {
      this.#settling.forget(name);
      return this.#silence.forget(name);
    }
    try {
      await this.#listen(node, signal);
      await this.#act(node, signal);
    } catch (error) {
      // Agents may have failed at the same calls: no silence counts.
      if (isServerFault(error)) {
        this.#options.outage.began();
        this.#silence.restart(name);
      }
      throw error;
    }
  }

  #isBack(): void {
    if (this.#options.outage.ended())
      this.#options.logger.info(
        { graceMs: this.#graceMs },
        'the API server answers again: every node has a whole grace period from now on',
      );
  }

  /** Periods of nodes that could not be heard begin afresh. */
  #restart(names: readonly string[]): void {
    for (const name of names) {
      this.#silence.restart(name);
      this.#settling.forget(name);
    }
  }

  async #listen(node: Node, signal: AbortSignal): Promise<void> {
    const { name = '' } = node.metadata ?? {};
    const key = { namespace: namespaces.nodeLease, name };
    if (!this.#silence.isInDoubt(name)) {
      if (this.#silence.observe(name, signOf(node, this.#options.leases.lister.get(`${key.namespace}/${name}`)))) this.#isBack();
      return;
    }
    const lease = await this.#findLease(key, signal);
    this.#isBack();
    this.#silence.observe(name, signOf(node, lease));
    this.#silence.confirm(name);
  }

  async #findLease(key: ObjectKey, signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.#options.client.leases.get(key, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #act(node: Node, signal: AbortSignal): Promise<void> {
    const { name = '' } = node.metadata ?? {};
    const silent = this.#silence.isSilent(name);
    const now = this.#options.clock.now();
    let current = node;
    const view = { node, silent, heardAt: this.#silence.heardAt(name) ?? now, giveUp: this.#computeGiveUp(node, silent), now };
    for (const action of decideNode(view)) current = await this.#write(current, action, signal);
    if (silent) await this.#unreadyPods(current, signal);
  }

  #computeGiveUp(node: Node, silent: boolean): NodeView['giveUp'] {
    const { name = '' } = node.metadata ?? {};
    const loss = lossOf(node, silent);
    if (loss !== 'lost') {
      this.#settling.forget(name);
      return loss === 'none' || this.#zones.isStopped(node) ? 'no' : 'keep';
    }
    const already = isGivenUp(node);
    if (already || this.#settling.isOver(name)) return this.#zones.mayGiveUp(node, already) ? 'yes' : 'no';
    this.#settling.begin(name);
    return 'no';
  }

  async #write(node: Node, action: NodeAction, signal: AbortSignal): Promise<Node> {
    const { logger, client } = this.#options;
    const { name = '', uid, resourceVersion } = node.metadata ?? {};
    const metadata = { uid, resourceVersion };
    if (action.type === 'set-taints') {
      const taints = action.taints.map((taint) => messageToJson('berth.core.v1.Taint', taint));
      logger.info({ node: name, taints: action.taints.map(({ key }) => key) }, 'tainting the node');
      return client.nodes.patch({ name }, { metadata, spec: { taints } }, {}, { signal });
    }
    const conditions = action.conditions.map((condition) => messageToJson('berth.core.v1.NodeCondition', condition));
    logger.warn({ node: name, graceMs: this.#graceMs }, 'nothing is heard of the agent of the node, its state is unknown');
    return client.nodes.patch(
      { name, subresource: 'status', type: 'strategic' },
      { metadata, status: { conditions } },
      {},
      { signal },
    );
  }

  /** Read when needed and not kept: nodes are rarely lost, and the pods of all of them are much to remember. */
  async #unreadyPods(node: Node, signal: AbortSignal): Promise<void> {
    const { name = '' } = node.metadata ?? {};
    const { items } = await listAll(this.#options.client.pods, { fieldSelector: `spec.nodeName=${name}` }, { signal });
    await attemptTogether(items, (pod) => this.#unready(pod, node, signal));
  }

  async #unready(pod: Pod, node: Node, signal: AbortSignal): Promise<void> {
    const { clock, client, events } = this.#options;
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

  #ofNode({ metadata }: Node): string[] {
    return [metadata?.name ?? ''];
  }

  #ofLease({ metadata }: Lease): string[] {
    return metadata?.namespace === namespaces.nodeLease ? [metadata.name ?? ''] : [];
  }
}

/** Changes whenever the agent writes: with each renewal of its lease, and with each status. */
function signOf(node: Node, lease: Lease | undefined): string {
  const beat = findCondition(node.status?.conditions, 'Ready')?.lastHeartbeatTime;
  return [node.metadata?.uid, lease?.metadata?.resourceVersion, beat?.seconds, beat?.nanos].join('/');
}

export const nodeLifecycle: ControllerDefinition = {
  name: 'node-lifecycle',
  component: 'node-controller',
  rules: [writeStatus('', 'nodes'), writeStatus('', 'pods')],
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
