import type { EndpointSlice, Endpoints, Service } from '../../api/generated/types.ts';
import { objectKey } from '../../api/meta/key.ts';
import { managers } from '../../api/meta/service-names.ts';
import type { Informer, ResourceWrites } from '../../client/index.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { OwnWrites, unshownRetryMs } from '../owned-pods/own-writes.ts';
import { rule } from '../rules.ts';
import { serviceIndexers } from '../service-pods.ts';
import { keptSlices } from '../slices/kept-slices.ts';
import { writeSlices } from '../slices/write.ts';
import { decideMirror } from './decide.ts';

/** Service and Endpoints have one name. */
export const mirrorIndexers = { mirrored: keptSlices(managers.mirroredSlices) };

export interface EndpointMirrorOptions {
  readonly services: Informer<Service>;
  readonly endpoints: Informer<Endpoints>;
  /** With `mirrorIndexers`. */
  readonly slices: Informer<EndpointSlice>;
  readonly writes: Pick<ResourceWrites<EndpointSlice>, 'create' | 'update' | 'delete'>;
}

/** Keeps EndpointSlices for the Endpoints that others write for services without a selector. */
export class EndpointMirrorController implements Controller {
  readonly name = 'endpoint-mirror';
  readonly sources: readonly Source[];
  readonly #options: EndpointMirrorOptions;
  readonly #own = new OwnWrites();

  constructor(options: EndpointMirrorOptions) {
    const { services, endpoints, slices } = options;
    this.#options = options;
    this.sources = [
      changesOf(services, (service) => [objectKey(service)]),
      changesOf(endpoints, (each) => [objectKey(each)]),
      changesOf(slices, mirrorIndexers.mirrored),
    ];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const { services, endpoints, slices, writes } = this.#options;
    if (!this.#own.areShown(key)) return { afterMs: unshownRetryMs };
    const view = {
      service: services.lister.get(key),
      endpoints: endpoints.lister.get(key),
      slices: slices.lister.byIndex('mirrored', key),
    };
    const note = ({ metadata }: EndpointSlice): void => this.#own.note(key, slices, metadata?.resourceVersion);
    await writeSlices(decideMirror(view), { writes, note }, signal);
    return undefined;
  }
}

export const endpointMirror: ControllerDefinition = {
  name: 'endpoint-mirror',
  rules: [rule(['create', 'update'], 'discovery.k8s.io', 'endpointslices')],
  watches: {
    Service: { whole: true, indexers: serviceIndexers },
    Endpoints: { whole: true },
    EndpointSlice: { whole: true, indexers: mirrorIndexers },
  },
  create: ({ informer, writer }) =>
    new EndpointMirrorController({
      services: informer('Service'),
      endpoints: informer('Endpoints'),
      slices: informer('EndpointSlice'),
      writes: writer.resource('EndpointSlice'),
    }),
};
