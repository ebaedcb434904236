import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Node, Pod, Taint } from '../../api/generated/types.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { timestamp, toRfc3339 } from '../../api/meta/time.ts';
import {
  type Client,
  type Clock,
  type EventRecorder,
  type Informer,
  type Logger,
  listAll,
  referenceTo,
} from '../../client/index.ts';
import { attemptEach, isServerFault } from '../attempt-each.ts';
import { type Controller, changesOf } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import type { Outage } from '../outage.ts';
import { createCountdowns } from './countdowns.ts';
import { decideEvictions, isNoExecute } from './decide.ts';

export interface TaintEvictionOptions {
  readonly client: Pick<Client, 'nodes' | 'pods'>;
  readonly nodes: Informer<Node>;
  /** Outlines suffice. */
  readonly pods: Informer<Pod>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly outage: Outage;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Deletes pods from nodes with NoExecute taints that they do not tolerate, at once or when the seconds of their toleration are over. The seconds
 * count from the moment that this loop sees both, pod and taint, by its own timers; after its start and after an outage of the API server they
 * count anew. Nodes are rarely tainted so, therefore their pods are read when needed and not kept.
 */
export function createTaintEviction(options: TaintEvictionOptions): Controller {
  const { client, nodes, pods, events, outage, clock, logger } = options;
  const countdowns = createCountdowns({ clock });

  async function reconcile(name: string, signal: AbortSignal): Promise<void> {
    if (!isTainted(nodes.lister.get(name))) return countdowns.keep(name, new Map());
    try {
      await sync(name, signal);
    } catch (error) {
      if (isServerFault(error)) outage.began();
      throw error;
    }
  }

  async function sync(name: string, signal: AbortSignal): Promise<void> {
    // Not the copy: a taint that was removed a moment ago evicts no pod.
    const taints = await readTaints(name, signal);
    const { items } = taints.some(isNoExecute)
      ? await listAll(client.pods, { fieldSelector: `spec.nodeName=${name}` }, { signal })
      : { items: [] };
    outage.ended();
    const plan = decideEvictions({ taints, pods: items, isOver: (key) => countdowns.isOver(name, key) });
    await attemptEach(plan.evict, ({ pod, taint }) => evict(pod, taint, signal));
    countdowns.keep(name, plan.counting);
  }

  async function readTaints(name: string, signal: AbortSignal): Promise<readonly Taint[]> {
    try {
      return (await client.nodes.get({ name }, { signal })).spec?.taints ?? [];
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }

  async function evict(pod: Pod, taint: Taint, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid } = pod.metadata ?? {};
    const message = `node "${pod.spec?.nodeName}" has the taint ${textOf(taint)}, which the pod does not tolerate, or no longer`;
    try {
      await client.pods.patch(
        { namespace, name, subresource: 'status', type: 'strategic' },
        disruption(pod, message),
        {},
        { signal },
      );
      await client.pods.delete({ namespace, name }, { preconditions: { uid } }, { signal });
    } catch (error) {
      // Gone, and perhaps another one of its name is there.
      if (isNotFound(error) || isConflict(error)) return;
      throw error;
    }
    logger.info({ pod: `${namespace}/${name}`, node: pod.spec?.nodeName, taint: textOf(taint) }, 'evicting the pod');
    events.event(referenceTo('Pod', pod), 'Normal', 'TaintManagerEviction', `evicting the pod: ${message}`);
  }

  /** Sets the condition DisruptionTarget, which says why the pod ends. */
  function disruption({ metadata }: Pod, message: string) {
    const lastTransitionTime = toRfc3339(timestamp(new Date(clock.now())));
    const target = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager', message, lastTransitionTime };
    return { metadata: { uid: metadata?.uid }, status: { conditions: [target] } };
  }

  const ofNode = ({ metadata }: Node) => [metadata?.name ?? ''];
  const ofPod = ({ spec }: Pod) => (isTainted(nodes.lister.get(spec?.nodeName ?? '')) ? [spec?.nodeName ?? ''] : []);
  const taintsChanged = (next: Node, old: Node) => !equalValues(next.spec?.taints ?? [], old.spec?.taints ?? []);
  const outages = { waitForSync: async () => {}, connect: () => outage.listen(() => countdowns.restart()) };
  return {
    name: 'taint-eviction',
    sources: [
      changesOf(nodes, ofNode, { matters: taintsChanged }),
      changesOf(pods, ofPod, { matters: specChanged }),
      countdowns,
      outages,
    ],
    reconcile,
  };
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
  component: 'taint-eviction-controller',
  watches: { Node: { whole: true }, Pod: {} },
  create: ({ informer, ...context }) => createTaintEviction({ ...context, nodes: informer('Node'), pods: informer('Pod') }),
};
