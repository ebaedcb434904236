import type { HorizontalPodAutoscalerBehavior, HPAScalingRules } from '../../api/generated/types.ts';

interface Recommendation {
  readonly atMs: number;
  readonly replicas: number;
}

interface Change {
  readonly atMs: number;
  readonly count: number;
}

/** What is remembered of an autoscaler: what its metrics said, and how its target was changed. */
export interface ScaleHistory {
  readonly recommendations: readonly Recommendation[];
  readonly ups: readonly Change[];
  readonly downs: readonly Change[];
}

/** Of one sync in 15 s, an hour has 240; others come from changes of the autoscaler. */
const mostRemembered = 1_000;
const longestWindowMs = 3_600_000;

/** An autoscaler that was not known before may have wanted what there is: nothing goes at once. */
export function beginHistory(replicas: number, atMs: number): ScaleHistory {
  return { recommendations: [{ atMs, replicas }], ups: [], downs: [] };
}

export function withRecommendation(history: ScaleHistory, replicas: number, atMs: number): ScaleHistory {
  return { ...history, recommendations: remember(history.recommendations, { atMs, replicas }, atMs) };
}

export function withChange(history: ScaleHistory, { from, to }: { from: number; to: number }, atMs: number): ScaleHistory {
  if (to > from) return { ...history, ups: remember(history.ups, { atMs, count: to - from }, atMs) };
  return { ...history, downs: remember(history.downs, { atMs, count: from - to }, atMs) };
}

function remember<T extends { readonly atMs: number }>(known: readonly T[], next: T, nowMs: number): T[] {
  return [...known.filter(({ atMs }) => atMs > nowMs - longestWindowMs).slice(1 - mostRemembered), next];
}

/** Recommendations of so many seconds before now; the present one is not among them. */
export function recommendedSince({ recommendations }: ScaleHistory, nowMs: number, seconds: number): number[] {
  return recommendations.filter(({ atMs }) => atMs > nowMs - seconds * 1000).map(({ replicas }) => replicas);
}

/** How many pods the target had so many seconds ago, by what was changed since. */
function replicasBefore({ ups, downs }: ScaleHistory, current: number, since: number): number {
  const sum = (changes: readonly Change[]) =>
    changes.filter(({ atMs }) => atMs > since).reduce((total, { count }) => total + count, 0);
  return current - sum(ups) + sum(downs);
}

interface LimitInput {
  readonly rules: HPAScalingRules;
  readonly history: ScaleHistory;
  readonly current: number;
  readonly nowMs: number;
}

/** How many pods there may be at most, by the policies; never fewer than there are. */
export function scaleUpLimit({ rules, history, current, nowMs }: LimitInput): number {
  const { selectPolicy, policies = [] } = rules;
  if (selectPolicy === 'Disabled' || policies.length === 0) return current;
  const limits = policies.map(({ type, value = 0, periodSeconds = 0 }) => {
    const before = replicasBefore(history, current, nowMs - periodSeconds * 1000);
    return type === 'Percent' ? before + Math.ceil((before * value) / 100) : before + value;
  });
  return Math.max(current, selectPolicy === 'Min' ? Math.min(...limits) : Math.max(...limits));
}

/** How many pods there must be at least, by the policies; never more than there are. */
export function scaleDownLimit({ rules, history, current, nowMs }: LimitInput): number {
  const { selectPolicy, policies = [] } = rules;
  if (selectPolicy === 'Disabled' || policies.length === 0) return current;
  const limits = policies.map(({ type, value = 0, periodSeconds = 0 }) => {
    const before = replicasBefore(history, current, nowMs - periodSeconds * 1000);
    return type === 'Percent' ? Math.floor((before * (100 - value)) / 100) : before - value;
  });
  return Math.min(current, selectPolicy === 'Min' ? Math.max(...limits) : Math.min(...limits));
}

const usualWindowSeconds = 300;

/** How long what was recommended counts. */
export function windowsOf(behavior: HorizontalPodAutoscalerBehavior | undefined): { up: number; down: number } {
  return {
    up: behavior?.scaleUp?.stabilizationWindowSeconds ?? 0,
    down: behavior?.scaleDown?.stabilizationWindowSeconds ?? usualWindowSeconds,
  };
}
