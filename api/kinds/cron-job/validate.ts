import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, required } from '../../errors/violations.ts';
import type { CronJob, JobTemplateSpec } from '../../generated/types.ts';
import { checkOneOf, checkRange, type Violations } from '../checks.ts';
import { fieldWarnings } from '../field-support.ts';
import { checkJobSpec, jobSpecWarnings, nameWarnings } from '../job/validate.ts';
import { validateAnnotations, validateLabels } from '../metadata.ts';
import { cronJobFields } from './fields.ts';
import { readSchedule } from './schedule-fields.ts';

/** A job is named after its CronJob and its time, and its pods after the job: "-" and ten digits have to fit. */
const NAME_MAX_CHARACTERS = 52;
const POLICIES = ['Allow', 'Forbid', 'Replace'];
/** How Kubernetes looks at the parts of a time zone's name, before it looks the zone up. */
const ZONE_PART = /^(?!-)(?!\.{1,2}$)[A-Za-z.\-_0-9+]{1,14}$/;

export function validateCronJob({ spec = {} }: CronJob): FieldViolation[] {
  const out: Violations = [];
  const { schedule = '', timeZone, jobTemplate = {} } = spec;
  if (schedule.trim() === '') out.push(required('spec.schedule', 'as "30 2 * * *" or "@daily"'));
  else {
    const read = readSchedule(schedule);
    if (read.kind === 'wrong') out.push(invalidValue('spec.schedule', schedule, read.why));
  }
  if (timeZone !== undefined && !isTimeZone(timeZone))
    out.push(invalidValue('spec.timeZone', timeZone, 'must be a time zone of the IANA database, such as "Europe/Berlin"'));
  checkOneOf(out, 'spec', '.concurrencyPolicy', spec.concurrencyPolicy, POLICIES);
  for (const name of ['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'] as const)
    checkRange(out, 'spec', `.${name}`, spec[name], 0);
  checkTemplateOfJobs(out, 'spec.jobTemplate', jobTemplate);
  return out;
}

/** Whether this machine knows the zone. Offsets such as "+02:00" are none. */
export function isTimeZone(name: string): boolean {
  if (/^[-+\d]/.test(name) || !name.split('/').every((part) => ZONE_PART.test(part))) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function checkTemplateOfJobs(out: Violations, at: string, { metadata = {}, spec = {} }: JobTemplateSpec): void {
  if (metadata.labels) out.push(...validateLabels(`${at}.metadata.labels`, metadata.labels));
  if (metadata.annotations) out.push(...validateAnnotations(`${at}.metadata.annotations`, metadata.annotations));
  checkJobSpec(out, `${at}.spec`, spec);
  if (spec.selector) out.push(forbidden(`${at}.spec.selector`, 'the server makes the selector of each job'));
  if (spec.manualSelector) out.push(forbidden(`${at}.spec.manualSelector`, 'the server makes the selector of each job'));
}

/** The rule for new ones alone: those that are there go on. */
export function validateCronJobName({ metadata }: CronJob): FieldViolation[] {
  const { name = '' } = metadata ?? {};
  if (name.length <= NAME_MAX_CHARACTERS) return [];
  return [
    invalidValue('metadata.name', name, `must have at most ${NAME_MAX_CHARACTERS} characters: its jobs are named after it`),
  ];
}

const ofFields = fieldWarnings('berth.batch.v1.CronJob', cronJobFields);

export function cronJobWarnings(cronJob: CronJob): string[] {
  const ofJobs = jobSpecWarnings('spec.jobTemplate.spec', cronJob.spec?.jobTemplate?.spec);
  return [...ofFields(cronJob), ...nameWarnings(cronJob.metadata?.name), ...ofJobs];
}
