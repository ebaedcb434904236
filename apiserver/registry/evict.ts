import { ApiError, conflict, failedPrecondition, invalid, notFound } from '../../api/errors/index.ts';
import { required } from '../../api/errors/violations.ts';
import type { DeleteOptions, Eviction, Pod, PodDisruptionBudget } from '../../api/generated/types.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { decideEviction, isBeyondBudgets } from '../../api/kinds/pod-disruption-budget/decide-eviction.ts';
import { setCondition } from '../../api/meta/conditions.ts';
import { labelSelectorMatches } from '../../api/meta/labels.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { admitSubresource, judgeOf } from './admit.ts';
import type { AnyObject } from './any-object.ts';
import { checkDelete, checkPreconditions, decideDelete } from './delete.ts';
import type { KindStore, ObjectName } from './kind-store.ts';
import type { StoreResult } from './store-values.ts';
import type { Current, WriteContext } from './write-context.ts';

const EVICTION = { apiVersion: 'policy/v1', kind: 'Eviction', message: 'berth.policy.v1.Eviction' };

export interface EvictDeps {
  readonly pods: KindStore;
  readonly budgets: KindStore;
}

/** The budget's decision on an eviction. */
type Permission = 'unbudgeted' | 'counted' | 'beyond' | 'unready';

/** Attempts when the pod changes between decision and delete; then the client retries. */
const MAX_ATTEMPTS = 5;
const RETRY_AFTER_MS = 10_000;

/**
 * Deletes a pod if its budget allows that. The budget's status is written first, compared and swapped, so that of two
 * evictions at once the second is judged by what the first left. Throws RESOURCE_EXHAUSTED with the budget's name and a
 * delay when it allows none now, FAILED_PRECONDITION when the pod has several budgets, ABORTED when a precondition
 * fails.
 */
export async function evictPod(deps: EvictDeps, eviction: Eviction, context: WriteContext): Promise<StoreResult> {
  const { pods } = deps;
  const at = nameOf(pods, eviction);
  const { deleteOptions: options = {} } = judgeOf(pods, context)
    ? await admitSubresource(pods, at, { subresource: 'eviction', form: EVICTION, object: eviction }, context)
    : eviction;
  checkDelete(pods, at, options);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const permission = await ask(deps, at, options, context);
    try {
      return await deleteEvicted(pods, { at, options, permission }, permission === 'counted' ? lasting(context) : context);
    } catch (error) {
      if (error !== changedMeanwhile) throw error;
    }
  }
  throw conflict(pods.subject(at), 'it changes too often to be evicted: try again');
}

/**
 * What was taken from the budget is used, also when the caller has gone meanwhile: the next eviction would be refused
 * for a pod that stays.
 */
function lasting(context: WriteContext): WriteContext {
  return { ...context, caller: undefined };
}

function nameOf(pods: KindStore, { metadata = {} }: Eviction): ObjectName {
  const { namespace = '', name = '' } = metadata;
  const missing = [...(name ? [] : [required('metadata.name')]), ...(namespace ? [] : [required('metadata.namespace')])];
  if (missing.length > 0) throw invalid({ ...pods.subject({ namespace, name }), kind: 'Eviction' }, missing);
  return { namespace, name };
}

/** Takes the pod's disruption from its budget, if it has one that counts. */
async function ask(deps: EvictDeps, at: ObjectName, options: DeleteOptions, context: WriteContext): Promise<Permission> {
  const { pods, budgets } = deps;
  const entry = await pods.read(at);
  if (!entry) throw notFound(pods.subject(at));
  const pod = pods.cache.decoder.decode(entry) as Pod;
  checkPreconditions(pods, at, options, { previous: pod as AnyObject, revision: entry.revision });
  if (isBeyondBudgets(pod)) return 'beyond';
  const budget = await budgetOf(budgets, at, pod);
  if (budget === undefined) return 'unbudgeted';
  let permission: Permission = 'unready';
  const compute = (previous: AnyObject): AnyObject => {
    const leave = decideEviction(previous as PodDisruptionBudget, pod, budgets.origin().now);
    if (leave.kind === 'refused') throw refusal(budgets, at, budget, leave.why);
    permission = leave.kind === 'counted' ? 'counted' : 'unready';
    return leave.kind === 'counted' ? ({ ...previous, status: leave.status } as AnyObject) : previous;
  };
  const { user, manager, dryRun, caller } = context;
  await budgets.change(budget, {
    context: { user, manager, dryRun, caller, exceedsLimits: true },
    verb: 'update-status',
    compute,
  });
  return permission;
}

async function budgetOf(budgets: KindStore, { namespace }: ObjectName, pod: Pod): Promise<ObjectName | undefined> {
  await budgets.fresh();
  const found: ObjectName[] = [];
  for (const entry of budgets.cache.range(`${budgets.keyPrefix}${namespace}/`)) {
    const { metadata, spec } = budgets.cache.decoder.decode(entry) as PodDisruptionBudget;
    if (labelSelectorMatches(spec?.selector, pod.metadata?.labels)) found.push({ namespace, name: metadata?.name ?? '' });
  }
  if (found.length < 2) return found[0];
  const names = found.map(({ name }) => `"${name}"`).join(', ');
  const why = `cannot evict pod "${pod.metadata?.name}": it has more than one PodDisruptionBudget (${names}), which evictions do not support`;
  throw failedPrecondition('InternalError', why, budgets.subject(found[0]!));
}

/** A reason of its own: a client that waits and calls again by itself would wait for something that may take hours. */
function refusal(budgets: KindStore, at: ObjectName, budget: ObjectName, why: string): ApiError {
  const message = `cannot evict pod "${at.name}" as it would violate the pod's disruption budget: the disruption budget ${budget.name} ${why}`;
  const options = { retryAfterMs: RETRY_AFTER_MS, subject: budgets.subject(budget) };
  return new ApiError('RESOURCE_EXHAUSTED', 'DisruptionBudget', message, options);
}

/** The pod has changed since the budget's decision. */
const changedMeanwhile = new Error('outdated');

interface Evicted {
  readonly at: ObjectName;
  readonly options: DeleteOptions;
  readonly permission: Permission;
}

async function deleteEvicted(pods: KindStore, { at, options, permission }: Evicted, context: WriteContext): Promise<StoreResult> {
  const compute = (previous: AnyObject, { revision }: Current): AnyObject | 'remove' => {
    checkPreconditions(pods, at, options, { previous, revision });
    const pod = previous as Pod;
    if (permission === 'beyond' && !isBeyondBudgets(pod)) throw changedMeanwhile;
    if (permission === 'unready' && isPodReady(pod)) throw changedMeanwhile;
    return decideDelete(pods, options, withTarget(pod, pods.origin().now) as AnyObject);
  };
  const change = { context, verb: 'delete', compute, isAdmitted: true };
  return { bytes: await pods.change(at, change), warnings: [] };
}

/** Sets the condition DisruptionTarget, which says why the pod ends. */
function withTarget(pod: Pod, now: Date): Pod {
  const { generation: observedGeneration } = pod.metadata ?? {};
  const target = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    ...(observedGeneration && { observedGeneration }),
  };
  return { ...pod, status: { ...pod.status, conditions: setCondition(pod.status?.conditions, target, secondsTimestamp(now)) } };
}
