import type { ContainerStatus, Pod, PodStatus } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import type { Amounts } from '../../api/kinds/pod/resources.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Clock } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import { createWorkQueue } from '../../client/work-queue.ts';
import { agentMetrics } from '../metrics.ts';
import type { ContainerRuntime, ObservedContainer } from '../runtime/runtime.ts';
import { computeStatus } from '../status/compute-status.ts';
import type { StatusWriter } from '../status/status-writer.ts';
import { decideAdmission } from './admission.ts';
import { computeActions, type Plan } from './compute-actions.ts';
import { observe, readySandbox } from './observation.ts';
import type { PodEvents } from './pod-events.ts';
import { createRecord, demandKill, graceOf, type PodRecord, waitingOf } from './pod-record.ts';
import { specHash } from './spec-hash.ts';
import type { Starter } from './start-containers.ts';
import type { Stopper } from './stop-containers.ts';

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
  readonly allocatable: Readonly<Amounts>;
}

/**
 * One worker for each pod, by uid: wishes and hints come in at any time, the newest wish is worked on, one step after the other. What
 * is handed in before `run` waits. Nothing here throws; a step that fails is tried again with back-off.
 */
export interface PodWorkers {
  /** The API has the pod, bound to this node, in this state. */
  update(pod: Pod): void;
  /** The API has it no more. */
  removed(pod: Pod): void;
  /** Something happened to a container of the pod. */
  wake(podUid: string): void;
  /**
   * Everything the engine has, listed again: pods that differ are woken, and containers of pods that nobody knows are swept. Call it only
   * once the API's pods are known; `sinceMs` is when the list was asked for. The first time it is where an agent that starts again takes over what runs.
   */
  relist(all: readonly ObservedContainer[], sinceMs: number): void;
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
/** Steps in a row without looking whether somebody else waits. */
const maxSteps = 5;
/** Whoever takes a pod that runs out of the API asked for no grace period at all; its containers get a moment all the same. */
const forcedGraceSeconds = 2;
/** How soon a pod that does not fit looks again while others are still leaving. */
const roomCheckMs = 500;

export function createPodWorkers(options: PodWorkersOptions): PodWorkers {
  const { runtime, starter, stopper, clock, logger, metrics = new MetricsRegistry() } = options;
  const syncs = metrics.histogram(agentMetrics.syncs).with();
  const records = new Map<string, PodRecord>();
  const queue = createWorkQueue({ name: 'pods', backoff: { initialMs: 200, maxMs: 10_000 }, clock, logger, metrics });
  /** Pods that are gone for good, and since when: a list that was on its way meanwhile may still show them. */
  const left = new Map<string, number>();
  let listed = false;

  function update(pod: Pod): void {
    const uid = pod.metadata?.uid ?? '';
    const record = records.get(uid) ?? createRecord(uid, pod);
    const before = record.pod;
    records.set(uid, record);
    record.pod = pod;
    if (pod.metadata?.deletionTimestamp !== undefined) demandKill(record, graceOf(pod));
    if (before !== undefined) unblockChanged(record, before, pod);
    if (before === undefined || before === pod || wantsChanged(before, pod)) queue.add(uid);
    // Only the status changed: if somebody else wrote it, ours is due again; if we did, nothing comes of it.
    else if (record.status !== undefined && record.kill === undefined && !isFinished(pod))
      options.status.set(pod, record.status, transientMs);
  }

  function removed(pod: Pod): void {
    const record = records.get(pod.metadata?.uid ?? '');
    if (record === undefined) return;
    record.gone = true;
    demandKill(record, Math.min(graceOf(pod), forcedGraceSeconds));
    queue.add(record.uid);
  }

  function relist(all: readonly ObservedContainer[], sinceMs: number): void {
    for (const [uid, at] of left) if (at < sinceMs) left.delete(uid);
    const byPod = new Map<string, Map<string, ObservedContainer>>();
    for (const container of all) {
      const group = byPod.get(container.podUid) ?? new Map<string, ObservedContainer>();
      byPod.set(container.podUid, group.set(container.id, container));
    }
    for (const [uid, containers] of byPod) {
      if (!records.has(uid) && !left.has(uid)) adoptOrphan(uid, containers);
    }
    for (const record of records.values()) {
      const seen = byPod.get(record.uid) ?? new Map<string, ObservedContainer>();
      if (listed && !differs(record.containers, seen)) continue;
      if (!listed) record.containers = seen;
      else record.stale = true;
      queue.add(record.uid);
    }
    listed = true;
  }

  function adoptOrphan(uid: string, containers: Map<string, ObservedContainer>): void {
    const record = createRecord(uid, undefined);
    record.containers = containers;
    records.set(uid, record);
    const [first] = containers.values();
    logger.info(
      { pod: `${first?.podNamespace}/${first?.podName}`, uid, containers: containers.size },
      'sweeping a pod that the API does not have',
    );
    queue.add(uid);
  }

  async function measuredStep(uid: string): Promise<void> {
    const beganAt = clock.now();
    try {
      await step(uid);
    } finally {
      syncs.observe((clock.now() - beganAt) / 1000);
    }
  }

  async function step(uid: string): Promise<void> {
    const record = records.get(uid);
    if (record === undefined) return;
    if (record.stale) await refresh(record);
    for (let count = 0; count < maxSteps; count++) {
      record.interrupt = new AbortController();
      if (!admit(record)) return queue.addAfter(uid, roomCheckMs);
      const plan = plans(record);
      if ((await walk(record, plan)) === 'done') return;
    }
    queue.add(uid);
  }

  async function refresh(record: PodRecord): Promise<void> {
    record.stale = false;
    try {
      record.containers = new Map((await runtime.list(record.uid)).map((container) => [container.id, container]));
    } catch (error) {
      record.stale = true;
      throw error;
    }
  }

  function plans(record: PodRecord): Plan {
    return computeActions(record.pod, observe(record.containers.values()), clock.now(), {
      kill: record.kill,
      finished: record.refused !== undefined,
      notBefore: (name) => record.blocked.get(name)?.notBefore,
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
    left.set(record.uid, clock.now());
    options.status.forget(record.uid);
    return 'done';
  }

  async function finish(record: PodRecord, plan: Extract<Plan, { type: 'finish' }>): Promise<'done' | 'again'> {
    publish(record, 0);
    await stopper.removeAll(record, plan.remove);
    if (plan.stop.length === 0) return 'done';
    await stopper.stopAll(record, plan.stop, record.pod === undefined ? 0 : graceOf(record.pod));
    await refresh(record);
    return 'again';
  }

  async function sync(record: PodRecord, plan: Extract<Plan, { type: 'sync' }>): Promise<'done' | 'again'> {
    const { actions, wakeAt } = plan;
    const of = <T extends (typeof actions)[number]['type']>(type: T) =>
      actions.filter((action): action is Extract<(typeof actions)[number], { type: T }> => action.type === type);
    const starts = of('run-container');
    const begins = () => publish(record, transientMs);
    // A pod that waits for its turn is Pending, as the API server made it: nothing is to be said of it yet.
    if (starts.length === 0) publish(record, 0);
    else if (record.containers.size > 0) begins();
    if (wakeAt !== undefined) wakeLater(record, wakeAt);
    if (actions.length === 0 || record.pod === undefined) return 'done';
    const { pod } = record;
    for (const { container, why } of of('stop-container')) options.events(pod, 'Normal', 'Killing', why, container.containerName);
    const stops = of('stop-container').map((action) => action.container);
    if (!(await stopper.stopAll(record, stops, graceOf(pod)))) return 'again';
    const removals = of('remove-container').map((action) => action.container);
    // One that was created and never started holds the name of the one that comes next.
    await stopper.removeAll(
      record,
      removals.filter((container) => container.state === 'created'),
    );
    const sandbox = of('run-sandbox')[0] ?? readySandbox(observe(record.containers.values()));
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

  /** False while it does not fit but others are still leaving. Pods whose containers are there already were admitted before. */
  function admit(record: PodRecord): boolean {
    const { pod } = record;
    if (record.admitted || record.refused !== undefined || record.kill !== undefined || pod === undefined || isFinished(pod))
      return true;
    const others = [...records.values()].filter((other) => other !== record && holdsRoom(other));
    const refusal =
      record.containers.size > 0
        ? undefined
        : decideAdmission(
            pod,
            others.map((other) => other.pod!),
            options.allocatable,
          );
    if (refusal !== undefined && others.some((other) => other.kill !== undefined)) return false;
    record.refused = refusal;
    record.admitted = refusal === undefined;
    if (refusal !== undefined) options.events(pod, 'Warning', refusal.reason, refusal.message);
    return true;
  }

  function publish(record: PodRecord, delayMs: number): void {
    const { pod } = record;
    if (pod === undefined || record.gone) return;
    // What ended before this agent knew it, and left nothing here, was said by whoever ended it.
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
    return computeStatus({
      pod,
      previous: record.status ?? pod.status,
      observed: observe(record.containers.values()),
      nowMs,
      hostIP: options.hostIP,
      killing: record.kill !== undefined,
      refused: record.refused,
      waiting: (name) => waitingOf(record, name, nowMs),
    });
  }

  return {
    update,
    removed,
    relist,
    wake(podUid) {
      const record = records.get(podUid);
      if (record === undefined) return;
      record.stale = true;
      queue.addAfter(podUid, hintDelayMs);
    },
    records: () => records.values(),
    get: (podUid) => records.get(podUid),
    run: (signal) => queue.run(workers, measuredStep, signal),
  };
}

/** Whether the room it takes on the node is still taken. */
function holdsRoom(record: PodRecord): boolean {
  return record.pod !== undefined && record.admitted && !record.released && !isFinished(record.pod) && !hasEnded(record.status);
}

function hasEnded(status: PodStatus | undefined): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** The containers that wait after a crash now and did not before, or not for this restart. */
function newCrashLoops(before: PodStatus | undefined, after: PodStatus): string[] {
  const waits = (status: ContainerStatus | undefined) => status?.state?.waiting?.reason === 'CrashLoopBackOff';
  const known = new Map((before?.containerStatuses ?? []).map((status) => [status.name, status]));
  return (after.containerStatuses ?? []).flatMap((status) => {
    const last = known.get(status.name);
    return waits(status) && !(waits(last) && last?.restartCount === status.restartCount) ? [status.name ?? ''] : [];
  });
}

/** A container whose image was changed is another one: what kept the old one waiting says nothing about it. */
function unblockChanged(record: PodRecord, before: Pod, after: Pod): void {
  if (record.blocked.size === 0) return;
  const hashes = new Map((before.spec?.containers ?? []).map((container) => [container.name, specHash(container)]));
  for (const container of after.spec?.containers ?? [])
    if (hashes.get(container.name) !== specHash(container)) record.blocked.delete(container.name ?? '');
}

/** Whether anything changed that a worker acts on; not so the status, which is the agent's own work. */
function wantsChanged(before: Pod, after: Pod): boolean {
  const [a, b] = [before.metadata ?? {}, after.metadata ?? {}];
  if (
    a.deletionTimestamp?.seconds !== b.deletionTimestamp?.seconds ||
    a.deletionGracePeriodSeconds !== b.deletionGracePeriodSeconds
  )
    return true;
  if (isFinished(before) !== isFinished(after)) return true;
  return JSON.stringify(before.spec) !== JSON.stringify(after.spec);
}

/** Whether the engine has something else than was thought. */
function differs(known: ReadonlyMap<string, ObservedContainer>, seen: ReadonlyMap<string, ObservedContainer>): boolean {
  if (known.size !== seen.size) return true;
  for (const [id, container] of seen) if (known.get(id)?.state !== container.state) return true;
  return false;
}
