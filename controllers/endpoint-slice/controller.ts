import type { EndpointSlice, Node, Pod, Service } from '../../api/generated/types.ts';
import { objectKey } from '../../api/meta/key.ts';
import { managers } from '../../api/meta/service-names.ts';
import { labels } from '../../api/meta/well-known.ts';
import type { Clock, Informer, ResourceWrites } from '../../client/index.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { rememberRanges } from '../node-pod-ranges.ts';
import { OwnWrites, unshownRetryMs } from '../owned-pods/own-writes.ts';
import { Pace } from '../owned-pods/pace.ts';
import { namespaceIndexers } from '../owned-pods/pod-index.ts';
import { podIndexers } from '../pod-garbage/controller.ts';
import { rule } from '../rules.ts';
import { hasSelector, podsOfService, servedNodeChanges, servedPodChanges, serviceIndexers } from '../service-pods.ts';
import { keptSlices } from '../slices/kept-slices.ts';
import { writeSlices } from '../slices/write.ts';
import { decideSlices } from './decide.ts';

export const sliceIndexers = { service: keptSlices(managers.slices) };

export interface EndpointSlicesOptions {
  /** With `serviceIndexers`. */
  readonly services: Informer<Service>;
  /** Outlines suffice. With the indexes "namespace" and "node". */
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  /** With `sliceIndexers`. */
  readonly slices: Informer<EndpointSlice>;
  readonly writes: Pick<ResourceWrites<EndpointSlice>, 'create' | 'update' | 'delete'>;
  readonly clock: Clock;
}

/**
 * Keeps the EndpointSlices of services that have a selector. Those of a service that is gone go with it, as its own.
 */
export class EndpointSliceController implements Controller {
  readonly name = 'endpoint-slice';
  readonly sources: readonly Source[];
  readonly #options: EndpointSlicesOptions;
  readonly #own = new OwnWrites();
  readonly #pace: Pace;

  constructor(options: EndpointSlicesOptions) {
    const { services, pods, nodes, slices, clock } = options;
    this.#options = options;
    this.#pace = new Pace(() => clock.now());
    this.sources = [
      changesOf(services, (service) => [objectKey(service)]),
      changesOf(slices, sliceIndexers.service),
      servedPodChanges(pods, services.lister),
      servedNodeChanges(nodes, pods.lister, services.lister),
    ];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const { services, pods, slices, nodes, writes } = this.#options;
    const service = services.lister.get(key);
    if (!service || service.metadata?.deletionTimestamp || !hasSelector(service)) {
      this.#own.forget(key);
      this.#pace.forget(key);
      return undefined;
    }
    if (!this.#own.areShown(key)) return { afterMs: unshownRetryMs };
    const selected = podsOfService(pods.lister, service);
    const later = this.#pace.delay(key, selected.length);
    if (later) return later;
    const plan = decideSlices({
      service,
      pods: selected,
      slices: slices.lister.byIndex('service', key),
      rangesOf: rememberRanges((node) => nodes.lister.get(node)),
      zoneOf: (node) => nodes.lister.get(node)?.metadata?.labels?.[labels.zone],
    });
    const note = ({ metadata }: EndpointSlice): void => this.#own.note(key, slices, metadata?.resourceVersion);
    await writeSlices(plan, { writes, note }, signal);
    return undefined;
  }
}

export const endpointSlices: ControllerDefinition = {
  name: 'endpoint-slice',
  rules: [rule(['create', 'update'], 'discovery.k8s.io', 'endpointslices')],
  watches: {
    Service: { whole: true, indexers: serviceIndexers },
    Pod: { indexers: { ...namespaceIndexers, node: podIndexers.node } },
    Node: { whole: true },
    EndpointSlice: { whole: true, indexers: sliceIndexers },
  },
  create: ({ informer, writer, clock }) =>
    new EndpointSliceController({
      services: informer('Service'),
      pods: informer('Pod'),
      nodes: informer('Node'),
      slices: informer('EndpointSlice'),
      writes: writer.resource('EndpointSlice'),
      clock,
    }),
};
