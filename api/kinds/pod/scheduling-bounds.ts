import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidSize } from '../../errors/violations.ts';
import type { Affinity, NodeAffinity, NodeSelectorTerm, Pod, PodAffinity } from '../../generated/types.ts';

// The scheduler asks each of these about every node, and nothing else is placed meanwhile. Kubernetes has no bounds:
// 3,000 constraints over 1,000 nodes took 20 seconds and 340 MB for one pod. These cost a quarter of a second.

const mostConstraints = 64;
/** Of affinity and anti-affinity, required and preferred, together. */
const mostPodTerms = 128;
/** Terms and the requirements in them, required and preferred, together. The values of a requirement cost nothing. */
const mostNodeRequirements = 500;

/** What is refused of new pods only: those that an earlier version accepted can still be labelled and finalized. */
export function checkSchedulingBounds({ spec = {} }: Pod): FieldViolation[] {
  const { affinity = {}, topologySpreadConstraints: constraints = [] } = spec;
  const out: FieldViolation[] = [];
  if (constraints.length > mostConstraints) out.push(invalidSize('spec.topologySpreadConstraints', mostConstraints, 'items'));
  if (countPodTerms(affinity) > mostPodTerms)
    out.push(invalidSize('spec.affinity', mostPodTerms, 'terms of podAffinity and podAntiAffinity together'));
  if (countNodeRequirements(affinity.nodeAffinity) > mostNodeRequirements)
    out.push(invalidSize('spec.affinity.nodeAffinity', mostNodeRequirements, 'terms and requirements together'));
  return out;
}

function countPodTerms({ podAffinity, podAntiAffinity }: Affinity): number {
  const termsOf = (part: PodAffinity = {}): number =>
    (part.requiredDuringSchedulingIgnoredDuringExecution?.length ?? 0) +
    (part.preferredDuringSchedulingIgnoredDuringExecution?.length ?? 0);
  return termsOf(podAffinity) + termsOf(podAntiAffinity);
}

function countNodeRequirements(affinity: NodeAffinity = {}): number {
  const sizeOf = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm = {}): number =>
    1 + matchExpressions.length + matchFields.length;
  let count = 0;
  for (const term of affinity.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []) count += sizeOf(term);
  for (const { preference } of affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []) count += sizeOf(preference);
  return count;
}
