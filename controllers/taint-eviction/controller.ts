import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Node, Pod, Taint } from '../../api/generated/types.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { secondsTimestamp, toRfc3339 } from '../../api/meta/time.ts';
import {
  type Client,
  type Clock,
  type EventRecorder,
  type Informer,
  type Logger,
  listAll,
  type ResourceWrites,
  referenceTo,
} from '../../client/index.ts';
import { attemptTogether, isServerFault } from '../attempt-each.ts';
import { type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import type { Outage } from '../outage.ts';
import { writeStatus } from '../rules.ts';
import { type Countdowns, createCountdowns } from './countdowns.ts';
import { decideEvictions, isNoExecute } from './decide.ts';

export interface TaintEvictionOptions {
  readonly client: Pick<Client, 'nodes' | 'pods'>;
  /** Writes of pods that travel together. */
  readonly writes: Pick<ResourceWrites<Pod>, 'patch' | 'delete'>;
  readonly nodes: Informer<Node>;
  /** Outlines suffice. */
  readonly pods: Informer<Pod>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly outage: Outage;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Deletes pods from nodes with NoExecute taints that they do not tolerate, at once or when the seconds of their
 * toleration are over. The seconds count from the moment that this loop sees both, pod and taint, by its own timers;
 * after its start and after an outage of the API server they count anew. Nodes are rarely tainted so, therefore their
 * pods are read when needed and not kept.
 */
export function createTaintEviction(options: TaintEvictionOptions): Controller {
  return new TaintEvictionController(options);
}

class TaintEvictionController implements Controller {
  readonly #options: TaintEvictionOptions;
  readonly #countdowns: Countdowns;
  readonly name = 'taint-eviction';
  readonly sources: readonly Source[];

  constructor(options: TaintEvictionOptions) {
    this.#options = options;
    this.#countdowns = createCountdowns({ clock: options.clock });
    const outages = { waitForSync: async () => {}, connect: () => options.outage.listen(() => this.#countdowns.restart()) };
    this.sources = [
      changesOf(options.nodes, (node) => this.#ofNode(node), { matters: (next, old) => this.#taintsChanged(next, old) }),
      changesOf(options.pods, (pod) => this.#ofPod(pod), { matters: specChanged }),
      this.#countdowns,
      outages,
    ];
  }

  async reconcile(name: string, signal: AbortSignal): Promise<void> {
    if (!isTainted(this.#options.nodes.lister.get(name))) return this.#countdowns.keep(name, new Map());
    try {
      await this.#sync(name, signal);
    } catch (error) {
      if (isServerFault(error)) this.#options.outage.began();
      throw error;
    }
  }

  async #sync(name: string, signal: AbortSignal): Promise<void> {
    // Not the copy: a taint that was removed a moment ago evicts no pod.
    const taints = await this.#readTaints(name, signal);
    const { items } = taints.some(isNoExecute)
      ? await listAll(this.#options.client.pods, { fieldSelector: `spec.nodeName=${name}` }, { signal })
      : { items: [] };
    this.#options.outage.ended();
    const plan = decideEvictions({ taints, pods: items, isOver: (key) => this.#countdowns.isOver(name, key) });
    await attemptTogether(plan.evict, ({ pod, taint }) => this.#evict(pod, taint, signal));
    this.#countdowns.keep(name, plan.counting);
  }

  async #readTaints(name: string, signal: AbortSignal): Promise<readonly Taint[]> {
    try {
      return (await this.#options.client.nodes.get({ name }, { signal })).spec?.taints ?? [];
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }

  async #evict(pod: Pod, taint: Taint, signal: AbortSignal): Promise<void> {
    const { writes, logger, events } = this.#options;
    const { namespace, name = '', uid } = pod.metadata ?? {};
    const message = `node "${pod.spec?.nodeName}" has the taint ${textOf(taint)}, which the pod does not tolerate, or no longer`;
    try {
      await writes.patch(
        { namespace, name, subresource: 'status', type: 'strategic' },
        this.#disruption(pod, message),
        {},
        { signal },
      );
      await writes.delete({ namespace, name }, { preconditions: { uid } }, { signal });
    } catch (error) {
      // Gone, and perhaps another one of its name is there.
      if (isNotFound(error) || isConflict(error)) return;
      throw error;
    }
    logger.info({ pod: `${namespace}/${name}`, node: pod.spec?.nodeName, taint: textOf(taint) }, 'evicting the pod');
    events.event(referenceTo('Pod', pod), 'Normal', 'TaintManagerEviction', `evicting the pod: ${message}`);
  }

  /** Sets the condition DisruptionTarget, which says why the pod ends. */
  #disruption({ metadata }: Pod, message: string): object {
    const lastTransitionTime = toRfc3339(secondsTimestamp(new Date(this.#options.clock.now())));
    const target = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager', message, lastTransitionTime };
    return { metadata: { uid: metadata?.uid }, status: { conditions: [target] } };
  }

  #ofNode({ metadata }: Node): string[] {
    return [metadata?.name ?? ''];
  }

  #ofPod({ spec }: Pod): string[] {
    return isTainted(this.#options.nodes.lister.get(spec?.nodeName ?? '')) ? [spec?.nodeName ?? ''] : [];
  }

  #taintsChanged(next: Node, old: Node): boolean {
    return !equalValues(next.spec?.taints ?? [], old.spec?.taints ?? []);
  }
}

function isTainted(node: Node | undefined): boolean {
  return node?.spec?.taints?.some(isNoExecute) === true;
}

function specChanged(next: Pod, old: Pod): boolean {
  return (
    next.metadata?.uid !== old.metadata?.uid ||
    next.metadata?.generation !== old.metadata?.generation ||
    next.spec?.nodeName !== old.spec?.nodeName
  );
}

function textOf({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ''}:${effect}`;
}

export const taintEviction: ControllerDefinition = {
  name: 'taint-eviction',
  component: 'taint-eviction-controller',
  rules: [writeStatus('', 'pods')],
  watches: { Node: { whole: true }, Pod: {} },
  create: ({ informer, writer, ...context }) =>
    createTaintEviction({ ...context, writes: writer.resource('Pod'), nodes: informer('Node'), pods: informer('Pod') }),
};
