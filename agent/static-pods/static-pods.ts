import type { Pod } from '../../api/generated/types.ts';
import { isMirror, isStaticUid } from '../../api/kinds/pod/static-pods.ts';
import { objectKey } from '../../api/meta/key.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { EventRecorder } from '../../client/events/events.ts';
import type { Logger } from '../../client/logger.ts';
import { createWorkQueue, type WorkQueue } from '../../client/work-queue/work-queue.ts';
import type { PodWorkers } from '../pod/pod-workers.ts';
import { complaintOf, computeKnown, type KnownFiles, podsIn } from './compute-known.ts';
import { withMirror } from './decide-mirror.ts';
import type { ManifestFolder } from './folder.ts';
import { readManifest } from './manifest.ts';
import { createMirrors, type Mirrors, type MirrorsOptions } from './mirrors.ts';

/** The pods that files on this machine describe: they run without the API server, which is shown mirrors of them. */
export interface StaticPods {
  /** Whether there may be any: a folder was named. */
  readonly enabled: boolean;
  /**
   * Reads the files and passes their pods to the pod workers. Never throws: unreadable files are reported and change
   * nothing.
   */
  look(): Promise<void>;
  /**
   * Whether every file could be read since the agent started:
   * then a static pod that no file describes is none any more.
   */
  isKnown(): boolean;
  /** The API has another mirror than before, or none. */
  mirrorChanged(mirror: Pod): void;
  /** A pod has ended and left nothing. */
  gone(podUid: string): void;
  /** The mirror of a static pod, as the API has it. */
  mirrorOf(pod: Pod): Pod | undefined;
  /** The uid under which this machine knows a pod of the API. */
  uidHere(apiUid: string): string;
  /** Follows the files until aborted. */
  run(signal: AbortSignal): Promise<void>;
  /** Keeps the mirrors until aborted. Call it once the API's pods are known. */
  keepMirrors(signal: AbortSignal): Promise<void>;
}

export interface StaticPodsOptions extends Omit<MirrorsOptions, 'wanted' | 'isKnown' | 'record'> {
  /** Where the manifests are; undefined: this machine has none. */
  readonly folder: ManifestFolder | undefined;
  readonly nodeName: string;
  readonly workers: Pick<PodWorkers, 'update' | 'removed' | 'get'>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Kubernetes' figure: what the machine does not tell is found by looking. */
const lookMs = 20_000;
/** An editor changes a file in several steps. */
const settleMs = 200;
/** How soon a folder is followed again that was moved or is not there. */
const followMs = 2_000;

export function createStaticPods(options: StaticPodsOptions): StaticPods {
  return new StaticPodWorker(options);
}

class StaticPodWorker implements StaticPods {
  readonly #options: StaticPodsOptions;
  readonly #looks: WorkQueue;
  #files: KnownFiles = new Map();
  #wanted: ReadonlyMap<string, Pod> = new Map();
  #isKnown: boolean;
  /** The last reported problem, by file. */
  readonly #told = new Map<string, string>();
  readonly #mirrors: Mirrors;
  readonly enabled: boolean;
  readonly mirrorOf: (pod: Pod) => Pod | undefined;
  readonly uidHere: (apiUid: string) => string;

  constructor(options: StaticPodsOptions) {
    this.#options = options;
    this.#looks = createWorkQueue({ name: 'static-pods', clock: options.clock, logger: options.logger });
    this.#isKnown = options.folder === undefined;
    this.#mirrors = createMirrors({
      ...options,
      wanted: () => this.#wanted,
      isKnown: () => this.#isKnown,
      record: options.workers.get,
    });
    this.enabled = options.folder !== undefined;
    this.mirrorOf = this.#mirrors.of;
    this.uidHere = this.#mirrors.uidHere;
  }

  async look(): Promise<void> {
    const { folder, logger, nodeName, clock } = this.#options;
    if (folder === undefined) return;
    let found: Awaited<ReturnType<ManifestFolder['read']>>;
    try {
      found = await folder.read();
    } catch (err) {
      logger.error({ err }, 'cannot read the folder of static pods, those that run go on; will retry');
      return;
    }
    const read = (text: string, file: string) => readManifest(text, { file, nodeName, seenMs: clock.now() });
    const before = this.#files;
    this.#files = computeKnown(found, before, read);
    this.#tell(before);
    this.#isKnown ||= [...this.#files.values()].every(({ pod, problems }) => pod !== undefined || problems.length === 0);
    this.#want(new Map(podsIn(this.#files).map((pod) => [objectKey(pod), pod])));
  }

  isKnown(): boolean {
    return this.#isKnown;
  }

  mirrorChanged(mirror: Pod): void {
    const key = objectKey(mirror);
    const pod = this.#wanted.get(key);
    if (pod !== undefined && this.#options.workers.get(pod.metadata?.uid ?? '') !== undefined)
      this.#options.workers.update(withMirror(pod, this.#mirrors.of(pod)));
    this.#mirrors.seen(key);
  }

  gone(podUid: string): void {
    if (!isStaticUid(podUid)) return;
    for (const pod of this.#wanted.values()) this.#begin(pod);
    this.#mirrors.wakeAll();
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#options.folder === undefined) return;
    await Promise.all([this.#looks.run(1, () => this.look(), signal), this.#follow(signal), this.#every(signal)]);
  }

  async keepMirrors(signal: AbortSignal): Promise<void> {
    this.#mirrors.wakeAll();
    await this.#mirrors.run(signal);
  }

  #tell(before: KnownFiles): void {
    const { logger, nodeName, events } = this.#options;
    for (const file of this.#told.keys()) if (!this.#files.has(file)) this.#told.delete(file);
    for (const [file, known] of this.#files) {
      for (const warning of before.get(file) === known ? [] : known.warnings) logger.warn({ file }, warning);
      const complaint = complaintOf(file, known);
      if (complaint === undefined) this.#told.delete(file);
      else if (this.#told.get(file) !== complaint) {
        this.#told.set(file, complaint);
        logger.error({ file }, complaint);
        const node = { kind: 'Node', apiVersion: 'v1', name: nodeName, uid: nodeName };
        events.event(node, 'Warning', 'InvalidStaticPod', complaint);
      }
    }
  }

  #want(next: ReadonlyMap<string, Pod>): void {
    const { logger, workers } = this.#options;
    const before = this.#wanted;
    this.#wanted = next;
    for (const [key, pod] of before) {
      if (next.get(key) === pod) continue;
      logger.info({ pod: key, uid: pod.metadata?.uid }, 'a static pod ends: its file was changed or removed');
      workers.removed(pod, Number.POSITIVE_INFINITY);
    }
    for (const [key, pod] of next) {
      if (before.get(key) !== pod) logger.info({ pod: key, uid: pod.metadata?.uid }, 'a static pod begins');
      this.#begin(pod);
    }
    this.#mirrors.wakeAll();
  }

  /** One that is still ending, because its file went and came back, begins when that is over. */
  #begin(pod: Pod): void {
    if (this.#options.workers.get(pod.metadata?.uid ?? '') === undefined)
      this.#options.workers.update(withMirror(pod, this.#mirrors.of(pod)));
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { folder, clock } = this.#options;
    while (folder !== undefined && !signal.aborted) {
      await folder.follow(() => this.#looks.addAfter('files', settleMs), signal);
      await pause(followMs, signal, clock);
    }
  }

  async #every(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(lookMs, signal, this.#options.clock);
      this.#looks.add('files');
    }
  }
}

/** Routes each pod of the API to the pod workers, or, if it is a mirror, to the mirror keeper. */
export function podHandler({ workers, statics, changed }: PodHandlerOptions) {
  const add = (pod: Pod) => (isMirror(pod) ? statics.mirrorChanged(pod) : workers.update(pod));
  const remove = (pod: Pod) => (isMirror(pod) ? statics.mirrorChanged(pod) : workers.removed(pod));
  return {
    name: 'pod-workers',
    onAdd: add,
    onUpdate(next: Pod, old: Pod) {
      // The same name with another uid is another pod: the old one went unobserved.
      if (next.metadata?.uid !== old.metadata?.uid) remove(old);
      add(next);
      if (!isMirror(next)) changed(next, old);
    },
    onDelete: remove,
  };
}

interface PodHandlerOptions {
  readonly workers: Pick<PodWorkers, 'update' | 'removed'>;
  readonly statics: Pick<StaticPods, 'mirrorChanged'>;
  changed(next: Pod, old: Pod): void;
}
