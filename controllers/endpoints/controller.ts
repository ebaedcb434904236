import { isNotFound } from '../../api/errors/index.ts';
import type { Endpoints, Node, Pod, Service } from '../../api/generated/types.ts';
import { objectKey } from '../../api/meta/key.ts';
import { managers, serviceLabels } from '../../api/meta/service-names.ts';
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
import { decideEndpoints } from './decide.ts';

export interface EndpointsOptions {
  /** With `serviceIndexers`. */
  readonly services: Informer<Service>;
  /** Outlines suffice. With the indexes "namespace" and "node". */
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  readonly endpoints: Informer<Endpoints>;
  readonly writes: Pick<ResourceWrites<Endpoints>, 'create' | 'update' | 'delete'>;
  readonly clock: Clock;
}

/**
 * Keeps the Endpoints of services that have a selector, for programs that read no slices. Those of a service without a
 * selector are left to who wrote them; its own go with the service, or with its selector.
 */
export class EndpointsController implements Controller {
  readonly name = 'endpoints';
  readonly sources: readonly Source[];
  readonly #options: EndpointsOptions;
  readonly #own = new OwnWrites();
  readonly #pace: Pace;

  constructor(options: EndpointsOptions) {
    const { services, pods, nodes, endpoints, clock } = options;
    this.#options = options;
    this.#pace = new Pace(() => clock.now());
    this.sources = [
      changesOf(services, (service) => [objectKey(service)]),
      changesOf(endpoints, (each) => [objectKey(each)]),
      servedPodChanges(pods, services.lister),
      servedNodeChanges(nodes, pods.lister, services.lister),
    ];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const { services, pods, nodes, endpoints, writes } = this.#options;
    if (!this.#own.areShown(key)) return { afterMs: unshownRetryMs };
    const [service, before] = [services.lister.get(key), endpoints.lister.get(key)];
    if (!service || service.metadata?.deletionTimestamp || !hasSelector(service)) {
      this.#pace.forget(key);
      if (before && isOurs(before)) await this.#remove(key, before, signal);
      return undefined;
    }
    const selected = podsOfService(pods.lister, service);
    const later = this.#pace.delay(key, selected.length);
    if (later) return later;
    const rangesOf = rememberRanges((node) => nodes.lister.get(node));
    const next = decideEndpoints({ service, pods: selected, before, rangesOf });
    if (!next) return undefined;
    const written = await (before ? writes.update(next, {}, { signal }) : writes.create(next, {}, { signal }));
    this.#own.note(key, endpoints, written.metadata?.resourceVersion);
    return undefined;
  }

  async #remove(key: string, { metadata }: Endpoints, signal: AbortSignal): Promise<void> {
    const { endpoints, writes } = this.#options;
    const { namespace, name = '', uid } = metadata ?? {};
    try {
      const gone = await writes.delete({ namespace, name }, { preconditions: { ...(uid && { uid }) } }, { signal });
      this.#own.note(key, endpoints, gone.metadata?.resourceVersion);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function isOurs({ metadata }: Endpoints): boolean {
  return metadata?.labels?.[serviceLabels.endpointsManagedBy] === managers.endpoints;
}

export const endpointsDefinition: ControllerDefinition = {
  name: 'endpoints',
  rules: [rule(['create', 'update'], '', 'endpoints')],
  watches: {
    Service: { whole: true, indexers: serviceIndexers },
    Pod: { indexers: { ...namespaceIndexers, node: podIndexers.node } },
    Node: { whole: true },
    Endpoints: { whole: true },
  },
  create: ({ informer, writer, clock }) =>
    new EndpointsController({
      services: informer('Service'),
      pods: informer('Pod'),
      nodes: informer('Node'),
      endpoints: informer('Endpoints'),
      writes: writer.resource('Endpoints'),
      clock,
    }),
};
