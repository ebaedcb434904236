import { invalid } from '../../../api/errors/index.ts';
import type { ValidatingAdmissionPolicy } from '../../../api/generated/types.ts';
import { isKind } from '../../../api/kinds/index.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import type { Admission } from '../admission.ts';
import { loadPolicyEngine } from './load-engine.ts';

/** The expressions of a policy must compile. One that was stored before is not refused for what has not changed. */
export const policyExpressions: Admission = {
  async create(kind, object) {
    if (isKind(kind, 'ValidatingAdmissionPolicy')) await checkExpressions(object);
  },
  async update(kind, next, previous) {
    if (!isKind(kind, 'ValidatingAdmissionPolicy')) return;
    const { spec } = next as ValidatingAdmissionPolicy;
    if (!equalValues(spec, (previous as ValidatingAdmissionPolicy).spec)) await checkExpressions(next);
  },
};

async function checkExpressions(policy: ValidatingAdmissionPolicy): Promise<void> {
  const { compilePolicy } = await loadPolicyEngine();
  const { violations } = compilePolicy(policy);
  if (violations.length > 0) throw invalid({ kind: 'ValidatingAdmissionPolicy', name: policy.metadata?.name ?? '' }, violations);
}
