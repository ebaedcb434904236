import type { Pod, PodStatus } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isStaticUid } from '../../api/kinds/pod/static-pods.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Clock } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import { createWorkQueue } from '../../client/work-queue/work-queue.ts';
import { agentMetrics } from '../metrics.ts';
import { type ContainerRuntime, type ObservedContainer, sandboxName } from '../runtime/runtime.ts';
import { computeStatus } from '../status/compute-status.ts';
import { withResizeStatus } from '../status/resize-status.ts';
import type { StatusWriter } from '../status/status-writer.ts';
import type { Admit } from './admit.ts';
import type { BackOff } from './back-off.ts';
import { waitingOf } from './blocked.ts';
import { differs, newCrashLoops, unblockChanged, wantsChanged } from './changes.ts';
import { computeActions } from './compute-actions.ts';
import { interruptAtDeadline } from './deadline.ts';
import { decideDeadline, isEvictable } from './early-end.ts';
import type { HealthKeeper } from './health.ts';
import { observe, readySandbox, sortByPod } from './observation.ts';
import { allSeenAt } from './own-clock.ts';
import type { Plan } from './plan.ts';
import type { PodEvents } from './pod-events.ts';
import { departureOf, type Ending, endingOf, isAdmitted, isGone, isLeaving, refusalOf } from './pod-lifecycle.ts';
import { advance, createRecord, deadlineOf, demandKill, graceOf, type PodRecord, type SyncedSources } from './pod-record.ts';
import type { Resizer } from './resize.ts';
import { givenPod } from './room.ts';
import type { Starter } from './start-containers.ts';
import type { Stopper } from './stop-containers.ts';
import type { TerminationMessages } from './termination-messages.ts';

export interface PodWorkersOptions {
  readonly runtime: Pick<ContainerRuntime, 'list'>;
  readonly starter: Starter;
  readonly stopper: Stopper;
  readonly status: Pick<StatusWriter, 'set' | 'forget'>;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: MetricsRegistry;
  readonly hostIP: string;
  readonly admit: Admit;
  readonly health: HealthKeeper;
  readonly backOff: BackOff;
  readonly resizer: Resizer;
  readonly messages: Pick<TerminationMessages, 'collect'>;
  /** Told when a pod has ended and nothing is left of it. */
  gone?(podUid: string): void;
}

/**
 * One worker for each pod, by uid: wishes and hints come in at any time, the newest wish is worked on, one step after the other. What
 * is handed in before `run` waits. Nothing here throws; a step that fails is tried again with back-off.
 */
export interface PodWorkers {
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
   * Everything the engine has, listed again: pods that differ are woken, and containers of unknown pods are swept. `sinceMs` is when the
   * list was asked for. The first time that the API's pods are known an agent that starts again takes over what runs; until then none of them is touched.
   */
  relist(all: readonly ObservedContainer[], sinceMs: number, synced: SyncedSources): void;
  records(): Iterable<PodRecord>;
  get(podUid: string): PodRecord | undefined;
  run(signal: AbortSignal): Promise<void>;
}

/** As many as a node may have pods, and some: a worker that waits for a grace period or a pull must not keep another pod waiting. */
const workers = 256;
/** The engine tells of one thing in several events; a look after the last of them sees all. */
const hintDelayMs = 100;
/** A status that says "about to start" is worth a write only when that takes long. */
const transientMs = 2_500;
/** Steps of one pod before others have their turn. */
const maxSteps = 5;
/** A running pod that is removed from the API has no grace period; its containers get a moment all the same. */
const forcedGraceSeconds = 2;
/** How soon a pod that does not fit looks again while others are still leaving. */
const roomCheckMs = 500;

export function createPodWorkers(options: PodWorkersOptions): PodWorkers {
  const { runtime, starter, stopper, resizer, clock, logger, metrics = new MetricsRegistry() } = options;
  const syncs = metrics.histogram(agentMetrics.syncs).with();
  const records = new Map<string, PodRecord>();
  const queue = createWorkQueue({ name: 'pods', backoff: { initialMs: 200, maxMs: 10_000 }, clock, logger, metrics });
  /** Pods that are gone for good, and since when: a list that was on its way meanwhile may still show them. */
  const left = new Map<string, number>();
  /** The pods whose worker is in a step, which may wait long: for a pull, or for the end of a container. */
  const inStep = new Set<string>();
  let listed = false;

  function update(pod: Pod): void {
    const uid = pod.metadata?.uid ?? '';
    const record = records.get(uid) ?? createRecord(uid, pod);
    const before = record.pod;
    records.set(uid, record);
    record.pod = pod;
    if (pod.metadata?.deletionTimestamp !== undefined) demandKill(record, { type: 'delete', gracePeriodSeconds: graceOf(pod) });
    if (before !== undefined) unblockChanged(record, before, pod);
    if (before === undefined || before === pod || wantsChanged(before, pod)) queue.add(uid);
    // Only the status changed: if another writer changed it, ours is due again; if we did, nothing comes of it.
    else if (record.status !== undefined && !isLeaving(record.life) && !isFinished(pod))
      options.status.set(pod, record.status, transientMs);
  }

  function removed(pod: Pod, mostGraceSeconds = forcedGraceSeconds): void {
    const record = records.get(pod.metadata?.uid ?? '');
    if (record === undefined) return;
    demandKill(record, { type: 'vanish', gracePeriodSeconds: Math.min(graceOf(pod), mostGraceSeconds) });
    queue.add(record.uid);
  }

  function relist(all: readonly ObservedContainer[], sinceMs: number, synced: SyncedSources): void {
    for (const [uid, at] of left) if (at < sinceMs) left.delete(uid);
    const byPod = sortByPod(all);
    for (const [uid, containers] of byPod) {
      const isKnown = isStaticUid(uid) ? synced.files : synced.api;
      if (isKnown && !records.has(uid) && !left.has(uid)) adoptOrphan(uid, containers);
    }
    for (const record of records.values()) {
      const isOwn = isStaticUid(record.uid);
      if (!isOwn && !synced.api) continue;
      const seen = byPod.get(record.uid) ?? new Map<string, ObservedContainer>();
      const takesOver = !listed && !isOwn;
      if (!takesOver && !differs(record.containers, seen)) continue;
      if (takesOver) takeOver(record, seen);
      else advance(record, { type: 'hint' });
      queue.add(record.uid);
    }
    listed ||= synced.api;
  }

  /** Before any pod is worked on: what runs keeps its resources before new pods are admitted. */
  function takeOver(record: PodRecord, seen: Map<string, ObservedContainer>): void {
    record.containers = allSeenAt(clock.now(), seen.values(), record.containers);
    const runs = seen.size > 0 || record.status?.phase === 'Running';
    if (runs && record.pod !== undefined) advance(record, { type: 'admit' });
  }

  function adoptOrphan(uid: string, containers: Map<string, ObservedContainer>): void {
    const record = createRecord(uid, undefined);
    record.containers = allSeenAt(clock.now(), containers.values(), record.containers);
    records.set(uid, record);
    const [first] = containers.values();
    logger.info(
      { pod: `${first?.podNamespace}/${first?.podName}`, uid, containers: containers.size },
      'sweeping a pod that nobody asks for',
    );
    queue.add(uid);
  }

  async function measuredStep(uid: string): Promise<void> {
    const beganAt = clock.now();
    inStep.add(uid);
    try {
      await step(uid);
    } finally {
      inStep.delete(uid);
      syncs.observe((clock.now() - beganAt) / 1000);
    }
  }

  async function step(uid: string): Promise<void> {
    const record = records.get(uid);
    // What runs of the API's pods has to be known first, or it would run twice.
    if (record === undefined || !(listed || isStaticUid(uid))) return;
    if (record.life.isStale) await refresh(record);
    for (let count = 0; count < maxSteps; count++) {
      await options.messages.collect(record);
      if (!(await options.admit(record, records.values()))) return queue.addAfter(uid, roomCheckMs);
      // From here to the plan without waiting: a wish that comes later interrupts what the plan waits for.
      record.interrupt = new AbortController();
      endOverdue(record);
      if (!isLeaving(record.life) && isAdmitted(record.life)) resizer.allocate(record, records.values());
      const disarm = interruptAtDeadline(record, clock);
      try {
        if ((await walk(record, plans(record))) === 'done') return;
      } finally {
        disarm();
      }
    }
    queue.add(uid);
  }

  /** A pod whose time is over ends; one whose containers ended before that keeps its own end. */
  function endOverdue(record: PodRecord): void {
    const why = decideDeadline(record, clock.now());
    if (why !== undefined) end(record, why);
  }

  function end(record: PodRecord, why: Ending, type: 'Normal' | 'Warning' = 'Normal'): void {
    advance(record, { type: 'end', why });
    options.events(record.pod, type, why.reason, why.message);
  }

  function evict(podUid: string, why: Ending): void {
    const record = records.get(podUid);
    if (record === undefined || !isEvictable(record)) return;
    end(record, why, 'Warning');
    record.interrupt.abort();
    queue.add(podUid);
  }

  async function refresh(record: PodRecord): Promise<void> {
    advance(record, { type: 'list' });
    try {
      record.containers = allSeenAt(clock.now(), await runtime.list(record.uid), record.containers);
      await options.messages.collect(record);
    } catch (error) {
      advance(record, { type: 'hint' });
      throw error;
    }
  }

  function plans(record: PodRecord): Plan {
    options.health.sync(record);
    return computeActions(givenPod(record), observe(record.containers.values()), clock.now(), {
      kill: departureOf(record.life),
      finished: refusalOf(record.life) !== undefined || endingOf(record.life) !== undefined,
      deadlineAt: deadlineOf(record),
      previous: record.status ?? record.pod?.status,
      notBefore: (name) => record.blocked.get(name)?.notBefore,
      health: options.health,
      backOff: options.backOff,
      sizeChange: (container, running) => resizer.change(record, container, running),
    });
  }

  /** Walks a plan. `again` when the pod has to be looked at anew at once. */
  async function walk(record: PodRecord, plan: Plan): Promise<'done' | 'again'> {
    if (plan.type === 'kill') return kill(record, plan);
    if (plan.type === 'finish') return finish(record, plan);
    return sync(record, plan);
  }

  async function kill(record: PodRecord, plan: Extract<Plan, { type: 'kill' }>): Promise<'done' | 'again'> {
    const finalStatus = () => (record.pod === undefined || isFinished(record.pod) ? undefined : statusOf(record, record.pod));
    options.status.forget(record.uid);
    if (!(await stopper.kill(record, plan, () => refresh(record), finalStatus))) return 'again';
    records.delete(record.uid);
    options.health.forget(record.uid);
    left.set(record.uid, clock.now());
    options.status.forget(record.uid);
    options.gone?.(record.uid);
    for (const other of records.values()) if (other.resize.pending?.reason === 'Deferred') queue.add(other.uid);
    return 'done';
  }

  async function finish(record: PodRecord, plan: Extract<Plan, { type: 'finish' }>): Promise<'done' | 'again'> {
    const { life } = record;
    publish(record, 0);
    await stopper.removeAll(record, plan.remove);
    if (plan.stop.length === 0) {
      // Nothing of it runs again: what its containers wrote to its own volumes is of no use, and takes room.
      if (life.type !== 'finished') await stopper.releaseVolumes(record);
      return 'done';
    }
    const gracePeriodSeconds = endingOf(record.life)?.gracePeriodSeconds ?? (record.pod === undefined ? 0 : graceOf(record.pod));
    for (const { containerName } of plan.stop.map(({ container }) => container)) {
      if (containerName !== sandboxName)
        options.events(record.pod, 'Normal', 'Killing', `Stopping container ${containerName}`, containerName);
    }
    await stopper.stopAll(
      record,
      plan.stop.map((stop) => ({ ...stop, gracePeriodSeconds })),
    );
    await refresh(record);
    return 'again';
  }

  async function sync(record: PodRecord, plan: Extract<Plan, { type: 'sync' }>): Promise<'done' | 'again'> {
    const { actions } = plan;
    resizer.settle(record);
    const wakeAt = Math.min(plan.wakeAt ?? Number.POSITIVE_INFINITY, resizer.wakeAt(record) ?? Number.POSITIVE_INFINITY);
    const of = <T extends (typeof actions)[number]['type']>(type: T) =>
      actions.filter((action): action is Extract<(typeof actions)[number], { type: T }> => action.type === type);
    const starts = of('run-container');
    const begins = () => publish(record, transientMs);
    // A queued pod is Pending, as the API server created it: no status write is needed yet.
    if (starts.length === 0) publish(record, 0);
    else if (record.containers.size > 0) begins();
    if (wakeAt < Number.POSITIVE_INFINITY) wakeLater(record, wakeAt);
    const pod = givenPod(record);
    if (actions.length === 0 || pod === undefined) return 'done';
    // First: a container that is updated in place does not wait for another one's grace period.
    await resizer.update(record, of('update-container'));
    for (const { container, why } of of('stop-container')) options.events(pod, 'Normal', 'Killing', why, container.containerName);
    const stops = of('stop-container');
    const graceSeconds = graceOf(pod);
    const wanted = stops.map((stop) => ({ gracePeriodSeconds: graceSeconds, ...stop, turn: 0 }));
    if (!(await stopper.stopAll(record, wanted))) return 'again';
    const removals = of('remove-container').map((action) => action.container);
    // One that was created and never started holds the name of the one that comes next.
    await stopper.removeAll(
      record,
      removals.filter((container) => container.state === 'created'),
    );
    const sandbox = of('run-sandbox')[0] ?? readySandbox(observe(record.containers.values()));
    if (sandbox !== undefined && 'type' in sandbox && sandbox.attempt > 0)
      options.events(pod, 'Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.');
    const others = removals.filter((container) => container.state !== 'created');
    const work = [stopper.removeAll(record, others)];
    if (sandbox !== undefined && starts.length > 0) work.push(starter.start({ record, pod, sandbox, starts, onBegin: begins }));
    const results = await Promise.allSettled(work);
    if (stops.length > 0) await refresh(record);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return 'again';
  }

  /** Also for the moment when the words for a failure change. */
  function wakeLater(record: PodRecord, wakeAt: number): void {
    const nowMs = clock.now();
    const turns = [...record.blocked.values()].map((blocked) => blocked.laterFrom ?? 0).filter((at) => at > nowMs);
    queue.addAfter(record.uid, Math.max(1, Math.min(wakeAt, ...turns) - nowMs));
  }

  function publish(record: PodRecord, delayMs: number): void {
    const { pod } = record;
    if (pod === undefined || isGone(record.life)) return;
    // What ended before this agent knew it, and left nothing here, was reported by the agent before.
    if (isFinished(pod) && record.containers.size === 0) return;
    const before = record.status;
    record.status = statusOf(record, pod);
    for (const name of newCrashLoops(before, record.status)) {
      const message = `Back-off restarting failed container ${name} in pod ${pod.metadata?.name}_${pod.metadata?.namespace}(${record.uid})`;
      options.events(pod, 'Warning', 'BackOff', message, name);
    }
    options.status.set(pod, record.status, delayMs);
  }

  function statusOf(record: PodRecord, pod: Pod): PodStatus {
    const nowMs = clock.now();
    options.health.sync(record);
    const status = computeStatus({
      pod,
      previous: record.status ?? pod.status,
      observed: observe(record.containers.values()),
      nowMs,
      hostIP: options.hostIP,
      killing: isLeaving(record.life),
      refused: refusalOf(record.life),
      waiting: (name) => waitingOf(record, name, nowMs),
      health: options.health,
      backOff: options.backOff,
      ended: endingOf(record.life),
      messages: record.messages,
    });
    return withResizeStatus(status, record, givenPod(record) ?? pod, nowMs);
  }

  return {
    update,
    removed,
    evict,
    relist,
    wake(podUid) {
      const record = records.get(podUid);
      if (record === undefined) return;
      advance(record, { type: 'hint' });
      queue.addAfter(podUid, hintDelayMs);
    },
    look(podUid) {
      const record = records.get(podUid);
      if (record === undefined) return;
      queue.add(podUid);
      // Health is published at once, whatever the worker waits for.
      const { life } = record;
      if ((inStep.has(podUid) || isLeaving(life)) && life.type !== 'released') publish(record, 0);
    },
    records: () => records.values(),
    get: (podUid) => records.get(podUid),
    async run(signal) {
      await queue.run(workers, measuredStep, signal);
      // Their timers would keep the process alive.
      for (const uid of records.keys()) options.health.forget(uid);
    },
  };
}
