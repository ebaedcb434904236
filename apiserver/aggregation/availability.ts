import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { APIService, APIServiceCondition, Service } from '../../api/generated/types.ts';
import { availableOf } from '../../api/kinds/api-service/meaning.ts';
import { serviceLabels } from '../../api/meta/service-names.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { hasReadyEndpoint } from '../http/proxy/proxy-target.ts';
import type { AnyObject } from '../registry/any-object.ts';
import { cloneObject } from '../registry/clone-object.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { nextVersion } from '../registry/next-version.ts';
import { serverContext } from '../registry/server-context.ts';
import { slicesOf } from '../registry/service-slices.ts';
import { type StorageClock, systemStorageClock } from '../storage/clock.ts';
import { labelsOf, placeOf } from '../watch/entry.ts';
import { askExtension, type ExtensionDeps, extensionFlow } from './extension-server.ts';
import { readResources } from './read-resources.ts';
import type { RemoteGroup, RemoteGroups } from './remote-groups.ts';

export interface AvailabilityOptions extends ExtensionDeps {
  readonly groups: RemoteGroups;
  readonly apiServices: KindStore;
  readonly log: Logger;
  readonly clock?: StorageClock;
}

/** As often as Kubernetes looks. */
const everyMs = 30_000;
/** After a change of something that matters, which rarely comes alone. */
const settleMs = 100;
/** After a failure, doubling up to `everyMs`. */
const retryMs = 1_000;
/** Kubernetes' bound of the check. */
const withinMs = 5_000;
/** Of the list of resources. */
const mostBytes = 1024 * 1024;
const mostMessage = 1_000;
/** Checks under way at once. */
const mostChecks = 8;

/** What was found out: a condition without its time. */
export type Finding = Required<Pick<APIServiceCondition, 'status' | 'reason' | 'message'>>;

/** Finds out which extension servers answer, and says so in the status of their APIServices. */
export class Availability {
  readonly #options: AvailabilityOptions;
  readonly #clock: StorageClock;
  /** When each is looked at next: what cancels that. By the names of the APIServices. */
  readonly #waiting = new Map<string, () => void>();
  readonly #due = new Set<string>();
  readonly #failures = new Map<string, number>();
  /** Looks under way, none of which rejects. */
  readonly #busy = new Map<string, Promise<void>>();
  /** What of them was looked at last. */
  readonly #looked = new Map<string, RemoteGroup['spec']>();
  /** Changed while it was looked at. */
  readonly #again = new Set<string>();

  constructor(options: AvailabilityOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemStorageClock;
  }

  /** Until aborted, and until the writes that it began have ended. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { apiServices, services, slices, groups } = this.#options;
    const leaves: (() => void)[] = [];
    const look = (name: string): void => this.#soon(name, signal);
    const lookAll = (): void => {
      for (const { name } of groups) look(name);
    };
    const lookAtService = (namespace: string, service: string | undefined): void => {
      for (const { name, spec } of groups) if (spec.service.name === service && spec.service.namespace === namespace) look(name);
    };
    leaves.push(
      apiServices.cache.observe({ reset: lookAll, event: ({ entry }) => this.#noteChange(placeOf(entry.key).name, look) }),
      services.cache.observe({
        reset: lookAll,
        event: ({ entry }) => lookAtService(placeOf(entry.key).namespace, placeOf(entry.key).name),
      }),
      slices.cache.observe({
        reset: lookAll,
        event: ({ entry }) => lookAtService(placeOf(entry.key).namespace, labelsOf(entry)[serviceLabels.serviceName]),
      }),
    );
    if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    for (const leave of leaves) leave();
    for (const cancel of this.#waiting.values()) cancel();
    await Promise.all(this.#busy.values());
  }

  /** What this server writes into the status is no reason to look again. */
  #noteChange(name: string, look: (name: string) => void): void {
    const remote = this.#remoteOf(name);
    if (remote && isDeepStrictEqual(remote.spec, this.#looked.get(name))) return;
    this.#looked.delete(name);
    this.#failures.delete(name);
    look(name);
  }

  #remoteOf(name: string): RemoteGroup | undefined {
    const dot = name.indexOf('.');
    return this.#options.groups.find(name.slice(dot + 1), name.slice(0, dot));
  }

  #soon(name: string, signal: AbortSignal): void {
    if (!this.#remoteOf(name)) {
      this.#waiting.get(name)?.();
      this.#waiting.delete(name);
      this.#failures.delete(name);
    } else if (this.#busy.has(name)) this.#again.add(name);
    else this.#later(name, settleMs, signal);
  }

  #later(name: string, ms: number, signal: AbortSignal): void {
    this.#waiting.get(name)?.();
    const begin = (): void => {
      this.#waiting.delete(name);
      this.#due.add(name);
      this.#next(signal);
    };
    this.#waiting.set(name, this.#clock.after(ms, begin));
  }

  #next(signal: AbortSignal): void {
    for (const name of this.#due) {
      if (signal.aborted || this.#busy.size >= mostChecks) return;
      this.#due.delete(name);
      if (this.#busy.has(name)) continue;
      const looking = this.#look(name, signal)
        .catch((error: unknown) => {
          this.#options.log.warn({ err: error, apiService: name }, 'cannot check an extension server: trying again');
          return false;
        })
        .then((isGood) => {
          this.#busy.delete(name);
          if (signal.aborted) return;
          const failures = isGood ? 0 : (this.#failures.get(name) ?? 0) + 1;
          if (this.#remoteOf(name)) {
            this.#failures.set(name, failures);
            const waitMs = isGood ? everyMs : Math.min(everyMs, retryMs * 2 ** (failures - 1));
            this.#later(name, this.#again.delete(name) ? settleMs : waitMs, signal);
          } else this.#failures.delete(name);
          this.#next(signal);
        });
      this.#busy.set(name, looking);
    }
  }

  /** Whether it is available. */
  async #look(name: string, signal: AbortSignal): Promise<boolean> {
    const remote = this.#remoteOf(name);
    if (!remote) return false;
    this.#looked.set(name, remote.spec);
    const finding = await this.#check(remote, signal);
    if (signal.aborted) return false;
    await this.#tell(remote, finding);
    return finding.status === 'True';
  }

  async #check(remote: RemoteGroup, signal: AbortSignal): Promise<Finding> {
    const { groups } = this.#options;
    const missing = await this.#missing(remote);
    if (missing) {
      groups.note(remote, undefined);
      return missing;
    }
    const path = `/apis/${remote.group}/${remote.version}`;
    try {
      const question = { path, accept: 'application/json', withinMs, mostBytes };
      const { code, body } = await askExtension(remote, question, this.#options, { flow: extensionFlow, signal });
      if (code < 200 || code >= 300) throw new Error(`it answered with the status ${code}`);
      groups.note(remote, readResources(body.toString('utf8')) ?? []);
      return { status: 'True', reason: 'Passed', message: 'all checks passed' };
    } catch (error) {
      groups.note(remote, undefined);
      const why = (error as Error).message;
      return failed('FailedDiscoveryCheck', `failing or missing response from ${path}: ${why}`.slice(0, mostMessage));
    }
  }

  /** What of the Service is missing, in Kubernetes' words. */
  async #missing({ spec: { service } }: RemoteGroup): Promise<Finding | undefined> {
    const { services, slices } = this.#options;
    const { namespace = '', name = '', port = 443 } = service;
    const what = `service/${name} in "${namespace}"`;
    const entry = await services.read({ namespace, name });
    if (!entry) return failed('ServiceNotFound', `${what} is not present`);
    const { spec } = services.cache.decoder.decode(entry) as Service;
    const servicePort = spec?.ports?.find((each) => each.port === port);
    if (!servicePort) return failed('ServicePortError', `${what} is not listening on port ${port}`);
    await slices.fresh();
    const own = slicesOf(slices, { namespace, name });
    if (own.length === 0) return failed('EndpointsNotFound', `cannot find endpoints for ${what}`);
    const portName = servicePort.name ?? '';
    if (own.some((each) => hasReadyEndpoint(each, portName))) return undefined;
    return failed('MissingEndpoints', `endpoints for ${what} have no addresses with port name "${portName}"`);
  }

  async #tell({ name }: RemoteGroup, finding: Finding): Promise<void> {
    const { apiServices: store } = this.#options;
    const now = secondsTimestamp(new Date(this.#clock.now()));
    const compute = (previous: AnyObject): AnyObject => {
      const object = cloneObject(previous) as AnyObject & APIService;
      const known = availableOf(object);
      const isSame = known?.status === finding.status;
      const lastTransitionTime = (isSame ? known?.lastTransitionTime : undefined) ?? now;
      const next = { type: 'Available', ...finding, lastTransitionTime };
      // A write that changes nothing is none.
      if (isDeepStrictEqual({ ...known }, next) || !object.spec?.service) return previous;
      const others = (object.status?.conditions ?? []).filter(({ type }) => type !== 'Available');
      object.status = { ...object.status, conditions: [...others, next] };
      return nextVersion(store, 'status', object, previous);
    };
    try {
      await store.change({ namespace: '', name }, { context: serverContext, verb: 'update-status', compute });
    } catch (error) {
      // Gone, or changed meanwhile, which is an event of its own.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

const failed = (reason: string, message: string): Finding => ({ status: 'False', reason, message });
