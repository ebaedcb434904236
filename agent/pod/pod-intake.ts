import type { Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isStaticUid } from '../../api/kinds/pod/static-pods.ts';
import type { Clock } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { WorkQueue } from '../../client/work-queue/work-queue.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { differs, unblockChanged, wantsChanged } from './changes.ts';
import { isEvictable } from './early-end.ts';
import { sortByPod } from './observation.ts';
import { allSeenAt } from './own-clock.ts';
import type { PodEvents } from './pod-events.ts';
import { type Ending, isLeaving } from './pod-lifecycle.ts';
import { advance, createRecord, demandKill, graceOf, type PodRecord, type SyncedSources } from './pod-record.ts';
import { type PodReport, transientMs } from './pod-report.ts';
import type { PodTable } from './pod-table.ts';

/** Writes wishes and hints into the records, and wakes the pods' workers. Callable at any time; nothing here throws. */
export interface PodIntake {
  /** The API has the pod, bound to this node, in this state; or a file describes it. */
  update(pod: Pod): void;
  /** The API has it no more, or the file. It ends within its grace period, but at most so long; 2 s unless said. */
  removed(pod: Pod, mostGraceSeconds?: number): void;
  /** Something happened to a container of the pod. */
  wake(podUid: string): void;
  /** Ends a pod that runs, for a reason of this node's, and fails it. One that is ending anyway keeps its own end. */
  evict(podUid: string, why: Ending): void;
  /** The health of its containers changed: publish it at once and decide anew, without a call of the engine. */
  look(podUid: string): void;
  /**
   * Everything the engine has, listed again: pods that differ are woken, and containers of unknown pods are swept.
   * `sinceMs` is when the list was asked for. The first time that the API's pods are known an agent that starts again
   * takes over what runs; until then none of them is touched.
   */
  relist(all: readonly ObservedContainer[], sinceMs: number, synced: SyncedSources): void;
}

export interface PodIntakeOptions {
  readonly table: PodTable;
  readonly queue: Pick<WorkQueue, 'add' | 'addAfter'>;
  readonly report: Pick<PodReport, 'publish' | 'repeat'>;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the pod's worker is in a step, which may wait long: for a pull, or for the end of a container. */
  isInStep(podUid: string): boolean;
}

/** The engine tells of one thing in several events; a look after the last of them sees all. */
const hintDelayMs = 100;
/** A running pod that is removed from the API has no grace period; its containers get a moment all the same. */
const forcedGraceSeconds = 2;

export function createPodIntake(options: PodIntakeOptions): PodIntake {
  return new RecordIntake(options);
}

class RecordIntake implements PodIntake {
  readonly #options: PodIntakeOptions;

  constructor(options: PodIntakeOptions) {
    this.#options = options;
  }

  update(pod: Pod): void {
    const { table, queue, report } = this.#options;
    const uid = pod.metadata?.uid ?? '';
    const record = table.get(uid) ?? createRecord(uid, pod);
    const before = record.pod;
    table.set(record);
    record.pod = pod;
    if (pod.metadata?.deletionTimestamp !== undefined) demandKill(record, { type: 'delete', gracePeriodSeconds: graceOf(pod) });
    if (before !== undefined) unblockChanged(record, before, pod);
    if (before === undefined || before === pod || wantsChanged(before, pod)) queue.add(uid);
    // Only the status changed: if another writer changed it, ours is due again; if we did, nothing comes of it.
    else if (!isLeaving(record.life) && !isFinished(pod)) report.repeat(record, transientMs);
  }

  removed(pod: Pod, mostGraceSeconds = forcedGraceSeconds): void {
    const record = this.#options.table.get(pod.metadata?.uid ?? '');
    if (record === undefined) return;
    demandKill(record, { type: 'vanish', gracePeriodSeconds: Math.min(graceOf(pod), mostGraceSeconds) });
    this.#options.queue.add(record.uid);
  }

  wake(podUid: string): void {
    const record = this.#options.table.get(podUid);
    if (record === undefined) return;
    advance(record, { type: 'hint' });
    this.#options.queue.addAfter(podUid, hintDelayMs);
  }

  evict(podUid: string, why: Ending): void {
    const { table, queue, events } = this.#options;
    const record = table.get(podUid);
    if (record === undefined || !isEvictable(record)) return;
    advance(record, { type: 'end', why });
    events(record.pod, 'Warning', why.reason, why.message);
    record.interrupt.abort();
    queue.add(podUid);
  }

  look(podUid: string): void {
    const { table, queue, report, isInStep } = this.#options;
    const record = table.get(podUid);
    if (record === undefined) return;
    queue.add(podUid);
    // Health is published at once, whatever the worker waits for.
    const { life } = record;
    if ((isInStep(podUid) || isLeaving(life)) && life.type !== 'released') report.publish(record, 0);
  }

  relist(all: readonly ObservedContainer[], sinceMs: number, synced: SyncedSources): void {
    const { table, queue } = this.#options;
    table.forgetLeft(sinceMs);
    const byPod = sortByPod(all);
    for (const [uid, containers] of byPod) {
      const hasSynced = isStaticUid(uid) ? synced.files : synced.api;
      if (hasSynced && !table.isKnown(uid)) this.#adoptOrphan(uid, containers);
    }
    for (const record of table.all()) {
      const isOwn = isStaticUid(record.uid);
      if (!isOwn && !synced.api) continue;
      const seen = byPod.get(record.uid) ?? new Map<string, ObservedContainer>();
      const takesOver = !table.isListed && !isOwn;
      if (!takesOver && !differs(record.containers, seen)) continue;
      if (takesOver) this.#takeOver(record, seen);
      else advance(record, { type: 'hint' });
      queue.add(record.uid);
    }
    table.isListed ||= synced.api;
  }

  /** Before any pod is worked on: what runs keeps its resources before new pods are admitted. */
  #takeOver(record: PodRecord, seen: Map<string, ObservedContainer>): void {
    record.containers = allSeenAt(this.#options.clock.now(), seen.values(), record.containers);
    const runs = seen.size > 0 || record.status?.phase === 'Running';
    if (runs && record.pod !== undefined) advance(record, { type: 'admit' });
  }

  #adoptOrphan(uid: string, containers: Map<string, ObservedContainer>): void {
    const { table, queue, clock, logger } = this.#options;
    const record = createRecord(uid, undefined);
    record.containers = allSeenAt(clock.now(), containers.values(), record.containers);
    table.set(record);
    const [first] = containers.values();
    logger.info(
      { pod: `${first?.podNamespace}/${first?.podName}`, uid, containers: containers.size },
      'removing the containers of a pod that neither the API nor a file has',
    );
    queue.add(uid);
  }
}
