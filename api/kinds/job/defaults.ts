import type { Job, JobSpec } from '../../generated/types.ts';
import { defaultTemplate } from '../pod-template/defaults.ts';

const BACKOFF_LIMIT = 6;
const NO_LIMIT = 2 ** 31 - 1;

export function defaultJob(job: Job): void {
  job.spec ??= {};
  const { spec } = job;
  defaultJobTemplateSpec(spec);
  if (spec.parallelism === undefined) spec.completions ??= 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? BACKOFF_LIMIT : NO_LIMIT;
  spec.completionMode ||= 'NonIndexed';
  spec.suspend ??= false;
  spec.manualSelector ??= false;
  spec.podReplacementPolicy ||= spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed';
}

/** What is filled in before there is a job as well: in the template of a CronJob. */
export function defaultJobTemplateSpec(spec: JobSpec): void {
  spec.template ??= {};
  defaultTemplate(spec.template);
  for (const { onPodConditions } of spec.podFailurePolicy?.rules ?? [])
    for (const pattern of onPodConditions ?? []) pattern.status ||= 'True';
}
