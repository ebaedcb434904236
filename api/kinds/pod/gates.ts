import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue } from '../../errors/violations.ts';
import type { NodeSelector, NodeSelectorTerm, Pod, PodSpec } from '../../generated/types.ts';
import { setCondition } from '../../meta/conditions.ts';
import { equalValues } from '../../meta/equal.ts';
import type { Violations } from '../checks.ts';

/** Whether the pod still has scheduling gates. */
export function isGated({ spec }: Pick<Pod, 'spec'>): boolean {
  return (spec?.schedulingGates ?? []).length > 0;
}

/** Tells why a new pod with gates is not scheduled: no other component does. */
export function markGated(pod: Pod): void {
  if (!isGated(pod)) return;
  const { creationTimestamp, generation: observedGeneration } = pod.metadata ?? {};
  const message = 'Scheduling is blocked due to non-empty scheduling gates';
  const gated = { type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', message };
  const condition = { ...gated, ...(observedGeneration && { observedGeneration }) };
  pod.status = { ...pod.status, conditions: setCondition(pod.status?.conditions, condition, creationTimestamp ?? {}) };
}

/** A pod never comes under a gate again. */
export function checkGatesRemoved(out: Violations, next: PodSpec, before: PodSpec): void {
  const known = new Set(before.schedulingGates?.map(({ name }) => name));
  next.schedulingGates?.forEach(({ name }, i) => {
    if (!known.has(name)) out.push(forbidden(`spec.schedulingGates[${i}]`, 'gates can be removed, not added'));
  });
}

/** The parts of a spec that say which nodes a pod may run on: while it is gated they may be made narrower. */
export function withNarrowerPlace(before: PodSpec, { nodeSelector, affinity }: PodSpec): PodSpec {
  const { nodeAffinity: _, ...others } = before.affinity ?? {};
  const isGone = affinity === undefined && Object.keys(others).length === 0;
  return {
    ...before,
    nodeSelector,
    affinity: isGone ? undefined : { ...others, nodeAffinity: affinity?.nodeAffinity },
  } as PodSpec;
}

/** What a gated pod required of its node it still requires. */
export function checkPlaceNarrowed(out: Violations, next: PodSpec, before: PodSpec): void {
  const labels = next.nodeSelector ?? {};
  const kept = Object.entries(before.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  if (!kept) out.push(forbidden('spec.nodeSelector', onlyAdded));
  const required = (spec: PodSpec) => spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const was = required(before);
  if (was?.nodeSelectorTerms?.length) out.push(...checkTermsNarrowed(was, required(next)));
}

const onlyAdded = 'only additions are allowed (no mutations or deletions)';

function checkTermsNarrowed(before: NodeSelector, next: NodeSelector | undefined): FieldViolation[] {
  const at = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  const [were, are] = [before.nodeSelectorTerms ?? [], next?.nodeSelectorTerms ?? []];
  if (were.length !== are.length)
    return [invalidValue(at, are.length, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed')];
  return were.flatMap((was, i) => (isNarrower(are[i]!, was) ? [] : [forbidden(`${at}[${i}]`, onlyAdded)]));
}

/**
 * Requirements of a term must all hold, so more of them let fewer nodes through; of none there are none, and nothing is
 * narrower.
 */
function isNarrower(next: NodeSelectorTerm, before: NodeSelectorTerm): boolean {
  const lists = (term: NodeSelectorTerm) => [term.matchExpressions ?? [], term.matchFields ?? []] as const;
  const [expressions, fields] = lists(before);
  if (expressions.length + fields.length === 0) return equalValues(next, before);
  const [nextExpressions, nextFields] = lists(next);
  return startsWith(nextExpressions, expressions) && startsWith(nextFields, fields);
}

function startsWith<T>(list: readonly T[], start: readonly T[]): boolean {
  return start.every((item, i) => equalValues(item, list[i]));
}
