import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerStatus,
  HPAScalingRules,
  MetricStatus,
  Pod,
} from '../../api/generated/types.ts';
import { parseQuantity } from '../../api/meta/quantity.ts';
import { recommendedSince, type ScaleHistory, scaleDownLimit, scaleUpLimit, windowsOf, withRecommendation } from './history.ts';
import { type MetricFailure, proposeReplicas } from './metrics.ts';
import type { Tolerances } from './replicas-for-usage.ts';
import { type Rescale, type SaidEvent, Sayings } from './status.ts';
import type { PodUsages } from './usage.ts';

/** Berth looks at each autoscaler so often, as Kubernetes does. */
export const syncPeriodMs = 15_000;

/** What is known of the target. */
export interface Target {
  readonly replicas: number;
  readonly selection: Selection | { readonly problem: SelectionProblem };
}

export interface Selection {
  readonly pods: readonly Pod[];
  readonly usages: PodUsages;
}

export interface SelectionProblem {
  readonly reason: 'SelectorRequired' | 'InvalidSelector' | 'AmbiguousSelector';
  /** Of the event. */
  readonly message: string;
  /** Of the condition, where it is another. */
  readonly condition?: string;
}

export interface ScalePlan {
  /** The write of the target's scale; undefined when it stays. `afterRescale` then says how that went. */
  readonly rescale: Rescale | undefined;
  readonly status: HorizontalPodAutoscalerStatus;
  readonly events: readonly SaidEvent[];
  readonly history: ScaleHistory;
}

export interface ScaleInput {
  readonly target: Target;
  readonly history: ScaleHistory;
  readonly now: Date;
}

/** The rules are those of Kubernetes' horizontal pod autoscaler (autoscaling/v2), and so are all words. */
export function decideScale(hpa: HorizontalPodAutoscaler, { target, history, now }: ScaleInput): ScalePlan {
  const said = new Sayings(hpa, now);
  const { replicas: current } = target;
  const { minReplicas = 1, maxReplicas = 1 } = hpa.spec ?? {};
  said.set('AbleToScale', 'True', 'SucceededGetScale', "the HPA controller was able to get the target's current scale");
  const finish = (desired: number, metrics: MetricStatus[], reason?: string, next = history): ScalePlan => {
    const rescale = reason !== undefined && desired !== current ? { from: current, to: desired, reason } : undefined;
    return { rescale, status: statusOf(hpa, said, { current, desired, metrics }), events: said.events, history: next };
  };
  if (current === 0 && minReplicas !== 0) {
    const message = 'scaling is disabled since the replica count of the target is zero';
    said.set('ScalingActive', 'False', 'ScalingDisabled', message);
    return finish(0, []);
  }
  if (current > maxReplicas) return finish(maxReplicas, [], 'Current number of replicas above Spec.MaxReplicas');
  if (current < minReplicas) return finish(minReplicas, [], 'Current number of replicas below Spec.MinReplicas');
  const wanted = computeWanted(hpa, target, said);
  if (wanted.replicas === undefined) return finish(hpa.status?.desiredReplicas ?? current, wanted.statuses);
  const reason = wanted.replicas > current ? `${wanted.name} above target` : 'All metrics below target';
  const input = { hpa, current, wanted: wanted.replicas, history, nowMs: now.getTime() };
  const stable = stabilize(input, said);
  const desired = limit({ ...input, wanted: stable }, said);
  return finish(desired, wanted.statuses, reason, withRecommendation(history, wanted.replicas, now.getTime()));
}

interface Figures {
  readonly current: number;
  readonly desired: number;
  readonly metrics: MetricStatus[];
}

function statusOf(hpa: HorizontalPodAutoscaler, said: Sayings, { current, desired, metrics }: Figures) {
  const { lastScaleTime } = hpa.status ?? {};
  return {
    observedGeneration: hpa.metadata?.generation ?? 0,
    ...(lastScaleTime && { lastScaleTime }),
    currentReplicas: current,
    desiredReplicas: desired,
    currentMetrics: metrics,
    conditions: [...said.conditions],
  };
}

interface Wanted {
  /** Undefined when it cannot be told. */
  readonly replicas: number | undefined;
  /** The metric that wants the most. */
  readonly name: string;
  readonly statuses: MetricStatus[];
}

/** The most that any metric wants. While some are not known the target only grows. */
function computeWanted(hpa: HorizontalPodAutoscaler, { replicas: current, selection }: Target, said: Sayings): Wanted {
  if ('problem' in selection) {
    const { reason, message, condition = message } = selection.problem;
    said.warn(reason, message);
    said.set('ScalingActive', 'False', reason === 'SelectorRequired' ? 'InvalidSelector' : reason, condition);
    said.warn('FailedComputeMetricsReplicas', message);
    return { replicas: undefined, name: '', statuses: [] };
  }
  const { metrics = [] } = hpa.spec ?? {};
  const input = { ...selection, namespace: hpa.metadata?.namespace ?? '', current, tolerances: tolerancesOf(hpa) };
  const statuses: MetricStatus[] = [];
  const failures: MetricFailure[] = [];
  let [replicas, name] = [0, ''];
  for (const metric of metrics) {
    const proposal = proposeReplicas(metric, input);
    statuses.push(proposal.status);
    if ('failure' in proposal) {
      said.warn(proposal.failure.reason, proposal.failure.message);
      failures.push(proposal.failure);
    } else if (replicas === 0 || proposal.replicas > replicas) [replicas, name] = [proposal.replicas, proposal.name];
  }
  const [first] = failures;
  if (first && (failures.length === metrics.length || replicas < current)) {
    said.set('ScalingActive', 'False', first.reason, `the HPA was unable to compute the replica count: ${first.message}`);
    const counts = `${failures.length} invalid out of ${metrics.length}`;
    said.warn('FailedComputeMetricsReplicas', `invalid metrics (${counts}), first error is: ${first.summary}`);
    return { replicas: undefined, name, statuses };
  }
  const message = `the HPA was able to successfully calculate a replica count from ${name}`;
  said.set('ScalingActive', 'True', 'ValidMetricFound', message);
  return { replicas, name, statuses };
}

const usualTolerance = 0.1;

function tolerancesOf({ spec }: HorizontalPodAutoscaler): Tolerances {
  const of = (rules: HPAScalingRules | undefined): number =>
    rules?.tolerance ? Number(parseQuantity(rules.tolerance).nanos) / 1e9 : usualTolerance;
  return { up: of(spec?.behavior?.scaleUp), down: of(spec?.behavior?.scaleDown) };
}

interface Step {
  readonly hpa: HorizontalPodAutoscaler;
  readonly current: number;
  readonly wanted: number;
  readonly history: ScaleHistory;
  readonly nowMs: number;
}

/** Between the least that was recommended in the window of growing and the most in that of shrinking. */
function stabilize({ hpa, current, wanted, history, nowMs }: Step, said: Sayings): number {
  const windows = windowsOf(hpa.spec?.behavior);
  const least = Math.min(wanted, ...recommendedSince(history, nowMs, windows.up));
  const most = Math.max(wanted, ...recommendedSince(history, nowMs, windows.down));
  const stable = Math.min(Math.max(current, least), most);
  if (stable === wanted) said.set('AbleToScale', 'True', 'ReadyForNewScale', 'recommended size matches current size');
  else if (wanted >= current) {
    const message = 'recent recommendations were lower than current one, applying the lowest recent recommendation';
    said.set('AbleToScale', 'True', 'ScaleUpStabilized', message);
  } else {
    const message = 'recent recommendations were higher than current one, applying the highest recent recommendation';
    said.set('AbleToScale', 'True', 'ScaleDownStabilized', message);
  }
  return stable;
}

const limits = {
  ScaleUpLimit: 'the desired replica count is increasing faster than the maximum scale rate',
  TooManyReplicas: 'the desired replica count is more than the maximum replica count',
  ScaleDownLimit: 'the desired replica count is decreasing faster than the maximum scale rate',
  TooFewReplicas: 'the desired replica count is less than the minimum replica count',
} as const;

/** What is wanted within the bounds of the autoscaler, and no faster than its policies allow. */
function limit(step: Step, said: Sayings): number {
  const { hpa, wanted } = step;
  const { minReplicas = 1, maxReplicas = 1 } = hpa.spec ?? {};
  const rates = ratesOf(step);
  const most = Math.min(maxReplicas, rates.most);
  const least = Math.max(minReplicas, rates.least);
  let reason: keyof typeof limits | undefined;
  if (wanted > most) reason = maxReplicas > rates.most ? 'ScaleUpLimit' : 'TooManyReplicas';
  else if (wanted < least) reason = minReplicas < rates.least ? 'ScaleDownLimit' : 'TooFewReplicas';
  if (reason) said.set('ScalingLimited', 'True', reason, limits[reason]);
  else said.set('ScalingLimited', 'False', 'DesiredWithinRange', 'the desired count is within the acceptable range');
  return Math.max(least, Math.min(most, wanted));
}

/** Without policies the target at most doubles, or grows to four, at once. */
function ratesOf({ hpa, current, history, nowMs }: Step): { readonly most: number; readonly least: number } {
  const { behavior } = hpa.spec ?? {};
  if (!behavior) return { most: Math.max(2 * current, 4), least: 0 };
  const input = { history, current, nowMs };
  return {
    most: scaleUpLimit({ ...input, rules: behavior.scaleUp ?? {} }),
    least: scaleDownLimit({ ...input, rules: behavior.scaleDown ?? {} }),
  };
}
