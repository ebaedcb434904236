import type { EndpointSlice, Pod, Service } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { objectKey, splitKey } from '../../api/meta/key.ts';
import { createIndexer } from '../../client/informer/indexer.ts';
import type { Informer } from '../../client/informer/informer.ts';
import type { NamesChange, NamesSnapshot, PodView } from '../names/changes.ts';
import type { TableService } from '../service-table/service.ts';
import { serviceOfSlice, serviceViewOf, sliceViewOf, tableServiceOf } from './views.ts';

/** The index of slices by the key of their Service. */
export const sliceIndex = { service: (slice: EndpointSlice) => [serviceOfSlice(slice) ?? ''] };

/** The index of Services by their namespace. */
export const namespaceIndex = { namespace: ({ metadata }: Service) => [metadata?.namespace ?? ''] };

type Source<T> = Pick<Informer<T>, 'lister' | 'addHandler'>;

/** Services and slices as an agent before this one knew them. */
export interface KnownServices {
  readonly services: readonly Service[];
  readonly slices: readonly EndpointSlice[];
}

export interface ServiceFeedOptions {
  /** With `namespaceIndex`. */
  readonly services: Source<Service>;
  /** With `sliceIndex`. */
  readonly slices: Source<EndpointSlice>;
  /** This node's. */
  readonly pods: Source<Pod>;
  setTable(key: string, service: TableService | undefined): void;
  applyNames(changes: readonly NamesChange[]): void;
  /** Some Service or slice is another one now. */
  changed(): void;
}

/** Tells the node's table and resolver what Services, slices and this node's pods are, each change as it comes. */
export class ServiceFeed {
  readonly #options: ServiceFeedOptions;
  /**
   * In use until both informers have synced. Until then their changes wait: Services that come before their slices
   * would seem to have no endpoints.
   */
  #kept: KnownServices | undefined;

  constructor(options: ServiceFeedOptions) {
    this.#options = options;
  }

  /** Begins with what an agent before knew, because the server does not answer. */
  useKept(kept: KnownServices): void {
    this.#kept = kept;
    const slices = createIndexer<EndpointSlice>(sliceIndex);
    for (const slice of kept.slices) slices.set(slice);
    for (const service of kept.services) {
      const key = objectKey(service);
      this.#options.setTable(key, tableServiceOf(service, slices.byIndex('service', key)));
    }
    this.#options.applyNames([this.snapshot()]);
  }

  /** Both informers have synced: what they have is all there is. */
  synced(): void {
    const kept = this.#kept;
    if (kept === undefined) return;
    this.#kept = undefined;
    const { services, applyNames } = this.#options;
    for (const key of new Set([...kept.services, ...services.lister.list()].map(objectKey))) this.#setTable(key);
    applyNames([this.snapshot()]);
  }

  known(): KnownServices {
    const { services, slices } = this.#options;
    return this.#kept ?? { services: services.lister.list(), slices: slices.lister.list() };
  }

  servicesIn(namespace: string): readonly Service[] {
    const kept = this.#kept?.services.filter(({ metadata }) => metadata?.namespace === namespace);
    return kept ?? this.#options.services.lister.byIndex('namespace', namespace);
  }

  /** For a resolver that starts. */
  snapshot(): NamesSnapshot {
    const { services, slices } = this.known();
    const headless = new Set(services.filter(isHeadless).map(objectKey));
    return {
      kind: 'snapshot',
      services: services.map(serviceViewOf),
      slices: slices.flatMap((slice) => (headless.has(serviceOfSlice(slice) ?? '') && sliceViewOf(slice)) || []),
      pods: this.#options.pods.lister.list().flatMap((pod) => podViewOf(pod) ?? []),
    };
  }

  /** Follows the informers until the returned function is called. */
  follow(): () => void {
    const { services, slices, pods, applyNames } = this.#options;
    const setService = (service: Service, old?: Service): void => {
      if (this.#kept) return;
      this.#setTable(objectKey(service));
      applyNames([{ kind: 'set-service', service: serviceViewOf(service) }, ...this.#sliceNames(service, old)]);
    };
    const setPod = (pod: Pod): void => {
      const view = podViewOf(pod);
      applyNames([view ? { kind: 'set-pod', pod: view } : { kind: 'delete-pod', pod: nameOf(pod) }]);
    };
    const leave = [
      services.addHandler({
        name: 'services',
        onAdd: setService,
        onUpdate: setService,
        onDelete: (service) => {
          if (this.#kept) return;
          this.#setTable(objectKey(service));
          applyNames([{ kind: 'delete-service', service: nameOf(service) }, ...this.#sliceNames(undefined, service)]);
        },
      }),
      slices.addHandler({
        name: 'services',
        onAdd: (slice) => this.#changeSlice(slice),
        onUpdate: (slice, old) => this.#changeSlice(slice, old),
        onDelete: (slice) => this.#changeSlice(undefined, slice),
      }),
      pods.addHandler({
        name: 'services',
        onAdd: setPod,
        onUpdate: (pod, old) => {
          if (JSON.stringify(podViewOf(pod)) !== JSON.stringify(podViewOf(old))) setPod(pod);
        },
        onDelete: (pod) => applyNames([{ kind: 'delete-pod', pod: nameOf(pod) }]),
      }),
    ];
    return () => {
      for (const each of leave) each();
    };
  }

  #changeSlice(next: EndpointSlice | undefined, old?: EndpointSlice): void {
    if (this.#kept) return;
    const { applyNames } = this.#options;
    const services = new Set([next, old].flatMap((slice) => (slice && serviceOfSlice(slice)) ?? []));
    for (const key of services) this.#setTable(key);
    const view = next && this.#hasNames(next) ? sliceViewOf(next) : undefined;
    if (view) applyNames([{ kind: 'set-slice', slice: view }]);
    else if (old && this.#hasNames(old)) applyNames([{ kind: 'delete-slice', slice: nameOf(old) }]);
  }

  /** Only the slices of headless Services bring names: the resolver need not hear of the others. */
  #hasNames(slice: EndpointSlice): boolean {
    const service = this.#options.services.lister.get(serviceOfSlice(slice) ?? '');
    return service !== undefined && isHeadless(service);
  }

  /** A Service that is headless from now on brings its slices along, and takes them with it when it is so no more. */
  #sliceNames(service: Service | undefined, old: Service | undefined): NamesChange[] {
    const [is, was] = [service !== undefined && isHeadless(service), old !== undefined && isHeadless(old)];
    if (is === was) return [];
    const slices = this.#options.slices.lister.byIndex('service', objectKey((service ?? old)!));
    if (!is) return slices.map((slice) => ({ kind: 'delete-slice', slice: nameOf(slice) }));
    return slices.flatMap((slice) => {
      const view = sliceViewOf(slice);
      return view ? [{ kind: 'set-slice', slice: view }] : [];
    });
  }

  #setTable(key: string): void {
    const { services, slices, setTable, changed } = this.#options;
    const service = services.lister.get(key);
    setTable(key, service && tableServiceOf(service, slices.lister.byIndex('service', key)));
    changed();
  }
}

const isHeadless = ({ spec }: Service): boolean => spec?.clusterIPs?.includes('None') ?? spec?.clusterIP === 'None';

function nameOf(object: Service | EndpointSlice | Pod): { readonly namespace: string; readonly name: string } {
  const { namespace = '', name } = splitKey(objectKey(object));
  return { namespace, name };
}

/** A pod with an address of its own. */
function podViewOf(pod: Pod): PodView | undefined {
  const { podIP = '', podIPs = [{ ip: podIP }] } = pod.status ?? {};
  const addresses = podIPs.flatMap(({ ip }) => ip || []);
  if (addresses.length === 0 || pod.spec?.hostNetwork === true || isFinished(pod)) return undefined;
  return { ...nameOf(pod), addresses };
}
