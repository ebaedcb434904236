import { describe, expect, it } from 'vitest';
import type { Tree } from '../describe/json.ts';
import { answerOf } from './workload-answer.ts';
import { answerText } from './workload-report.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const nothing = { troubles: [], oldTroubles: [], pods: [], events: [], podEvents: new Map(), budgets: [] };
const about = { ...nothing, kind: 'HorizontalPodAutoscaler', now };

describe('an autoscaler', () => {
  const hpa = (...conditions: readonly (readonly [type: string, status: string, reason: string])[]): Tree => ({
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      scaleTargetRef: { kind: 'Deployment', name: 'web' },
      ...{ minReplicas: 2, maxReplicas: 10 },
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }],
    },
    status: {
      ...{ currentReplicas: 2, desiredReplicas: 3 },
      currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 96, averageValue: '96m' } } }],
      conditions: conditions.map(([type, status, reason]) => ({ type, status, reason, message: `why ${reason}` })),
    },
  });
  const able = ['AbleToScale', 'True', 'ReadyForNewScale'] as const;
  const metrics = 'Note: resource cpu on pods  (as a percentage of request) (current / target): 96% (96m) / 80%.';
  const further = 'Note: "berth why deployment/web" says how deployment/web stands.';
  const headline = (what: string) => `horizontalpodautoscaler default/web ${what}: 2 replicas, 3 wanted, of 2 to 10.`;

  it.each<[string, Tree, readonly string[]]>([
    ['scales its target', hpa(able, ['ScalingActive', 'True', 'ValidMetricFound']), [headline('scales deployment/web'), metrics]],
    [
      'cannot measure its target',
      hpa(able, ['ScalingActive', 'False', 'FailedGetResourceMetric']),
      [
        headline('does not scale deployment/web'),
        'ScalingActive is False, FailedGetResourceMetric: why FailedGetResourceMetric',
        metrics,
      ],
    ],
    [
      'is at its bound',
      hpa(able, ['ScalingActive', 'True', 'ValidMetricFound'], ['ScalingLimited', 'True', 'TooManyReplicas']),
      [
        headline('scales deployment/web'),
        metrics,
        'Note: the number of replicas is limited, TooManyReplicas: why TooManyReplicas.',
      ],
    ],
    [
      'is switched off by a target of no replicas',
      hpa(able, ['ScalingActive', 'False', 'ScalingDisabled']),
      [headline('is at rest while deployment/web is scaled to 0'), metrics],
    ],
    ['is new', hpa(), [headline('has not been looked at by its controller, and does not scale deployment/web yet'), metrics]],
  ])('that %s says its target, its metrics and its conditions', (_, object, lines) => {
    const answer = answerText(answerOf({ ...about, object }));
    expect(answer).toBe(`${[...lines, further].join('\n\n')}\n`);
  });

  it('that has computed nothing yet does not say that none are wanted', () => {
    const object = hpa(able, ['ScalingActive', 'False', 'FailedGetResourceMetric']);
    const status = { ...(object.status as Tree), desiredReplicas: 0 };
    expect(answerOf({ ...about, object: { ...object, status } }).headline).toBe(
      'horizontalpodautoscaler default/web does not scale deployment/web: 2 replicas, of 2 to 10.',
    );
  });
});
