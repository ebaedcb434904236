import type { HorizontalPodAutoscaler, HPAScalingRules, MetricSpec } from '../../generated/types.ts';

const CPU_PERCENT = 80;
const PERIOD_SECONDS = 15;

/** Without metrics, CPU at 80 % of what the pods request. */
const usualMetric = (): MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: CPU_PERCENT } },
});

export function defaultHorizontalPodAutoscaler({ spec }: HorizontalPodAutoscaler): void {
  if (!spec) return;
  spec.minReplicas ??= 1;
  if (!spec.metrics?.length) spec.metrics = [usualMetric()];
  if (!spec.behavior) return;
  spec.behavior.scaleUp = withDefaults(spec.behavior.scaleUp, {
    stabilizationWindowSeconds: 0,
    policies: [
      { type: 'Pods', value: 4, periodSeconds: PERIOD_SECONDS },
      { type: 'Percent', value: 100, periodSeconds: PERIOD_SECONDS },
    ],
  });
  // The window is left open: the controller has a setting for it.
  spec.behavior.scaleDown = withDefaults(spec.behavior.scaleDown, {
    policies: [{ type: 'Percent', value: 100, periodSeconds: PERIOD_SECONDS }],
  });
}

/** An empty list of policies is as good as none: the protocol cannot tell them apart. */
function withDefaults(said: HPAScalingRules | undefined, usual: HPAScalingRules): HPAScalingRules {
  const { selectPolicy, policies, ...others } = said ?? {};
  return {
    ...usual,
    ...others,
    selectPolicy: selectPolicy || 'Max',
    ...(policies?.length && { policies }),
  };
}
