import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue, notSupported, required, tooLong } from '../../errors/violations.ts';
import type { Job, JobSpec } from '../../generated/types.ts';
import { labelSelectorMatches } from '../../meta/labels.ts';
import { labelNameError, subdomainNameError } from '../../meta/names.ts';
import { checkOneOf, checkRange, type Violations } from '../checks.ts';
import { fieldWarnings } from '../field-support.ts';
import { checkTemplate, templateNotes } from '../pod-template/validate.ts';
import { checkLabelSelector } from '../selectors.ts';
import { jobFields } from './fields.ts';
import { labelsOfPods } from './labels.ts';
import { checkPodFailurePolicy, checkSuccessPolicy } from './validate-policies.ts';

const MODES = ['NonIndexed', 'Indexed'];
const REPLACEMENTS = ['TerminatingOrFailed', 'Failed'];
const INDEXED_MOST = 100_000;
/** Beyond so many indexes with a back-off limit each, fewer may run or fail: the status lists those that failed. */
const MANY_INDEXES = 100_000;
const MOST_WITH_MANY = 10_000;
const MANAGER_MAX_CHARACTERS = 63;
const PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

export function validateJob({ metadata = {}, spec = {} }: Job): FieldViolation[] {
  const out: Violations = [];
  const { uid, name = '' } = metadata;
  checkJobSpec(out, 'spec', spec);
  if (!spec.selector && spec.manualSelector) out.push(required('spec.selector', 'manualSelector is true'));
  checkLabelSelector(out, 'spec.selector', spec.selector);
  if (spec.selector && !labelSelectorMatches(spec.selector, spec.template?.metadata?.labels))
    out.push(
      invalidValue('spec.template.metadata.labels', shown(spec.template?.metadata?.labels), 'spec.selector must match them'),
    );
  if (uid && spec.selector && !spec.manualSelector) checkGenerated(out, { uid, name }, spec);
  const { completions = 0 } = spec;
  if (spec.completionMode === 'Indexed' && completions > 0 && name) {
    const rule = labelNameError(`${name}-${completions - 1}`);
    if (rule) out.push(invalidValue('metadata.name', name, `the host name "${name}-${completions - 1}" of its last pod ${rule}`));
  }
  return out;
}

/** Without manualSelector the labels of the pods are the server's, so that no two jobs find the same pods. */
function checkGenerated(out: Violations, job: { readonly uid: string; readonly name: string }, spec: JobSpec): void {
  const wanted = labelsOfPods(job);
  for (const [key, value] of Object.entries(wanted)) {
    const found = spec.template?.metadata?.labels?.[key];
    if (found === value) continue;
    const why = `must be "${value}", or left out: the server sets it, unless manualSelector is true`;
    out.push(invalidValue(`spec.template.metadata.labels[${key}]`, found, why));
  }
  if (!labelSelectorMatches(spec.selector, wanted)) {
    const why = 'must be left out: the server makes it, unless manualSelector is true';
    out.push(invalidValue('spec.selector', shown(spec.selector), why));
  }
}

const shown = (value: unknown): string => JSON.stringify(value ?? {});

/** The rules for what jobs and the templates of jobs say alike. `at` is where the spec stands. */
export function checkJobSpec(out: Violations, at: string, spec: JobSpec): void {
  for (const name of ['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit'] as const)
    checkRange(out, at, `.${name}`, spec[name], 0);
  for (const name of ['ttlSecondsAfterFinished', 'backoffLimitPerIndex', 'maxFailedIndexes'] as const)
    checkRange(out, at, `.${name}`, spec[name], 0);
  checkOneOf(out, at, '.completionMode', spec.completionMode, MODES);
  if (spec.completionMode === 'Indexed') checkIndexed(out, at, spec);
  else checkNonIndexed(out, at, spec);
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    out.push(required(`${at}.backoffLimitPerIndex`, 'maxFailedIndexes is set'));
  checkManager(out, at, spec);
  checkPodFailurePolicy(out, `${at}.podFailurePolicy`, spec);
  const replacements = spec.podFailurePolicy ? ['Failed'] : REPLACEMENTS;
  checkOneOf(out, at, '.podReplacementPolicy', spec.podReplacementPolicy, replacements);
  checkTemplate(out, `${at}.template`, spec.template);
  checkRestartPolicy(out, `${at}.template.spec.restartPolicy`, spec);
}

function checkIndexed(out: Violations, at: string, spec: JobSpec): void {
  const { completions, parallelism = 0, maxFailedIndexes } = spec;
  const most = (name: string, value: number, bound: number, why: string): void => {
    if (value > bound) out.push(invalidValue(`${at}.${name}`, value, `must be at most ${bound}${why}`));
  };
  if (completions === undefined) out.push(required(`${at}.completions`, 'completionMode is Indexed'));
  most('parallelism', parallelism, INDEXED_MOST, ' when completionMode is Indexed');
  most('maxFailedIndexes', maxFailedIndexes ?? 0, completions ?? Infinity, ', the number of completions');
  most('maxFailedIndexes', maxFailedIndexes ?? 0, INDEXED_MOST, ' when completionMode is Indexed');
  if ((completions ?? 0) > MANY_INDEXES && spec.backoffLimitPerIndex !== undefined) {
    const why = `with backoffLimitPerIndex and more than ${MANY_INDEXES} completions`;
    if (maxFailedIndexes === undefined) out.push(required(`${at}.maxFailedIndexes`, why));
    most('parallelism', parallelism, MOST_WITH_MANY, ` ${why}`);
    most('maxFailedIndexes', maxFailedIndexes ?? 0, MOST_WITH_MANY, ` ${why}`);
  }
  checkSuccessPolicy(out, `${at}.successPolicy`, spec);
}

function checkNonIndexed(out: Violations, at: string, spec: JobSpec): void {
  for (const name of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const)
    if (spec[name] !== undefined) out.push(invalidValue(`${at}.${name}`, spec[name], 'needs completionMode Indexed'));
  if (spec.successPolicy)
    out.push(invalidValue(`${at}.successPolicy`, shown(spec.successPolicy), 'needs completionMode Indexed'));
}

/** A domain and a path, as "example.com/job-controller". */
function checkManager(out: Violations, at: string, { managedBy }: JobSpec): void {
  if (managedBy === undefined) return;
  const slash = managedBy.indexOf('/');
  const [domain, path] = [managedBy.slice(0, Math.max(slash, 0)), managedBy.slice(slash + 1)];
  if (domain === '' || !PATH.test(path) || subdomainNameError(domain))
    out.push(invalidValue(`${at}.managedBy`, managedBy, 'must be a domain and a path, as "example.com/job-controller"'));
  if (managedBy.length > MANAGER_MAX_CHARACTERS) out.push(tooLong(`${at}.managedBy`, MANAGER_MAX_CHARACTERS, 'characters'));
}

/** A pod of a job ends: it is never started again when it has succeeded. */
function checkRestartPolicy(out: Violations, field: string, { template, podFailurePolicy }: JobSpec): void {
  const policy = template?.spec?.restartPolicy ?? '';
  if (policy === '' || policy === 'Always') out.push(required(field, 'a job needs "OnFailure" or "Never"'));
  else if (policy !== 'OnFailure' && policy !== 'Never') out.push(notSupported(field, policy, ['OnFailure', 'Never']));
  else if (podFailurePolicy && policy !== 'Never') out.push(invalidValue(field, policy, 'must be "Never" with podFailurePolicy'));
}

const ofFields = fieldWarnings('berth.batch.v1.Job', jobFields);

export function jobWarnings(job: Job): string[] {
  return [...ofFields(job), ...nameWarnings(job.metadata?.name), ...jobSpecWarnings('spec', job.spec)];
}

/** Pods and their host names begin with the name. */
export function nameWarnings(name: string | undefined): string[] {
  const rule = name ? labelNameError(name) : undefined;
  return rule ? [`metadata.name is used in names and host names of pods, which are best DNS labels: it ${rule}`] : [];
}

export function jobSpecWarnings(at: string, spec: JobSpec = {}): string[] {
  const { completionMode, completions = 0, parallelism = 0, template } = spec;
  const warnings = templateNotes(`${at}.template`, template);
  if (completionMode !== 'Indexed' || completions <= MANY_INDEXES || parallelism <= MOST_WITH_MANY) return warnings;
  const why = `more than ${MANY_INDEXES} completions with a parallelism above ${MOST_WITH_MANY}`;
  return [...warnings, `${at}: ${why}: when many indexes fail, completedIndexes may not have room for all`];
}
