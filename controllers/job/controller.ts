import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Job, JobStatus, Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { objectKey } from '../../api/meta/key.ts';
import { jobTrackingFinalizer, workloadAnnotations } from '../../api/meta/workload-names.ts';
import { type Informer, type ResourceClient, type ResourceWrites, referenceTo } from '../../client/index.ts';
import { attemptEach } from '../attempt-each.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerContext, ControllerDefinition } from '../definition.ts';
import { OwnedPods } from '../owned-pods/owned-pods.ts';
import { controlledBy, namespaceIndexers, type Owning, ownedIndexers, ownerKey, podChanges } from '../owned-pods/pod-index.ts';
import type { NewPod, PodOwner } from '../owned-pods/pod-writer.ts';
import { StatusWriter } from '../owned-pods/status-writer.ts';
import { rule, writeStatus } from '../rules.ts';
import { advanceBackoff, BackoffMemory, noBackoff } from './back-off.ts';
import { decideJob, type JobPlan } from './decide.ts';
import type { PodsStep } from './decide-pods.ts';
import { decideStatus, type Outcome } from './decide-status.ts';
import { endOf, hasSucceeded, isManagedElsewhere, isTracked } from './job-facts.ts';
import { jobPodIndexers, straysOf } from './pods-of-jobs.ts';

export interface JobControllerOptions {
  readonly context: Pick<ControllerContext, 'client' | 'writer' | 'events' | 'clock'>;
  readonly jobs: Informer<Job>;
  /** With `jobPodIndexers`. */
  readonly pods: Informer<Pod>;
  readonly client: Pick<ResourceClient<Job>, 'get'>;
  readonly writes: Pick<ResourceWrites<Job>, 'updateStatus'>;
  readonly random?: () => number;
}

const kind = kindNamed('Job');
/** A Job is looked at ten times a second at most, one of 500 pods and more twice: its pods are counted together. */
const pace = { perMs: 1, leastMs: 100, mostMs: 500 };
/** By then a clock that was set has been noticed. */
const longestWaitMs = 60_000;
const nothingDone: Outcome = { created: 0, removed: [] };

/** What a look at a Job is about. */
interface Look {
  readonly job: Job;
  readonly owner: PodOwner;
  readonly pods: readonly Pod[];
  readonly plan: JobPlan;
  readonly now: number;
  readonly signal: AbortSignal;
}

interface Done {
  readonly outcome: Outcome;
  readonly failure?: { readonly error: unknown } | undefined;
}

/** Runs the pods of Jobs, counts each of them once, and ends the Jobs. */
export class JobController implements Controller {
  readonly name = 'job';
  readonly workers = 16;
  readonly sources: readonly Source[];
  readonly #options: JobControllerOptions;
  readonly #owned: OwnedPods<Job>;
  readonly #statuses: StatusWriter<Job>;
  readonly #backoffs = new BackoffMemory();

  constructor(options: JobControllerOptions) {
    const { context, jobs, pods, client, writes, random } = options;
    this.#options = options;
    const owning: Owning<Job> = { kind, lister: jobs.lister, selectorOf: ({ spec }) => spec?.selector };
    const candidates = (job: Job): Iterable<Pod> => this.#candidates(job);
    const finalizer = jobTrackingFinalizer;
    const slotOf = ({ metadata }: NewPod): string => metadata?.annotations?.[workloadAnnotations.completionIndex] ?? '';
    this.#owned = new OwnedPods({ ...context, owning, pods, owners: client, candidates, finalizer, pace, random, slotOf });
    const note = (key: string, written: Job): void => this.#owned.noteOwner(key, jobs, written);
    this.#statuses = new StatusWriter({ writes, client, note, clock: context.clock, random });
    this.sources = [changesOf(jobs, (job) => [objectKey(job)]), podChanges(pods, owning)];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const { jobs, context } = this.#options;
    const job = jobs.lister.get(key);
    if (!job || isManagedElsewhere(job) || endOf(job)) {
      this.#owned.forget(key);
      this.#backoffs.forget(key);
      this.#statuses.forget(key);
      return undefined;
    }
    await this.#statuses.settle(key, signal);
    const owner: PodOwner = { key, uid: job.metadata?.uid ?? '', reference: referenceTo(kind.kind, job) };
    const looked = await this.#owned.look(job, owner, signal);
    if ('again' in looked) return looked.again;
    const pods = looked.owned;
    const now = context.clock.now();
    const backoff = this.#backoffs.recall(key, owner.uid, now, () => this.#rebuildBackoff(job, now));
    const seen = (waiting: Iterable<Pod>) => this.#backoffs.sight(key, waiting, now);
    const plan = decideJob({ job, pods, strays: straysOf(job, pods, this.#candidates(job)), backoff, seen, now });
    await this.#carryOut({ job, owner, pods, plan, now, signal });
    return plan.againMs === undefined ? undefined : { afterMs: Math.min(plan.againMs, longestWaitMs) };
  }

  *#candidates({ metadata }: Job): Generator<Pod> {
    const { lister } = this.#options.pods;
    yield* lister.byIndex('jobUid', ownerKey(metadata?.namespace, metadata?.uid));
    yield* lister.byIndex('orphanNamespace', metadata?.namespace ?? '');
  }

  /** From the pods that the status counts already: what was remembered of them went with another process. */
  #rebuildBackoff(job: Job, now: number) {
    const { pods } = this.#options;
    const ended = controlledBy(pods.lister, job).filter((pod) => isFinished(pod) && !isTracked(pod));
    const isFailed = (pod: Pod): boolean => !hasSucceeded(pod);
    return advanceBackoff(noBackoff, { succeeded: ended.filter(hasSucceeded), failed: ended.filter(isFailed) }, now);
  }

  async #carryOut(look: Look): Promise<void> {
    const { ending, step } = look.plan;
    if (ending) {
      await this.#count(look, nothingDone);
      const { failure } = await this.#step(look, step);
      if (failure) throw failure.error;
      return;
    }
    const { outcome, failure } = await this.#step(look, step);
    await this.#count(look, outcome);
    if (failure) throw failure.error;
  }

  /** Writes the status, and then takes the finalizers off the pods that it counts. */
  async #count(look: Look, outcome: Outcome): Promise<void> {
    const { owner, plan, signal } = look;
    const { status, notes } = decideStatus({ ...look, ...plan, outcome });
    if (status && !(await this.#writeStatus(look, status))) return;
    this.#backoffs.keep(owner.key, plan.backoff);
    for (const { type, reason, message } of notes) this.#options.context.events.event(owner.reference, type, reason, message);
    await this.#release(owner, plan.counts.release, signal);
  }

  /** False when the Job is gone. */
  async #writeStatus({ job, owner, signal }: Look, status: JobStatus): Promise<boolean> {
    try {
      return await this.#statuses.write({ ...job, status }, signal);
    } catch (error) {
      // The status may have been written: the back-off is computed from the pods again.
      this.#backoffs.forget(owner.key);
      throw error;
    }
  }

  async #release(owner: PodOwner, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { writer } = this.#owned;
    await atOnce(pods, (pod) => writer.removeFinalizer(owner, pod, jobTrackingFinalizer, signal));
  }

  /** What was done, and why not all of it. */
  async #step({ owner, signal }: Look, step: PodsStep): Promise<Done> {
    const { writer } = this.#owned;
    switch (step.do) {
      case 'create': {
        const { succeeded, failure } = await writer.createAll(owner, step.pods, signal);
        return { outcome: { created: succeeded, removed: [] }, failure };
      }
      case 'delete':
        return removing(step.pods, (pod) => writer.delete(owner, pod, signal));
      case 'drop':
        return removing(step.pods, (pod) => this.#drop(owner, pod, signal));
      case 'track':
        await attemptEach(step.pods, (pod) => this.#track(owner, pod, signal));
        return { outcome: nothingDone };
      case 'wait':
      case 'nothing':
        return { outcome: nothingDone };
    }
  }

  /** Lets a pod go and deletes it. Of this version only: a pod that has just ended is counted after all. */
  async #drop(owner: PodOwner, pod: Pod, signal: AbortSignal): Promise<void> {
    const { writer } = this.#owned;
    try {
      if (isTracked(pod)) await writer.patchMetadata(owner, pod, { finalizers: otherFinalizers(pod) }, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    await writer.delete(owner, pod, signal);
  }

  async #track(owner: PodOwner, pod: Pod, signal: AbortSignal): Promise<void> {
    const finalizers = [...(pod.metadata?.finalizers ?? []), jobTrackingFinalizer];
    try {
      await this.#owned.writer.patchMetadata(owner, pod, { finalizers }, signal);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

const otherFinalizers = ({ metadata }: Pod): string[] =>
  (metadata?.finalizers ?? []).filter((each) => each !== jobTrackingFinalizer);

async function removing(pods: readonly Pod[], remove: (pod: Pod) => Promise<void>): Promise<Done> {
  try {
    await atOnce(pods, remove);
    return { outcome: { created: 0, removed: pods } };
  } catch (error) {
    return { outcome: nothingDone, failure: { error } };
  }
}

/** Does the same for all, together: the writes share a message. Throws the first error when all have been tried. */
async function atOnce(pods: readonly Pod[], act: (pod: Pod) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(pods.map(act));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

export const job: ControllerDefinition = {
  name: 'job',
  component: 'job-controller',
  rules: [rule(['create'], '', 'pods'), writeStatus('batch', 'jobs')],
  watches: {
    Job: { whole: true, indexers: { ...ownedIndexers, ...namespaceIndexers } },
    Pod: { indexers: jobPodIndexers },
  },
  create: (context) =>
    new JobController({
      context,
      jobs: context.informer('Job'),
      pods: context.informer('Pod'),
      client: context.client.resource(kind),
      writes: context.writer.resource('Job'),
    }),
};
