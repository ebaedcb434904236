import type { Job, JobSpec, JobStatus, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import { asApiError } from '../../client/index.ts';
import { JobController } from '../../controllers/job/controller.ts';
import { IndexSet } from '../../controllers/job/index-set.ts';
import { hasFailed, hasSucceeded, indexOf, isTerminating, isTracked } from '../../controllers/job/job-facts.ts';
import { JobLeftovers } from '../../controllers/job/leftovers.ts';
import { jobPodIndexers } from '../../controllers/job/pods-of-jobs.ts';
import { isActive } from '../../controllers/owned-pods/availability.ts';
import { namespaceIndexers, ownedIndexers } from '../../controllers/owned-pods/pod-index.ts';
import { JobWorld, type Process } from './job-world.ts';

const indexers = { jobs: { ...ownedIndexers, ...namespaceIndexers }, pods: jobPodIndexers };

/** Watches every write, and says what is wrong with it. */
export class Oracle {
  readonly recorded = new Map<string, 'succeeded' | 'failed'>();
  readonly letGo = new Set<string>();
  readonly wrong: string[] = [];
  readonly world: JobWorld;
  /** The most pods that any version of the Job allowed that a controller may still go by. */
  allowed = 0;
  /** Pods of indexes beyond were let go when the Job was smaller. */
  #smallest = Infinity;

  constructor(seed: number) {
    this.world = new JobWorld(seed, {
      created: (pod) => this.#created(pod),
      statusWritten: (next, before) => this.#statusWritten(next, before),
      finalizerOff: (pod) => this.#finalizerOff(pod),
    });
  }

  /** Another parallelism; of a Job with indexes as many indexes. */
  resize(parallelism: number): void {
    this.allowed = Math.max(this.allowed, parallelism);
    this.#smallest = Math.min(this.#smallest, parallelism);
    this.world.changeJob((job) => {
      job.spec = { ...job.spec, parallelism, ...(job.spec?.completionMode === 'Indexed' && { completions: parallelism }) };
    });
  }

  #expect(isRight: boolean, what: string): void {
    if (!isRight) this.wrong.push(what);
  }

  #created(pod: Pod): void {
    const name = pod.metadata?.name;
    const others = this.world.pods().filter((each) => each !== pod && controllerOf(each));
    const { spec, status } = this.world.job();
    const isAwaited = (each: Pod) =>
      spec?.podReplacementPolicy === 'Failed' && isTerminating(each) && !hasFailed(this.world.job(), each);
    const running = others.filter((each) => isActive(each) || isAwaited(each));
    this.#expect(running.length + 1 <= this.allowed, `${name} is one more than ${this.allowed}`);
    this.#expect(isTracked(pod), `${name} is made without its finalizer`);
    const index = indexOf(pod);
    if (index === undefined) return;
    this.#expect(!running.some((each) => indexOf(each) === index), `${name}: the index runs already`);
    this.#expect(!IndexSet.parse(status?.completedIndexes, 1e6).has(index), `${name}: the index has succeeded`);
  }

  #statusWritten(next: Job, before: Job): void {
    const [now, was] = [uidsOf(next.status), uidsOf(before.status)];
    const pods = new Map(this.world.pods().map((pod) => [pod.metadata?.uid ?? '', pod]));
    for (const [uid, how] of now) {
      if (was.has(uid)) continue;
      const pod = pods.get(uid);
      this.#expect(!this.recorded.has(uid), `${uid} is counted twice`);
      this.#expect(pod !== undefined && isTracked(pod), `${uid} is counted after it was let go`);
      const isEnded =
        how === 'succeeded'
          ? hasSucceeded(pod!)
          : pod?.status?.phase === 'Failed' || pod?.metadata?.deletionTimestamp !== undefined;
      this.#expect(isEnded, `${uid} is counted as ${how} and is not`);
      this.recorded.set(uid, how);
    }
    const left = [...was].filter(([uid]) => !now.has(uid));
    for (const [uid] of left) this.#expect(!pods.has(uid) || !isTracked(pods.get(uid)!), `${uid} is counted with its finalizer`);
    const grown = (name: 'succeeded' | 'failed') => (next.status?.[name] ?? 0) - (before.status?.[name] ?? 0);
    const counted = (name: string) => left.filter(([, how]) => how === name).length;
    this.#expect(grown('failed') === counted('failed'), `failed grows by ${grown('failed')}, not ${counted('failed')}`);
    if (next.spec?.completionMode !== 'Indexed')
      this.#expect(grown('succeeded') === counted('succeeded'), 'succeeded grows wrongly');
  }

  #finalizerOff(pod: Pod): void {
    const { uid = '', name } = pod.metadata ?? {};
    const job = this.world.job();
    if (!job || job.metadata?.deletionTimestamp || this.recorded.has(uid)) return;
    const index = indexOf(pod);
    if ((index ?? 0) >= this.#smallest) return;
    const { completedIndexes, failedIndexes } = job.status ?? {};
    if (hasSucceeded(pod) && index !== undefined && IndexSet.parse(`${completedIndexes ?? ''}`, 1e6).has(index)) return;
    if (hasSucceeded(pod) && index !== undefined && IndexSet.parse(`${failedIndexes ?? ''}`, 1e6).has(index)) return;
    const isSettled = job.status?.conditions?.some(({ type }) => type === 'SuccessCriteriaMet') === true;
    const isIgnored = job.spec?.podFailurePolicy !== undefined && pod.status?.phase === 'Failed';
    this.#expect(!isFinished(pod) || isSettled || isIgnored, `${name} has ended and is lost`);
    this.letGo.add(uid);
  }
}

function uidsOf(status: JobStatus | undefined): Map<string, 'succeeded' | 'failed'> {
  const { succeeded = [], failed = [] } = status?.uncountedTerminatedPods ?? {};
  return new Map([...succeeded.map((uid) => [uid, 'succeeded'] as const), ...failed.map((uid) => [uid, 'failed'] as const)]);
}

/** Processes of the controllers, one after the other. */
export class Controllers {
  #process!: Process;
  #job!: JobController;
  #leftovers!: JobLeftovers;
  readonly world: JobWorld;
  starts = 0;

  constructor(world: JobWorld) {
    this.world = world;
    this.start();
  }

  start(): void {
    const { world } = this;
    this.#process = world.start({ jobs: indexers.jobs, pods: indexers.pods });
    const { jobs, pods, podWrites, jobWrites } = this.#process;
    const events = {
      event: (_: unknown, type: string, reason: string, text: string) => void world.events.push(`${type} ${reason}: ${text}`),
    };
    const writer = { resource: () => podWrites };
    const context = { client: { pods: podWrites }, writer, events, clock: world.clock };
    this.#job = new JobController({
      context,
      jobs,
      pods,
      client: jobWrites,
      writes: jobWrites,
      random: world.random.next,
    } as never);
    this.#leftovers = new JobLeftovers({ jobs, pods, client: jobWrites, writes: podWrites, clock: world.clock } as never);
    this.starts++;
  }

  get process(): Process {
    return this.#process;
  }

  /** One look; a process that dies at it is followed by another. */
  async look(): Promise<void> {
    await this.#try(() => this.#job.reconcile('a/work', this.#process.signal));
    if (this.#process.signal.aborted) this.start();
  }

  async sweep(uid: string): Promise<void> {
    await this.#try(() => this.#leftovers.reconcile(`job/a/work/${uid}`, this.#process.signal));
    for (const { metadata } of this.world.pods())
      await this.#try(() => this.#leftovers.reconcile(`pod/a/${metadata?.name}`, this.#process.signal));
    if (this.#process.signal.aborted) this.start();
  }

  async #try(look: () => Promise<unknown>): Promise<void> {
    try {
      await look();
    } catch (error) {
      // The loop looks again after any error; those of other kinds there should not be.
      if (this.#process.signal.aborted || ['ABORTED', 'UNAVAILABLE', 'PERMISSION_DENIED'].includes(asApiError(error)?.code ?? ''))
        return;
      throw error;
    }
  }

  /** The copies catch up: with everything, or with a part. */
  catchUp(isWhole: boolean): void {
    const { world } = this;
    for (const copy of [this.#process.jobs, this.#process.pods])
      if (isWhole || world.random.chance(0.6)) copy.advance(isWhole ? world.revision : world.revision - world.random.int(4));
  }
}

/** Something happens to a pod, as agents, people and the other controllers have it. */
export function happen(world: JobWorld, failing: number): void {
  const pod = world.random.pick(world.pods().filter((each) => !isFinished(each) || each.metadata?.deletionTimestamp));
  if (!pod) return;
  const { random } = world;
  const end = (phase: string) => {
    const exitCode = phase === 'Failed' ? 1 + random.int(3) : 0;
    world.changePod(pod, (next) => {
      next.status = { ...next.status, phase, containerStatuses: [{ name: 'main', state: { terminated: { exitCode } } }] };
    });
  };
  if (pod.metadata?.deletionTimestamp) {
    if (!isFinished(pod) && random.chance(0.6)) end(random.chance(0.3) ? 'Succeeded' : 'Failed');
    else world.deletePod(pod, 0);
  } else if (random.chance(0.05)) world.deletePod(pod, random.chance(0.3) ? 0 : undefined);
  else if (random.chance(0.03)) {
    // The node is gone: the garbage collector of pods says that the pod has failed, and deletes it.
    end('Failed');
    world.deletePod(world.pods().find(({ metadata }) => metadata?.uid === pod.metadata?.uid)!, 0);
  } else if (pod.status?.phase === 'Pending')
    world.changePod(pod, (next) => {
      next.spec = { ...next.spec, nodeName: 'n1' };
      next.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    });
  else end(random.chance(failing) ? 'Failed' : 'Succeeded');
}

export function randomSpec(world: JobWorld): JobSpec {
  const { random } = world;
  const isIndexed = random.chance(0.5);
  const completions = isIndexed || random.chance(0.8) ? 1 + random.int(12) : undefined;
  const hasPolicy = random.chance(0.2);
  return {
    parallelism: 1 + random.int(5),
    ...(completions !== undefined && { completions }),
    completionMode: isIndexed ? 'Indexed' : 'NonIndexed',
    backoffLimit: random.pick([0, 2, 6, 100]) ?? 6,
    podReplacementPolicy: hasPolicy || random.chance(0.3) ? 'Failed' : 'TerminatingOrFailed',
    ...(random.chance(0.1) && { activeDeadlineSeconds: 100 + random.int(2_000) }),
    ...(isIndexed &&
      random.chance(0.4) && {
        backoffLimitPerIndex: random.int(3),
        backoffLimit: 1_000,
        ...(random.chance(0.5) && { maxFailedIndexes: random.int(3) }),
      }),
    ...(isIndexed && random.chance(0.2) && { successPolicy: { rules: [{ succeededCount: 1 + random.int(3) }] } }),
    ...(hasPolicy && {
      podFailurePolicy: {
        rules: [
          { action: 'Ignore', onExitCodes: { operator: 'In', values: [2] } },
          { action: random.chance(0.5) ? 'FailJob' : 'Count', onExitCodes: { operator: 'In', values: [3] } },
        ],
      },
    }),
  };
}
