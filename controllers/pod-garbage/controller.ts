import { isNotFound } from '../../api/errors/index.ts';
import type { Node, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { objectKey } from '../../api/meta/key.ts';
import { secondsTimestamp, toRfc3339 } from '../../api/meta/time.ts';
import { type Client, type Clock, type EventRecorder, type Informer, type Logger, referenceTo } from '../../client/index.ts';
import { attemptEach } from '../attempt-each.ts';
import { type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { writeStatus } from '../rules.ts';
import { createWaits, type Waits } from '../waits.ts';
import { type Cause, decideByNode, decideFinished } from './decide.ts';

export interface PodGarbageOptions {
  readonly client: Pick<Client, 'pods' | 'nodes'>;
  /** Outlines suffice. With the indexes `podIndexers`. */
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  readonly events: Pick<EventRecorder, 'event'>;
  /** How many pods that have ended are kept. */
  readonly maxFinished?: number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Kubernetes' figures: so many ended pods are worth keeping,
 * and so long may a node be away because it is being made again.
 */
const defaultMaxFinished = 12_500;
const nodeGoneMs = 40_000;

const nodePrefix = 'node/';
const finishedKey = 'finished';

/** Pods by the node they are bound to, and those that have ended. */
export const podIndexers = {
  node: (pod: Pod): readonly string[] => (pod.spec?.nodeName ? [pod.spec.nodeName] : []),
  finished: (pod: Pod): readonly string[] => (isFinished(pod) ? ['true'] : []),
};

/**
 * Removes pods that no other component deletes: those of nodes that do not exist or are declared dead,
 * and ended ones beyond a bound.
 */
export function createPodGarbage(options: PodGarbageOptions): Controller {
  return new PodGarbageCollector(options);
}

class PodGarbageCollector implements Controller {
  readonly #options: PodGarbageOptions;
  readonly #maxFinished: number;
  readonly #gone: Waits;
  /** Uids of pods that were removed and that the copy still has: what is written of a pod wakes its node once more. */
  readonly #removed = new Set<string>();
  readonly name = 'pod-garbage';
  readonly sources: readonly Source[];

  constructor(options: PodGarbageOptions) {
    this.#options = options;
    this.#maxFinished = options.maxFinished ?? defaultMaxFinished;
    this.#gone = createWaits({ clock: options.clock, ms: nodeGoneMs });
    // Adds no key.
    const removals: Source = {
      waitForSync: async () => {},
      connect: () =>
        options.pods.addHandler({
          name: 'removed pods',
          onDelete: ({ metadata }) => void this.#removed.delete(metadata?.uid ?? ''),
        }),
    };
    this.sources = [
      removals,
      changesOf(options.pods, (pod) => this.#ofPod(pod)),
      changesOf(options.nodes, (node) => this.#ofNode(node)),
      this.#gone,
    ];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { pods, nodes } = this.#options;
    if (key === finishedKey) {
      // Each pod that ends wakes this key: a list of thousands each time would cost more than the pod's end.
      if (pods.lister.countInIndex('finished', 'true') <= this.#maxFinished) return;
      const victims = decideFinished(pods.lister.byIndex('finished', 'true'), this.#maxFinished);
      return this.#removeEach(victims, 'TooManyFinished', signal);
    }
    const name = key.slice(nodePrefix.length);
    const node = nodes.lister.get(name);
    const bound = pods.lister.byIndex('node', name);
    if (node === undefined && bound.length > 0 && !(await this.#isGone(name, key, signal))) return;
    if (node !== undefined || bound.length === 0) this.#gone.forget(key);
    const { cause, pods: victims } = decideByNode(bound, node);
    await this.#removeEach(victims, cause, signal);
  }

  #removeEach(victims: readonly Pod[], cause: Cause, signal: AbortSignal): Promise<void> {
    return attemptEach(victims, async (pod) => {
      const { uid = '' } = pod.metadata ?? {};
      if (this.#removed.has(uid)) return;
      await this.#remove(pod, cause, signal);
      if (this.#options.pods.lister.get(objectKey(pod))?.metadata?.uid === uid) this.#removed.add(uid);
    });
  }

  /** Whether the node has been missing for a while, and is. */
  async #isGone(name: string, key: string, signal: AbortSignal): Promise<boolean> {
    if (!this.#gone.isOver(key)) {
      this.#gone.begin(key);
      return false;
    }
    try {
      await this.#options.client.nodes.get({ name }, { signal });
      this.#gone.forget(key);
      return false;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  async #remove(pod: Pod, cause: Cause, signal: AbortSignal): Promise<void> {
    const { client, logger, events } = this.#options;
    const { namespace, name = '', uid } = pod.metadata ?? {};
    const message = messageOf(cause, pod.spec?.nodeName ?? '', this.#maxFinished);
    try {
      // What waits for its end, such as a finalizer, must see one.
      if (!isFinished(pod)) await this.#markFailed(pod, message, signal);
      await client.pods.delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } }, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return;
    }
    logger.info({ pod: `${namespace}/${name}`, cause }, 'removed a pod that no other component removes');
    if (cause !== 'TooManyFinished') events.event(referenceTo('Pod', pod), 'Warning', cause, message);
  }

  async #markFailed(pod: Pod, message: string, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid } = pod.metadata ?? {};
    const lastTransitionTime = toRfc3339(secondsTimestamp(new Date(this.#options.clock.now())));
    const target = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC', message, lastTransitionTime };
    const patch = { metadata: { uid }, status: { phase: 'Failed', conditions: [target] } };
    await this.#options.client.pods.patch({ namespace, name, subresource: 'status', type: 'strategic' }, patch, {}, { signal });
  }

  #ofPod(pod: Pod): string[] {
    return [...podIndexers.node(pod).map((name) => nodePrefix + name), ...(isFinished(pod) ? [finishedKey] : [])];
  }

  #ofNode({ metadata }: Node): string[] {
    return [nodePrefix + (metadata?.name ?? '')];
  }
}

function messageOf(cause: Cause, node: string, maxFinished: number): string {
  switch (cause) {
    case 'NodeGone':
      return `removed: node "${node}" does not exist`;
    case 'NodeOutOfService':
      return `removed: node "${node}" is declared out of service and is not ready`;
    case 'TooManyFinished':
      return `removed: more than ${maxFinished} pods have ended`;
  }
}

export const podGarbage: ControllerDefinition = {
  name: 'pod-garbage',
  component: 'pod-garbage-collector',
  rules: [writeStatus('', 'pods')],
  watches: { Node: { whole: true }, Pod: { indexers: podIndexers } },
  create: ({ informer, settings, ...context }) =>
    createPodGarbage({
      ...context,
      pods: informer('Pod'),
      nodes: informer('Node'),
      maxFinished: settings.maxFinishedPods,
    }),
};
