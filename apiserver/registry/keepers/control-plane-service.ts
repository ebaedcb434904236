import type { Logger } from 'pino';
import { isAlreadyExists, isConflict, isNotFound } from '../../../api/errors/index.ts';
import type { Service, ServiceSpec } from '../../../api/generated/types.ts';
import type { controlPlaneService, kubernetesService } from '../../../api/meta/control-plane.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import { pause, type StorageClock, systemStorageClock } from '../../storage/clock.ts';
import type { Entry } from '../../watch/entry.ts';
import type { AnyObject } from '../any-object.ts';
import { cloneObject } from '../clone-object.ts';
import { createObject } from '../create.ts';
import type { KindStore } from '../kind-store.ts';
import { nextVersion } from '../next-version.ts';
import type { Registry } from '../registry.ts';
import { serverContext } from '../server-context.ts';

/** After a write, so that another writer of the Service and this one do not keep the server busy. */
const paceMs = 1_000;
const mostRetryMs = 60_000;

/** One of the two, each of which leads to a door of the server. */
type NamedService = typeof controlPlaneService | typeof kubernetesService;

export interface ControlPlaneServiceOptions {
  readonly registry: Registry;
  readonly service: NamedService;
  /** Which it has in the range of Services. */
  readonly address: string;
  /** Called with the Service's address where another one holds `address`. Absent: it has that or none. */
  readonly onOtherAddress?: ((address: string) => Promise<unknown>) | undefined;
  /** Where the server listens; undefined: nowhere, and the Service is removed. */
  readonly port: number | undefined;
  readonly clock?: StorageClock;
  readonly log: Logger;
}

/** Kubernetes' labels of its own one. */
const labelsOf = ({ name }: NamedService): Readonly<Record<string, string>> => ({ component: 'apiserver', provider: name });

/**
 * What is to be done with the Service that is stored; `wanted` is undefined while the server has no such door. Pure.
 * One that stood there before Berth kept one (`foreignUid`) is its user's. The address of a Service cannot change, so
 * one with another is made anew.
 */
export function decideControlPlaneService(
  stored: Service | undefined,
  wanted: ServiceSpec | undefined,
  service: NamedService,
  foreignUid: string | undefined,
): 'nothing' | 'foreign' | 'create' | 'change' | 'replace' | 'remove' {
  if (stored === undefined) return wanted === undefined ? 'nothing' : 'create';
  const { metadata = {}, spec = {} } = stored;
  const isForeign = foreignUid !== undefined && metadata.uid === foreignUid;
  if (wanted === undefined) return isForeign ? 'nothing' : 'remove';
  if (isForeign) return 'foreign';
  if (metadata.deletionTimestamp || !equalValues(spec.clusterIPs, wanted.clusterIPs)) return 'replace';
  const hasLabels = Object.entries(labelsOf(service)).every(([key, value]) => metadata.labels?.[key] === value);
  return hasLabels && equalValues(spec, wanted) ? 'nothing' : 'change';
}

/** Complete, so that it can be compared with what is stored. */
export function controlPlaneSpec(
  { portName: name, port: servicePort }: NamedService,
  address: string,
  port: number,
): ServiceSpec {
  return {
    ...{ type: 'ClusterIP', clusterIP: address, clusterIPs: [address], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    ports: [{ name, protocol: 'TCP', port: servicePort, targetPort: { type: 0, intVal: port } }],
    ...{ sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' },
  };
}

/** Keeps a Service of the control plane: made when it is missing, restored when it is deleted or its spec changes. */
export class ControlPlaneService {
  readonly #options: ControlPlaneServiceOptions;
  readonly #store: KindStore | undefined;
  readonly #at: { readonly namespace: string; readonly name: string };
  #wanted: ServiceSpec | undefined;
  #foreignUid: string | undefined;
  #hasToldForeign = false;

  constructor(options: ControlPlaneServiceOptions) {
    this.#options = options;
    this.#store = options.registry.stores.get('Service');
    const { service, address, port } = options;
    this.#at = { namespace: service.namespace, name: service.name };
    this.#wanted = port === undefined ? undefined : controlPlaneSpec(service, address, port);
  }

  /** Before the server serves, so that clients find it there. What fails is left to `run`. */
  async begin(): Promise<void> {
    try {
      const stored = await this.#read();
      if (stored && !this.#isOwn(stored)) this.#foreignUid = stored.metadata?.uid;
      else this.#avoidTaken(stored);
      if (!(await this.#sync())) await this.#tellOtherAddress();
    } catch (error) {
      this.#warn(error);
    }
  }

  /** Until aborted. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const store = this.#store;
    if (store === undefined || this.#wanted === undefined) return;
    const { clock = systemStorageClock } = this.#options;
    let wake = (): void => {};
    let isDue = true;
    const notice = (): void => {
      isDue = true;
      wake();
    };
    const key = store.key(this.#at);
    const leave = store.cache.observe({ reset: notice, event: ({ entry }) => entry.key === key && notice() });
    signal.addEventListener('abort', notice, { once: true });
    let retryMs = paceMs;
    try {
      while (!signal.aborted) {
        if (!isDue) await new Promise<void>((resolve) => (wake = resolve));
        if (signal.aborted) return;
        isDue = false;
        try {
          if (await this.#sync()) await pause(paceMs, clock, signal);
          retryMs = paceMs;
        } catch (error) {
          isDue = true;
          this.#warn(error);
          await pause(retryMs, clock, signal);
          retryMs = Math.min(2 * retryMs, mostRetryMs);
        }
      }
    } finally {
      leave();
      signal.removeEventListener('abort', notice);
    }
  }

  async #read(): Promise<Service | undefined> {
    const entry = await this.#store?.read(this.#at);
    return entry && (this.#store?.cache.decoder.decode(entry) as Service);
  }

  /** Whether anything was written. Also false when another write came between, which is an event of its own. */
  async #sync(): Promise<boolean> {
    const store = this.#store;
    if (store === undefined) return false;
    const stored = await this.#read();
    const step = decideControlPlaneService(stored, this.#wanted, this.#options.service, this.#foreignUid);
    if (step === 'foreign') this.#tellForeign();
    if (step === 'nothing' || step === 'foreign') return false;
    const at = this.#at;
    try {
      if (step === 'change')
        await store.change(at, { context: serverContext, verb: 'update', compute: (it) => this.#next(store, it) });
      if (step === 'replace' || step === 'remove') {
        const resourceVersion = stored?.metadata?.resourceVersion;
        await store.change(at, { context: serverContext, verb: 'delete', resourceVersion, compute: () => 'remove' as const });
      }
      if (step === 'create' || step === 'replace') await this.#create(store);
    } catch (error) {
      if (isNotFound(error) || isConflict(error) || isAlreadyExists(error)) return false;
      throw error;
    }
    this.#options.log.info(
      { service: at, step },
      `the Service of the control plane is ${step === 'remove' ? 'away' : 'in place'}`,
    );
    await this.#tellOtherAddress();
    return true;
  }

  /** In a store from before the address was kept for it, another Service may have it, and goes on with it. */
  #avoidTaken(stored: Service | undefined): void {
    const { address, onOtherAddress } = this.#options;
    const [store, wanted] = [this.#store, this.#wanted];
    const { clusterIP: own } = stored?.spec ?? {};
    if (onOtherAddress === undefined || store === undefined || wanted === undefined || own === address) return;
    const holds = (entry: Entry): boolean => (store.cache.decoder.decode(entry) as Service).spec?.clusterIP === address;
    if (store.cache.range(store.keyPrefix).some(holds)) this.#wanted = withAddress(wanted, own);
  }

  async #tellOtherAddress(): Promise<void> {
    const { address, onOtherAddress } = this.#options;
    if (onOtherAddress === undefined || this.#wanted === undefined || this.#wanted.clusterIP === address) return;
    const { clusterIP } = (await this.#read())?.spec ?? {};
    if (!clusterIP) return;
    this.#wanted = withAddress(this.#wanted, clusterIP);
    await onOtherAddress(clusterIP);
  }

  #next(store: KindStore, previous: AnyObject): AnyObject {
    const next = cloneObject(previous) as AnyObject & Service;
    next.metadata = { ...next.metadata, labels: { ...next.metadata?.labels, ...labelsOf(this.#options.service) } };
    next.spec = structuredClone(this.#wanted);
    return nextVersion(store, 'object', next, previous);
  }

  async #create(store: KindStore): Promise<void> {
    const take = () =>
      ({
        metadata: { ...this.#at, labels: { ...labelsOf(this.#options.service) } },
        spec: structuredClone(this.#wanted),
      }) as AnyObject;
    await createObject(store, this.#options.registry.admission, { ...serverContext, take });
  }

  #tellForeign(): void {
    if (this.#hasToldForeign) return;
    this.#hasToldForeign = true;
    this.#options.log.warn(
      { service: this.#at },
      'a Service of yours has the name of the control plane: rename it, so that pods reach the API',
    );
  }

  #warn(error: unknown): void {
    this.#options.log.warn({ err: error, service: this.#at }, 'cannot keep the Service of the control plane: trying again');
  }

  /**
   * Berth's, also of another range of addresses. The address is proof without a label: others do not get it, unless
   * they had it before it was kept.
   */
  #isOwn({ metadata, spec }: Service): boolean {
    return spec?.clusterIP === this.#options.address || metadata?.labels?.provider === this.#options.service.name;
  }
}

/** Without an address, the allocator chooses one. */
function withAddress({ clusterIP: _, clusterIPs: __, ...spec }: ServiceSpec, address: string | undefined): ServiceSpec {
  return address ? { ...spec, clusterIP: address, clusterIPs: [address] } : spec;
}
