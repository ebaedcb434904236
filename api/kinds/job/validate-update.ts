import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue } from '../../errors/violations.ts';
import type { Affinity, Job, JobSpec, PodTemplateSpec } from '../../generated/types.ts';
import { firstDifference } from '../../meta/equal.ts';
import type { Violations } from '../checks.ts';

const IMMUTABLE = [
  'selector',
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const;
const ANEW = 'cannot change; make the job anew, e.g. with "berth replace --force -f FILE"';
const TEMPLATE =
  'the template of a job cannot change, but for labels, annotations and where its pods may run while it is suspended ' +
  'and has never been started';

/** A job is what it was made as; how many pods run at a time, how long, and whether at all, may change. */
export function validateJobUpdate({ spec: next = {} }: Job, { spec: before = {}, status }: Job): FieldViolation[] {
  const out: Violations = [];
  checkCompletions(out, next, before);
  for (const name of IMMUTABLE) {
    const inner = firstDifference(next[name], before[name]);
    if (inner !== undefined) out.push(forbidden(`spec.${name}${inner}`, ANEW));
  }
  const mayMove = before.suspend === true && status?.startTime === undefined;
  const allowed = mayMove ? withPlaceOf(before.template, next.template) : before.template;
  const inner = firstDifference(next.template, allowed);
  if (inner !== undefined) out.push(forbidden(`spec.template${inner}`, TEMPLATE));
  return out;
}

/** A job with indexes, of which all may run at a time, grows and shrinks as a whole. */
function checkCompletions(out: Violations, { completions, completionMode, parallelism }: JobSpec, before: JobSpec): void {
  if (completions === before.completions || (completionMode === 'Indexed' && completions === undefined)) return;
  if (completionMode !== 'Indexed') out.push(forbidden('spec.completions', ANEW));
  else if (completions !== parallelism)
    out.push(invalidValue('spec.completions', completions, 'can only change together with parallelism, to the same number'));
}

/** The template as it was, with everything of the new one that says where the pods may run, and its labels. */
function withPlaceOf(before: PodTemplateSpec = {}, next: PodTemplateSpec = {}): PodTemplateSpec {
  const { labels, annotations } = next.metadata ?? {};
  const { nodeSelector, tolerations, schedulingGates, affinity } = next.spec ?? {};
  const { affinity: affinityBefore, ...specBefore } = before.spec ?? {};
  const kept = withNodeAffinityOf(affinityBefore, affinity);
  return {
    ...before,
    metadata: { ...before.metadata, labels, annotations } as NonNullable<PodTemplateSpec['metadata']>,
    spec: { ...specBefore, affinity: kept, nodeSelector, tolerations, schedulingGates } as NonNullable<PodTemplateSpec['spec']>,
  };
}

/** What pods stay near to, or away from, stays; which nodes they may have is the new one's. */
function withNodeAffinityOf(before: Affinity | undefined, next: Affinity | undefined): Affinity | undefined {
  const { nodeAffinity: _, ...others } = before ?? {};
  if (!next) return Object.keys(others).length === 0 ? undefined : others;
  return { ...others, ...(next.nodeAffinity && { nodeAffinity: next.nodeAffinity }) };
}
