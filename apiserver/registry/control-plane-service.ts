import type { Logger } from 'pino';
import { isAlreadyExists, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Service, ServiceSpec } from '../../api/generated/types.ts';
import { controlPlaneService } from '../../api/meta/control-plane.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { pause, type StorageClock, systemStorageClock } from '../storage/clock.ts';
import type { AnyObject } from './any-object.ts';
import { cloneObject } from './clone-object.ts';
import { createObject } from './create.ts';
import type { KindStore } from './kind-store.ts';
import { nextVersion } from './next-version.ts';
import type { Registry } from './registry.ts';
import { serverContext } from './server-context.ts';

/** Kubernetes' labels of the same Service there. */
const labels = { component: 'apiserver', provider: 'berth' } as const;

/** After a write, so that another writer of the Service and this one do not keep the server busy. */
const paceMs = 1_000;
const mostRetryMs = 60_000;

const at = { namespace: controlPlaneService.namespace, name: controlPlaneService.name };

export interface ControlPlaneServiceOptions {
  readonly registry: Registry;
  /** The first address of the range of Services. */
  readonly address: string;
  /** Where the server listens. */
  readonly port: number;
  readonly clock?: StorageClock;
  readonly log: Logger;
}

/**
 * What is to be done with the Service that is stored. Pure. One that stood there before Berth kept one (`foreignUid`)
 * is its user's. The address of a Service cannot change, so one with another is made anew.
 */
export function decideControlPlaneService(
  stored: Service | undefined,
  wanted: ServiceSpec,
  foreignUid: string | undefined,
): 'nothing' | 'foreign' | 'create' | 'change' | 'replace' {
  if (stored === undefined) return 'create';
  const { metadata = {}, spec = {} } = stored;
  if (foreignUid !== undefined && metadata.uid === foreignUid) return 'foreign';
  if (metadata.deletionTimestamp || !equalValues(spec.clusterIPs, wanted.clusterIPs)) return 'replace';
  const hasLabels = Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value);
  return hasLabels && equalValues(spec, wanted) ? 'nothing' : 'change';
}

/** Complete, so that it can be compared with what is stored. */
export function controlPlaneSpec(address: string, port: number): ServiceSpec {
  const { portName: name, port: servicePort } = controlPlaneService;
  return {
    ...{ type: 'ClusterIP', clusterIP: address, clusterIPs: [address], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    ports: [{ name, protocol: 'TCP', port: servicePort, targetPort: { type: 0, intVal: port } }],
    ...{ sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' },
  };
}

/** Keeps the Service of the control plane: made when it is missing, restored when it is deleted or its spec changes. */
export class ControlPlaneService {
  readonly #options: ControlPlaneServiceOptions;
  readonly #store: KindStore | undefined;
  readonly #wanted: ServiceSpec;
  #foreignUid: string | undefined;
  #hasToldForeign = false;

  constructor(options: ControlPlaneServiceOptions) {
    this.#options = options;
    this.#store = options.registry.stores.get('Service');
    this.#wanted = controlPlaneSpec(options.address, options.port);
  }

  /** Before the server serves, so that clients find it there. What fails is left to `run`. */
  async begin(): Promise<void> {
    try {
      const stored = await this.#read();
      if (stored && !isOwn(stored, this.#options.address)) this.#foreignUid = stored.metadata?.uid;
      await this.#sync();
    } catch (error) {
      this.#warn(error);
    }
  }

  /** Until aborted. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    const { clock = systemStorageClock } = this.#options;
    let wake = (): void => {};
    let isDue = true;
    const notice = (): void => {
      isDue = true;
      wake();
    };
    const key = store.key(at);
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
    const entry = await this.#store?.read(at);
    return entry && (this.#store?.cache.decoder.decode(entry) as Service);
  }

  /** Whether anything was written. Also false when another write came between, which is an event of its own. */
  async #sync(): Promise<boolean> {
    const store = this.#store;
    if (store === undefined) return false;
    const stored = await this.#read();
    const step = decideControlPlaneService(stored, this.#wanted, this.#foreignUid);
    if (step === 'foreign') this.#tellForeign();
    if (step === 'nothing' || step === 'foreign') return false;
    try {
      if (step === 'change')
        await store.change(at, { context: serverContext, verb: 'update', compute: (it) => this.#next(store, it) });
      if (step === 'replace') {
        const resourceVersion = stored?.metadata?.resourceVersion;
        await store.change(at, { context: serverContext, verb: 'delete', resourceVersion, compute: () => 'remove' as const });
      }
      if (step === 'create' || step === 'replace') await this.#create(store);
    } catch (error) {
      if (isNotFound(error) || isConflict(error) || isAlreadyExists(error)) return false;
      throw error;
    }
    this.#options.log.info({ service: at, step }, 'the Service of the control plane is in place');
    return true;
  }

  #next(store: KindStore, previous: AnyObject): AnyObject {
    const next = cloneObject(previous) as AnyObject & Service;
    next.metadata = { ...next.metadata, labels: { ...next.metadata?.labels, ...labels } };
    next.spec = structuredClone(this.#wanted);
    return nextVersion(store, 'object', next, previous);
  }

  async #create(store: KindStore): Promise<void> {
    const take = () => ({ metadata: { ...at, labels: { ...labels } }, spec: structuredClone(this.#wanted) }) as AnyObject;
    await createObject(store, this.#options.registry.admission, { ...serverContext, take });
  }

  #tellForeign(): void {
    if (this.#hasToldForeign) return;
    this.#hasToldForeign = true;
    this.#options.log.warn(
      { service: at },
      'a Service of yours has the name of the control plane: rename it, so that pods reach the API',
    );
  }

  #warn(error: unknown): void {
    this.#options.log.warn({ err: error, service: at }, 'cannot keep the Service of the control plane: trying again');
  }
}

/** Berth's, also of another range of addresses. The first address is proof without a label: others do not get it. */
function isOwn({ metadata, spec }: Service, address: string): boolean {
  return spec?.clusterIP === address || metadata?.labels?.provider === labels.provider;
}
