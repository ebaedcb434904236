import type { Namespace, NetworkPolicy, Node, Pod, PodAddressSlice } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { namedPortsOf } from '../../api/kinds/pod/named-ports.ts';
import { equalValues } from '../../api/meta/equal.ts';
import type { Clock, Informer, ResourceWrites } from '../../client/index.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { hasOtherRanges, rememberRanges } from '../node-pod-ranges.ts';
import { OwnWrites, unshownRetryMs } from '../owned-pods/own-writes.ts';
import { Pace } from '../owned-pods/pace.ts';
import { namespaceIndexers } from '../owned-pods/pod-index.ts';
import { podIndexers } from '../pod-garbage/controller.ts';
import { rule } from '../rules.ts';
import { writeSlices } from '../slices/write.ts';
import { decidePodAddressSlices } from './decide.ts';

/** A namespace is looked at once in 50 to 100 ms at most: a burst of pods is written in few steps. */
const pace = { perMs: 25, leastMs: 50, mostMs: 100 };

export interface PodAddressesOptions {
  readonly policies: Informer<NetworkPolicy>;
  /** Whole, for their labels. */
  readonly namespaces: Informer<Namespace>;
  /** Outlines suffice. With the indexes "namespace" and "node". */
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  /** With the index "namespace". */
  readonly slices: Informer<PodAddressSlice>;
  readonly writes: Pick<ResourceWrites<PodAddressSlice>, 'create' | 'update' | 'delete'>;
  readonly clock: Clock;
}

/**
 * Keeps PodAddressSlices of all namespaces while there is a NetworkPolicy in the cluster, and none while there is not.
 * Keys are namespaces.
 */
export class PodAddressController implements Controller {
  readonly name = 'pod-addresses';
  readonly sources: readonly Source[];
  readonly #options: PodAddressesOptions;
  readonly #own = new OwnWrites();
  readonly #pace: Pace;
  /** Whether there is a policy, for events of pods, which are many. */
  #isNeeded = false;

  constructor(options: PodAddressesOptions) {
    const { namespaces, pods, nodes, slices, clock } = options;
    this.#options = options;
    this.#pace = new Pace(() => clock.now(), pace);
    // Without a policy changes of pods and nodes mean nothing; the first one wakes all namespaces.
    const ifNeeded = (keys: readonly string[]): readonly string[] => (this.#isNeeded ? keys : []);
    this.sources = [
      this.#neededChanges(),
      changesOf(namespaces, ({ metadata }) => ifNeeded([metadata?.name ?? '']), { matters: isOtherNamespace }),
      changesOf(slices, ({ metadata }) => [metadata?.namespace ?? '']),
      changesOf(pods, ({ metadata }) => ifNeeded([metadata?.namespace ?? '']), { matters: isOtherPod }),
      changesOf(nodes, (node) => ifNeeded(this.#namespacesOn(node)), { matters: hasOtherRanges }),
    ];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const { policies, namespaces, pods, nodes, slices, writes } = this.#options;
    if (!this.#own.areShown(key)) return { afterMs: unshownRetryMs };
    const [isNeeded, namespace] = [policies.lister.list().length > 0, namespaces.lister.get(key)];
    const [present, stored] = [isNeeded ? pods.lister.byIndex('namespace', key) : [], slices.lister.byIndex('namespace', key)];
    if (present.length === 0 && stored.length === 0) {
      this.#pace.forget(key);
      return undefined;
    }
    const later = this.#pace.delay(key, present.length);
    if (later) return later;
    const rangesOf = rememberRanges((node) => nodes.lister.get(node));
    const plan = decidePodAddressSlices({ namespace, isNeeded, pods: present, slices: stored, rangesOf });
    const note = ({ metadata }: PodAddressSlice): void => this.#own.note(key, slices, metadata?.resourceVersion);
    await writeSlices(plan, { writes, note }, signal);
    return undefined;
  }

  /** Wakes all namespaces when the first policy comes, and when the last one goes. */
  #neededChanges(): Source {
    const { policies, namespaces, slices } = this.#options;
    return {
      waitForSync: (signal) => policies.waitForSync(signal),
      connect: (wake) => {
        const look = (): void => {
          const isNeeded = policies.lister.list().length > 0;
          if (isNeeded === this.#isNeeded) return;
          this.#isNeeded = isNeeded;
          for (const { metadata } of namespaces.lister.list()) wake(metadata?.name ?? '');
          for (const { metadata } of slices.lister.list()) wake(metadata?.namespace ?? '');
        };
        return policies.addHandler({ name: this.name, onAdd: look, onDelete: look });
      },
    };
  }

  #namespacesOn({ metadata }: Node): string[] {
    const pods = this.#options.pods.lister.byIndex('node', metadata?.name ?? '');
    return [...new Set(pods.map((pod) => pod.metadata?.namespace ?? ''))];
  }
}

function isOtherNamespace({ metadata: next = {} }: Namespace, { metadata: old = {} }: Namespace): boolean {
  return !equalValues([next.labels, next.uid, next.deletionTimestamp], [old.labels, old.uid, old.deletionTimestamp]);
}

function isOtherPod(next: Pod, old: Pod): boolean {
  return !equalValues(factsOf(next), factsOf(old));
}

function factsOf(pod: Pod): readonly unknown[] {
  const { metadata = {}, spec = {}, status = {} } = pod;
  const { uid, labels } = metadata;
  return [uid, labels, spec.nodeName, spec.hostNetwork, isFinished(pod), status.podIP, status.podIPs, namedPortsOf(pod)];
}

export const podAddresses: ControllerDefinition = {
  name: 'pod-addresses',
  rules: [rule(['create', 'update'], 'networking.berth.io', 'podaddressslices')],
  watches: {
    NetworkPolicy: { whole: true },
    Namespace: { whole: true },
    Pod: { indexers: { ...namespaceIndexers, node: podIndexers.node } },
    Node: { whole: true },
    PodAddressSlice: { whole: true, indexers: namespaceIndexers },
  },
  create: ({ informer, writer, clock }) =>
    new PodAddressController({
      policies: informer('NetworkPolicy'),
      namespaces: informer('Namespace'),
      pods: informer('Pod'),
      nodes: informer('Node'),
      slices: informer('PodAddressSlice'),
      writes: writer.resource('PodAddressSlice'),
      clock,
    }),
};
