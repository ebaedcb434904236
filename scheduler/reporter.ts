import { isConflict, isNotFound } from '../api/errors/index.ts';
import type { Pod, PodCondition } from '../api/generated/types.ts';
import { findCondition, setCondition } from '../api/meta/conditions.ts';
import { secondsTimestamp, toRfc3339 } from '../api/meta/time.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import {
  type Clock,
  createEventRecorder,
  createWorkQueue,
  type EventRecorder,
  type EventRecorderOptions,
  type Informer,
  type Lister,
  type Logger,
  type PodClient,
  referenceTo,
  type WorkQueue,
} from '../client/index.ts';
import type { PodInfo } from './framework/pod-info.ts';

/**
 * Tells people what became of a pod: in its PodScheduled condition and in events.
 * Never throws and never makes the caller wait.
 */
export interface Reporter {
  /**
   * Drops what waits to be written about the pod and resolves when a write under way has ended. Called before binding,
   * so that "not scheduled" cannot overwrite what the binding says.
   */
  hush(pod: PodInfo): Promise<void>;
  /**
   * `at`: when the binding was asked for, in milliseconds since 1970. What the agent then did is later,
   * even when its answer came first.
   */
  bound(pod: PodInfo, nodeName: string, at: number): void;
  notBound(pod: PodInfo, report: Report): void;
  /** The room that was being made for the pod is another's. */
  notNominated(pod: PodInfo): void;
  /** The victim is deleted for the preemptor's sake. */
  preempted(victim: PodInfo, by: Preemption): void;
  /** Writes conditions until aborted. */
  run(signal: AbortSignal): Promise<void>;
}

/** For whom a victim goes. */
export interface Preemption {
  readonly preemptor: PodInfo;
  readonly nodeName: string;
  /** The victim's disruption budget does not allow it. */
  readonly isAgainstBudget: boolean;
}

export interface Report {
  /** Unschedulable: no node fits. SchedulerError: the attempt failed by accident. */
  readonly reason: 'Unschedulable' | 'SchedulerError';
  readonly message: string;
  /** Where room is being made for the pod; "" for nowhere; absent: what was said before holds. */
  readonly nominatedNodeName?: string | undefined;
}

export interface ReporterOptions {
  readonly pods: Pick<PodClient, 'patch'>;
  /** The pods as the watch last told of them. */
  readonly cached: Pick<Informer<Pod>, 'shows'> & { readonly lister: Pick<Lister<Pod>, 'get'> };
  readonly events: EventRecorderOptions['client'];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: MetricsRegistry;
}

/** After another writer came first: by then the watch has told what is there now. */
const retryMs = 200;
/** How long the watch usually takes, at most, to deliver a write. */
const echoMs = 1_000;
/** Enough to keep up with a burst of unschedulable pods without starving the bindings. */
const workers = 8;

interface Wanted {
  readonly pod: PodInfo;
  readonly condition: PodCondition | undefined;
  readonly nominatedNodeName: string | undefined;
}

interface Written extends Wanted {
  readonly resourceVersion: string;
}

/**
 * Conditions go through a queue by pod, so the latest wins and a failing write is tried again; what the pod already
 * says is not written. A write is based on the version last seen: where the pod was bound meanwhile, by another
 * scheduler or with an answer that was lost, it must not say otherwise. Until the watch delivers a write, later reports
 * are compared with that write: the next attempt may come before a slow watch.
 */
export function createReporter(options: ReporterOptions): Reporter {
  return new ConditionReporter(options);
}

class ConditionReporter implements Reporter {
  readonly #options: ReporterOptions;
  /** By the profile's name: an event's source is the scheduler that the pod asks for, as in Kubernetes. */
  readonly #recorders = new Map<string, EventRecorder>();
  readonly #queue: WorkQueue;
  readonly #wanted = new Map<string, Wanted>();
  readonly #writing = new Map<string, Promise<unknown>>();
  /** Writes that the watch has not delivered yet, by the pod's uid. */
  readonly #written = new Map<string, Written>();

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#queue = createWorkQueue({
      name: 'scheduler conditions',
      clock: options.clock,
      logger: options.logger,
      metrics: options.metrics,
    });
  }

  /** As many as there are profiles: only their pods come here. */
  #recorderOf({ pod }: PodInfo): EventRecorder {
    const component = pod.spec?.schedulerName ?? '';
    const { events: client, clock, logger } = this.#options;
    const recorder = this.#recorders.get(component) ?? createEventRecorder({ client, component, clock, logger });
    this.#recorders.set(component, recorder);
    return recorder;
  }

  async hush({ uid }: PodInfo): Promise<void> {
    this.#wanted.delete(uid);
    await this.#writing.get(uid);
  }

  bound(pod: PodInfo, nodeName: string, at: number): void {
    this.#recorderOf(pod).event(
      referenceTo('Pod', pod.pod),
      'Normal',
      'Scheduled',
      `Successfully assigned ${pod.key} to ${nodeName}`,
      at,
    );
  }

  notBound(pod: PodInfo, { reason, message, nominatedNodeName: said }: Report): void {
    const waiting = this.#latest(pod.uid);
    const known = waiting?.condition ?? findCondition(pod.pod.status?.conditions, 'PodScheduled');
    const before = waiting?.nominatedNodeName ?? pod.pod.status?.nominatedNodeName ?? '';
    const nominatedNodeName = said === undefined || said === before ? waiting?.nominatedNodeName : said;
    const isKnown = known?.status === 'False' && known.reason === reason && known.message === message;
    if (isKnown && nominatedNodeName === waiting?.nominatedNodeName) return;
    const { generation: observedGeneration } = pod.pod.metadata ?? {};
    const conditions = setCondition(
      pod.pod.status?.conditions,
      { type: 'PodScheduled', status: 'False', reason, message, ...(observedGeneration && { observedGeneration }) },
      secondsTimestamp(new Date(this.#options.clock.now())),
    );
    this.#wanted.set(pod.uid, { pod, condition: findCondition(conditions, 'PodScheduled')!, nominatedNodeName });
    this.#queue.add(pod.uid);
    if (!isKnown) this.#recorderOf(pod).event(referenceTo('Pod', pod.pod), 'Warning', 'FailedScheduling', message);
  }

  notNominated(pod: PodInfo): void {
    this.#wanted.set(pod.uid, { pod, condition: this.#latest(pod.uid)?.condition, nominatedNodeName: '' });
    this.#queue.add(pod.uid);
  }

  preempted({ pod }: PodInfo, by: Preemption): void {
    this.#recorderOf(by.preemptor).event(referenceTo('Pod', pod), 'Normal', 'Preempted', wordPreemption(pod, by));
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#queue.run(workers, (key, signal) => this.#write(key, signal), signal);
    await Promise.all([...this.#recorders.values()].map((recorder) => recorder.flush()));
  }

  #latest(uid: string): Wanted | undefined {
    return this.#wanted.get(uid) ?? this.#undelivered(uid);
  }

  #undelivered(uid: string): Written | undefined {
    const written = this.#written.get(uid);
    if (!written || !this.#options.cached.shows(written.resourceVersion)) return written;
    this.#written.delete(uid);
    return undefined;
  }

  async #write(key: string, signal: AbortSignal): Promise<void> {
    const next = this.#wanted.get(key);
    if (!next) {
      if (this.#undelivered(key)) this.#queue.addAfter(key, echoMs);
      return;
    }
    const found = this.#options.cached.lister.get(next.pod.key);
    if (found?.metadata?.uid !== next.pod.uid || found.spec?.nodeName) {
      this.#wanted.delete(key);
      return;
    }
    try {
      const call = this.#patch(found, next, signal);
      this.#writing.set(
        key,
        call.catch(() => {}),
      );
      const { metadata } = await call;
      this.#written.set(key, { ...next, resourceVersion: metadata?.resourceVersion ?? '' });
      this.#queue.addAfter(key, echoMs);
    } catch (error) {
      if (isConflict(error)) {
        this.#queue.addAfter(key, retryMs);
        return;
      }
      if (!isNotFound(error)) throw error;
    } finally {
      this.#writing.delete(key);
    }
    if (this.#wanted.get(key) === next) this.#wanted.delete(key);
  }

  #patch({ metadata = {} }: Pod, next: Wanted, signal: AbortSignal): Promise<Pod> {
    const { namespace, name = '', uid, resourceVersion } = metadata;
    const status = { ...(next.condition && { conditions: [conditionJson(next.condition)] }), ...nominated(next) };
    return this.#options.pods.patch(
      { namespace, name, subresource: 'status', type: 'strategic' },
      { metadata: { uid, resourceVersion }, status },
      {},
      { signal },
    );
  }
}

/** Events of one namespace do not reveal the names of pods of another. */
function wordPreemption({ metadata }: Pod, { preemptor, nodeName, isAgainstBudget }: Preemption): string {
  const isNear = preemptor.pod.metadata?.namespace === metadata?.namespace;
  const who = isNear ? `${preemptor.key} (${preemptor.uid})` : `${preemptor.uid} of another namespace`;
  const though = isAgainstBudget ? ', against its disruption budget, because there was no other way' : '';
  return `Preempted by pod ${who} on node ${nodeName}${though}`;
}

function nominated({ nominatedNodeName }: Wanted): { nominatedNodeName?: string | null } {
  return nominatedNodeName === undefined ? {} : { nominatedNodeName: nominatedNodeName || null };
}

function conditionJson({ lastTransitionTime, ...condition }: PodCondition): object {
  return { ...condition, ...(lastTransitionTime ? { lastTransitionTime: toRfc3339(lastTransitionTime) } : {}) };
}
