import { isNotFound } from '../../api/errors/index.ts';
import type { Job } from '../../api/generated/types.ts';
import { objectKey } from '../../api/meta/key.ts';
import type { Clock, Informer, ResourceWrites } from '../../client/index.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { expiresInMs } from './decide.ts';

export interface FinishedJobsOptions {
  readonly jobs: Informer<Job>;
  readonly writes: Pick<ResourceWrites<Job>, 'delete'>;
  readonly clock: Clock;
}

/** By then a clock that was set has been noticed. */
const longestWaitMs = 3_600_000;

/** Deletes Jobs that have ended, and their pods, when their ttlSecondsAfterFinished have passed. */
export class FinishedJobs implements Controller {
  readonly name = 'finished-jobs';
  readonly sources: readonly Source[];
  readonly #options: FinishedJobsOptions;

  constructor(options: FinishedJobsOptions) {
    this.#options = options;
    this.sources = [changesOf(options.jobs, (job) => [objectKey(job)])];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const { jobs, writes, clock } = this.#options;
    const job = jobs.lister.get(key);
    const inMs = job && expiresInMs(job, clock.now());
    if (inMs === undefined) return undefined;
    if (inMs > 0) return { afterMs: Math.min(inMs, longestWaitMs) };
    // The version that was judged: a client may have given the Job more time since.
    const { namespace, name = '', uid, resourceVersion } = job?.metadata ?? {};
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    try {
      await writes.delete({ namespace, name }, { propagationPolicy: 'Background', preconditions }, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return undefined;
  }
}

export const finishedJobs: ControllerDefinition = {
  name: 'finished-jobs',
  watches: { Job: { whole: true } },
  create: ({ informer, writer, clock }) => new FinishedJobs({ jobs: informer('Job'), writes: writer.resource('Job'), clock }),
};
