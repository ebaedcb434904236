import { ApiError, asApiError } from '../../../api/errors/index.ts';
import type { Eviction } from '../../../api/generated/types.ts';
import { evictPod } from '../../registry/evict.ts';
import { CallWrite } from '../call-write.ts';
import type { Action } from './action.ts';

/** Pods.Evict: deletes a pod if its PodDisruptionBudget allows that. */
export const evict = {
  of: 'Pod',
  method: 'Evict',
  access: 'create-eviction',
  body: { kind: 'Eviction', apiVersions: ['policy/v1', 'policy/v1beta1'], message: 'berth.policy.v1.Eviction' },
  answer: 'status',
  prepare({ object, options }, { registry }, call) {
    const deps = { pods: registry.store('Pod'), budgets: registry.store('PodDisruptionBudget') };
    // Either says that it is not meant: the eviction's own options as well as those of the call.
    const dryRun = [...(options?.dryRun ?? []), ...(object.deleteOptions?.dryRun ?? [])];
    const write = new CallWrite({ ...options, dryRun }, call);
    return { run: () => evictPod(deps, object, write) };
  },
  /** Without a time, so that no client library waits by itself for what may take hours. */
  asHttpError(error) {
    const known = asApiError(error);
    if (known?.reason !== 'DisruptionBudget') return error;
    const message = "Cannot evict pod as it would violate the pod's disruption budget.";
    const cause = { reason: known.reason, description: known.message, field: '' };
    return new ApiError(known.code, 'TooManyRequests', message, { violations: [cause] });
  },
} as const satisfies Action<Eviction>;
