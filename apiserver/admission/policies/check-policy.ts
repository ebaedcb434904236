import { invalid } from '../../../api/errors/index.ts';
import type { ValidatingAdmissionPolicy } from '../../../api/generated/types.ts';
import { isKind } from '../../../api/kinds/index.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import type { Admission } from '../admission.ts';
import { loadPolicyEngine } from './load-engine.ts';

/** The expressions of a policy must compile. One that was stored before is not refused for what has not changed. */
export const policyExpressions: Admission = {
  create: (kind, object) => (isKind(kind, 'ValidatingAdmissionPolicy') ? checkExpressions(kind, object) : undefined),
  async update(kind, next, previous) {
    if (!isKind(kind, 'ValidatingAdmissionPolicy')) return;
    const { spec } = next as ValidatingAdmissionPolicy;
    if (!equalValues(spec, (previous as ValidatingAdmissionPolicy).spec)) await checkExpressions(kind, next);
  },
};

async function checkExpressions(kind: Kind, policy: ValidatingAdmissionPolicy): Promise<void> {
  const { compilePolicy } = await loadPolicyEngine();
  const { violations } = compilePolicy(policy);
  if (violations.length === 0) return;
  // All at once: validation comes later, and would find the rest only when these are mended.
  const all = [...kind.validate(policy), ...violations];
  throw invalid({ kind: 'ValidatingAdmissionPolicy', name: policy.metadata?.name ?? '' }, all);
}
