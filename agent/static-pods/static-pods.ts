import type { Pod } from '../../api/generated/types.ts';
import { isMirror, isStaticUid } from '../../api/kinds/pod/static-pods.ts';
import { objectKey } from '../../api/meta/key.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { EventRecorder } from '../../client/events/events.ts';
import type { Logger } from '../../client/logger.ts';
import { createWorkQueue } from '../../client/work-queue/work-queue.ts';
import type { PodWorkers } from '../pod/pod-workers.ts';
import { complaintOf, computeKnown, type KnownFiles, podsIn } from './compute-known.ts';
import { withMirror } from './decide-mirror.ts';
import type { ManifestFolder } from './folder.ts';
import { readManifest } from './manifest.ts';
import { createMirrors, type MirrorsOptions } from './mirrors.ts';

/** The pods that files on this machine describe: they run without the API server, which is shown mirrors of them. */
export interface StaticPods {
  /** Whether there may be any: a folder was named. */
  readonly enabled: boolean;
  /** Looks at the files and hands what they say to the pod workers. Never throws: what cannot be read is told, and changes nothing. */
  look(): Promise<void>;
  /** Whether every file could be read since the agent started: then a static pod that no file describes is none any more. */
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
  const { folder, nodeName, workers, events, clock, logger } = options;
  const looks = createWorkQueue({ name: 'static-pods', clock, logger });
  let files: KnownFiles = new Map();
  let wanted: ReadonlyMap<string, Pod> = new Map();
  let isKnown = folder === undefined;
  /** What was told last, by file. */
  const told = new Map<string, string>();
  const mirrors = createMirrors({ ...options, wanted: () => wanted, isKnown: () => isKnown, record: workers.get });

  async function look(): Promise<void> {
    if (folder === undefined) return;
    let found: Awaited<ReturnType<ManifestFolder['read']>>;
    try {
      found = await folder.read();
    } catch (err) {
      logger.error({ err }, 'cannot read the folder of static pods, those that run go on; will retry');
      return;
    }
    const read = (text: string, file: string) => readManifest(text, { file, nodeName, seenMs: clock.now() });
    const before = files;
    files = computeKnown(found, before, read);
    tell(before);
    isKnown ||= [...files.values()].every(({ pod, problems }) => pod !== undefined || problems.length === 0);
    want(new Map(podsIn(files).map((pod) => [objectKey(pod), pod])));
  }

  function tell(before: KnownFiles): void {
    for (const file of told.keys()) if (!files.has(file)) told.delete(file);
    for (const [file, known] of files) {
      for (const warning of before.get(file) === known ? [] : known.warnings) logger.warn({ file }, warning);
      const complaint = complaintOf(file, known);
      if (complaint === undefined) told.delete(file);
      else if (told.get(file) !== complaint) {
        told.set(file, complaint);
        logger.error({ file }, complaint);
        const node = { kind: 'Node', apiVersion: 'v1', name: nodeName, uid: nodeName };
        events.event(node, 'Warning', 'InvalidStaticPod', complaint);
      }
    }
  }

  function want(next: ReadonlyMap<string, Pod>): void {
    const before = wanted;
    wanted = next;
    for (const [key, pod] of before) {
      if (next.get(key) === pod) continue;
      logger.info({ pod: key, uid: pod.metadata?.uid }, 'a static pod ends: its file was changed or removed');
      workers.removed(pod, Number.POSITIVE_INFINITY);
    }
    for (const [key, pod] of next) {
      if (before.get(key) !== pod) logger.info({ pod: key, uid: pod.metadata?.uid }, 'a static pod begins');
      begin(pod);
    }
    mirrors.wakeAll();
  }

  /** One that is still ending, because its file went and came back, begins when that is over. */
  function begin(pod: Pod): void {
    if (workers.get(pod.metadata?.uid ?? '') === undefined) workers.update(withMirror(pod, mirrors.of(pod)));
  }

  async function follow(signal: AbortSignal): Promise<void> {
    while (folder !== undefined && !signal.aborted) {
      await folder.follow(() => looks.addAfter('files', settleMs), signal);
      await pause(followMs, signal, clock);
    }
  }

  async function every(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(lookMs, signal, clock);
      looks.add('files');
    }
  }

  return {
    enabled: folder !== undefined,
    look,
    isKnown: () => isKnown,
    mirrorChanged(mirror) {
      const key = objectKey(mirror);
      const pod = wanted.get(key);
      if (pod !== undefined && workers.get(pod.metadata?.uid ?? '') !== undefined)
        workers.update(withMirror(pod, mirrors.of(pod)));
      mirrors.seen(key);
    },
    gone(podUid) {
      if (!isStaticUid(podUid)) return;
      for (const pod of wanted.values()) begin(pod);
      mirrors.wakeAll();
    },
    mirrorOf: mirrors.of,
    uidHere: mirrors.uidHere,
    async run(signal) {
      if (folder === undefined) return;
      await Promise.all([looks.run(1, look, signal), follow(signal), every(signal)]);
    },
    async keepMirrors(signal) {
      mirrors.wakeAll();
      await mirrors.run(signal);
    },
  };
}

/** Sends each pod of the API where it belongs: to the workers, or, if it only shows a static pod, to those who keep it. */
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
