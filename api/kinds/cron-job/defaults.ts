import type { CronJob } from '../../generated/types.ts';
import { defaultJobTemplateSpec } from '../job/defaults.ts';

const SUCCESSFUL_KEPT = 3;
const FAILED_KEPT = 1;

/** What its jobs leave to their own defaults stays open in the template. */
export function defaultCronJob(cronJob: CronJob): void {
  cronJob.spec ??= {};
  const { spec } = cronJob;
  spec.concurrencyPolicy ||= 'Allow';
  spec.suspend ??= false;
  spec.successfulJobsHistoryLimit ??= SUCCESSFUL_KEPT;
  spec.failedJobsHistoryLimit ??= FAILED_KEPT;
  spec.jobTemplate ??= {};
  spec.jobTemplate.spec ??= {};
  defaultJobTemplateSpec(spec.jobTemplate.spec);
}
