import { asApiError, isAlreadyExists, isNotFound } from '../../api/errors/index.ts';
import type { CronJob, Job, ObjectReference } from '../../api/generated/types.ts';
import { parseSchedule, type Schedule } from '../../api/kinds/cron-job/schedule.ts';
import { isTimeZone } from '../../api/kinds/cron-job/validate.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { objectKey } from '../../api/meta/key.ts';
import { createLru } from '../../api/meta/lru.ts';
import { controllerOf, isControlledBy } from '../../api/meta/owner.ts';
import { type Informer, type ResourceClient, type ResourceWrites, referenceTo } from '../../client/index.ts';
import { attemptEach } from '../attempt-each.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerContext, ControllerDefinition } from '../definition.ts';
import { OwnWrites } from '../owned-pods/own-writes.ts';
import { controlledBy, namespaceIndexers, ownedIndexers } from '../owned-pods/pod-index.ts';
import { StatusWriter } from '../owned-pods/status-writer.ts';
import { untilAnswered } from '../owned-pods/until-answered.ts';
import { rule, writeStatus } from '../rules.ts';
import { type CronOutcome, computeCronStatus, decideCronJob, decideHistory, type Note } from './decide.ts';
import { newJob } from './new-job.ts';

export interface CronJobControllerOptions {
  readonly context: Pick<ControllerContext, 'events' | 'clock'>;
  readonly cronJobs: Informer<CronJob>;
  /** With `ownedIndexers`. */
  readonly jobs: Informer<Job>;
  readonly client: Pick<ResourceClient<CronJob>, 'get'>;
  readonly jobClient: Pick<ResourceClient<Job>, 'get'>;
  readonly writes: Pick<ResourceWrites<CronJob>, 'updateStatus'>;
  readonly jobWrites: Pick<ResourceWrites<Job>, 'create' | 'delete'>;
}

const unshownRetryMs = 100;
/** With more CronJobs than this, some events are repeated and schedules parsed again. */
const rememberedSize = 4_096;

interface Look {
  readonly key: string;
  readonly cronJob: CronJob;
  readonly about: ObjectReference;
  readonly signal: AbortSignal;
}

/** Starts the Jobs of CronJobs, each time once, and keeps their status and history. */
export class CronJobController implements Controller {
  readonly name = 'cronjob';
  readonly sources: readonly Source[];
  readonly #options: CronJobControllerOptions;
  readonly #own = new OwnWrites();
  readonly #statuses: StatusWriter<CronJob>;
  readonly #told = createLru<true>(rememberedSize);
  readonly #schedules = createLru<Schedule>(rememberedSize);

  constructor(options: CronJobControllerOptions) {
    const { cronJobs, jobs, client, writes, context } = options;
    this.#options = options;
    const note = (key: string, { metadata }: CronJob): void => this.#own.note(key, cronJobs, metadata?.resourceVersion);
    this.#statuses = new StatusWriter({ writes, client, note, clock: context.clock });
    const ownerOf = (job: Job): readonly string[] => {
      const controller = controllerOf(job);
      return controller?.kind === 'CronJob' ? [`${job.metadata?.namespace}/${controller.name}`] : [];
    };
    this.sources = [changesOf(cronJobs, (cronJob) => [objectKey(cronJob)]), changesOf(jobs, ownerOf)];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const { cronJobs, jobs, context } = this.#options;
    const cronJob = cronJobs.lister.get(key);
    if (!cronJob) {
      this.#own.forget(key);
      this.#statuses.forget(key);
      return undefined;
    }
    await this.#statuses.settle(key, signal);
    if (!this.#own.areShown(key)) return { afterMs: unshownRetryMs };
    const look: Look = { key, cronJob, about: referenceTo('CronJob', cronJob), signal };
    const owned = controlledBy(jobs.lister, cronJob);
    const plan = decideCronJob(cronJob, owned, this.#scheduleOf(look), context.clock.now());
    for (const note of plan.notes) this.#tell(look, note);
    await attemptEach(plan.replace, (job) => this.#delete(look, job));
    const started = plan.start === undefined ? undefined : await this.#start(look, plan.start);
    const status = computeCronStatus(cronJob, owned, { started, deleted: plan.replace });
    if (status && !(await this.#statuses.write({ ...cronJob, status }, signal))) return undefined;
    await attemptEach(decideHistory(cronJob, owned), (job) => this.#delete(look, job));
    return plan.againMs === undefined ? undefined : { afterMs: plan.againMs };
  }

  #scheduleOf(look: Look): Schedule | undefined {
    const { schedule = '', timeZone } = look.cronJob.spec ?? {};
    const text = JSON.stringify([schedule, timeZone]);
    const known = this.#schedules.get(text);
    if (known) return known;
    try {
      const parsed = parseSchedule(schedule, timeZone);
      parsed.next(new Date(0));
      this.#schedules.set(text, parsed);
      return parsed;
    } catch (error) {
      // Validation has accepted it: on a machine that knows the time zone.
      const said =
        timeZone !== undefined && !isTimeZone(timeZone)
          ? { reason: 'UnknownTimeZone', message: `invalid timeZone: "${timeZone}": unknown time zone ${timeZone}` }
          : { reason: 'UnparseableSchedule', message: `unparseable schedule: "${schedule}" : ${(error as Error).message}` };
      this.#tell(look, { type: 'Warning', ...said, about: text });
      return undefined;
    }
  }

  #tell({ about, cronJob }: Look, note: Note): void {
    const key = JSON.stringify([cronJob.metadata?.uid, note.reason, note.about]);
    if (this.#told.get(key)) return;
    this.#told.set(key, true);
    this.#options.context.events.event(about, note.type, note.reason, note.message);
  }

  /** Makes the Job for a time, repeated until it is answered; one of the name that is there is it. */
  async #start(look: Look, at: number): Promise<CronOutcome['started']> {
    const { jobWrites, jobClient, jobs, context } = this.#options;
    const { key, cronJob, about, signal } = look;
    const job = newJob(cronJob, at);
    const { namespace, name = '' } = job.metadata ?? {};
    try {
      const made = await untilAnswered(() => jobWrites.create(job, {}, { signal }), { clock: context.clock, signal });
      context.events.event(about, 'Normal', 'SuccessfulCreate', `Created job ${name}`);
      this.#own.note(key, jobs, made.metadata?.resourceVersion);
      return { at, job: { ...job, metadata: { ...job.metadata, ...made.metadata } } };
    } catch (error) {
      const found = isAlreadyExists(error) ? await jobClient.get({ namespace, name }, { signal }) : undefined;
      if (found && isControlledBy(found, cronJob)) {
        this.#own.note(key, jobs, found.metadata?.resourceVersion);
        return { at, job: found };
      }
      const message = `Error creating job: ${asApiError(error)?.message ?? String(error)}`;
      if (!signal.aborted) context.events.event(about, 'Warning', 'FailedCreate', message);
      // A Job of the name that is another's stays; the next time has another name.
      if (found) return undefined;
      throw error;
    }
  }

  /** Deletes a Job and its pods. One that is gone is as good. */
  async #delete({ key, about, signal }: Look, job: Job): Promise<void> {
    const { jobWrites, jobs, context } = this.#options;
    const { namespace, name = '', uid } = job.metadata ?? {};
    const options = { propagationPolicy: 'Background', preconditions: { ...(uid && { uid }) } };
    try {
      const attempt = () => jobWrites.delete({ namespace, name }, options, { signal });
      const deleted = await untilAnswered(attempt, { clock: context.clock, signal });
      this.#own.note(key, jobs, deleted.metadata?.resourceVersion);
      context.events.event(about, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`);
    } catch (error) {
      if (isNotFound(error)) return;
      const message = `Deleted job: ${asApiError(error)?.message ?? String(error)}`;
      if (!signal.aborted) context.events.event(about, 'Warning', 'FailedDelete', message);
      throw error;
    }
  }
}

export const cronJob: ControllerDefinition = {
  name: 'cronjob',
  component: 'cronjob-controller',
  rules: [rule(['create', 'update'], 'batch', 'jobs'), writeStatus('batch', 'cronjobs')],
  watches: {
    CronJob: { whole: true },
    Job: { whole: true, indexers: { ...ownedIndexers, ...namespaceIndexers } },
  },
  create: ({ informer, client, writer, events, clock }) =>
    new CronJobController({
      context: { events, clock },
      cronJobs: informer('CronJob'),
      jobs: informer('Job'),
      client: client.resource(kindNamed('CronJob')),
      jobClient: client.resource(kindNamed('Job')),
      writes: writer.resource('CronJob'),
      jobWrites: writer.resource('Job'),
    }),
};
