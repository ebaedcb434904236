import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HorizontalPodAutoscaler, HPAScalingRules, MetricSpec } from '../../api/generated/types.ts';
import { defaultHorizontalPodAutoscaler } from '../../api/kinds/horizontal-pod-autoscaler/defaults.ts';
import { decideScale, type ScalePlan, type Target } from './decide.ts';
import { beginHistory, type ScaleHistory, withChange } from './history.ts';
import { afterRescale, withoutScale } from './status.ts';
import { now, podOf, usagesOf } from './test-pods.ts';

const cpu: MetricSpec = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
};
const rps: MetricSpec = {
  type: 'Pods',
  pods: { metric: { name: 'rps' }, target: { type: 'AverageValue', averageValue: { string: '1' } } },
};
const hpaOf = (spec: HorizontalPodAutoscaler['spec'] = {}): HorizontalPodAutoscaler => {
  const made: HorizontalPodAutoscaler = {
    metadata: { namespace: 'default', name: 'web', generation: 1 },
    spec: { minReplicas: 1, maxReplicas: 10, metrics: [cpu], ...spec },
  };
  defaultHorizontalPodAutoscaler(made);
  return made;
};

/** So many pods that together use what `wanted` pods would at their target. */
function targetOf(replicas: number, wanted: number, count = replicas): Target {
  const pods = Array.from({ length: count }, (_, i) => podOf(`p${i}`));
  // Just below, since a percentage is a whole number.
  const milli = Math.floor(((wanted - 0.5) * 500) / count);
  const usages = usagesOf(Object.fromEntries(pods.map(({ metadata }) => [metadata?.uid ?? '', { cpu: `${milli}m` }])));
  return { replicas, selection: { pods, usages } };
}

const old = (replicas = 0): ScaleHistory => beginHistory(replicas, now - 4_000_000);
const decide = (hpa: HorizontalPodAutoscaler, target: Target, history = old()): ScalePlan =>
  decideScale(hpa, { target, history, now: new Date(now) });
const reasons = ({ status }: Pick<ScalePlan, 'status'>) =>
  Object.fromEntries((status.conditions ?? []).map(({ type, status: is, reason }) => [type, `${is} ${reason}`]));

const inRange = { ScalingLimited: 'False DesiredWithinRange' };
const active = { ScalingActive: 'True ValidMetricFound', AbleToScale: 'True ReadyForNewScale' };
const rules = (type: string, value: number, more: HPAScalingRules = {}): HPAScalingRules => ({
  stabilizationWindowSeconds: 0,
  policies: [{ type, value, periodSeconds: 60 }],
  ...more,
});

describe('an autoscaler', () => {
  it.each<[string, HorizontalPodAutoscaler, Target, ScaleHistory, number, object]>([
    ['grows its target', hpaOf(), targetOf(2, 4), old(), 4, { ...active, ...inRange }],
    ['shrinks it when nothing more was wanted lately', hpaOf(), targetOf(6, 3), old(6), 3, { ...active, ...inRange }],
    ['leaves it at what is wanted', hpaOf(), targetOf(3, 3), old(), 3, { ...active, ...inRange }],
    [
      'waits five minutes before it shrinks it',
      hpaOf(),
      targetOf(6, 3),
      beginHistory(6, now - 299_000),
      6,
      { AbleToScale: 'True ScaleDownStabilized', ...inRange },
    ],
    [
      'shrinks it to the most that was wanted in five minutes',
      hpaOf(),
      targetOf(6, 3),
      beginHistory(4, now - 299_000),
      4,
      { AbleToScale: 'True ScaleDownStabilized' },
    ],
    ['keeps below its maximum', hpaOf({ maxReplicas: 5 }), targetOf(4, 8), old(), 5, { ScalingLimited: 'True TooManyReplicas' }],
    ['keeps above its minimum', hpaOf({ minReplicas: 2 }), targetOf(4, 1), old(), 2, { ScalingLimited: 'True TooFewReplicas' }],
    [
      'at most doubles it at once',
      hpaOf({ maxReplicas: 50 }),
      targetOf(5, 40),
      old(),
      10,
      { ScalingLimited: 'True ScaleUpLimit' },
    ],
    ['grows it up to four at once', hpaOf(), targetOf(1, 9), old(), 4, { ScalingLimited: 'True ScaleUpLimit' }],
    ['brings it down to its maximum without metrics', hpaOf({ maxReplicas: 3 }), targetOf(7, 7), old(), 3, {}],
    ['brings it up to its minimum without metrics', hpaOf({ minReplicas: 3 }), targetOf(1, 1), old(), 3, {}],
    ['leaves it at none', hpaOf(), targetOf(0, 4, 1), old(), 0, { ScalingActive: 'False ScalingDisabled' }],
    ['takes the largest of several metrics', hpaOf({ metrics: [cpu, cpu] }), targetOf(2, 4), old(), 4, active],
    ['grows it though a metric is missing', hpaOf({ metrics: [rps, cpu] }), targetOf(2, 4), old(), 4, active],
    [
      'does not shrink it while a metric is missing',
      hpaOf({ metrics: [cpu, rps] }),
      targetOf(6, 3),
      old(),
      6,
      { ScalingActive: 'False FailedGetPodsMetric' },
    ],
    [
      'leaves it when its only metric is missing',
      hpaOf({ metrics: [rps] }),
      targetOf(6, 3),
      old(),
      6,
      { ScalingActive: 'False FailedGetPodsMetric', AbleToScale: 'True SucceededGetScale' },
    ],
    [
      'grows by what its policy lets it',
      hpaOf({ behavior: { scaleUp: rules('Pods', 1) } }),
      targetOf(2, 9),
      old(),
      3,
      { ScalingLimited: 'True ScaleUpLimit' },
    ],
    [
      'does not grow when its policy was used up within the period',
      hpaOf({ behavior: { scaleUp: rules('Pods', 2) } }),
      targetOf(4, 9),
      withChange(old(), { from: 2, to: 4 }, now - 59_000),
      4,
      { ScalingLimited: 'True ScaleUpLimit' },
    ],
    [
      'grows again after the period',
      hpaOf({ behavior: { scaleUp: rules('Pods', 2) } }),
      targetOf(4, 9),
      withChange(old(), { from: 2, to: 4 }, now - 60_000),
      6,
      {},
    ],
    ['grows by a part, rounded up', hpaOf({ behavior: { scaleUp: rules('Percent', 10) } }), targetOf(5, 9), old(), 6, {}],
    [
      'does not grow when that is disabled',
      hpaOf({ behavior: { scaleUp: rules('Pods', 5, { selectPolicy: 'Disabled' }) } }),
      targetOf(2, 9),
      old(),
      2,
      { ScalingLimited: 'True ScaleUpLimit' },
    ],
    [
      'takes the policy that lets it grow the least with Min',
      hpaOf({
        behavior: {
          scaleUp: {
            selectPolicy: 'Min',
            policies: [
              { type: 'Pods', value: 4, periodSeconds: 60 },
              { type: 'Percent', value: 50, periodSeconds: 60 },
            ],
          },
        },
      }),
      targetOf(4, 9),
      old(),
      6,
      {},
    ],
    [
      'shrinks by what its policy lets it',
      hpaOf({ behavior: { scaleDown: rules('Pods', 1) } }),
      targetOf(6, 2),
      old(),
      5,
      { ScalingLimited: 'True ScaleDownLimit' },
    ],
    [
      'waits with growing for what was wanted in the window',
      hpaOf({ behavior: { scaleUp: rules('Pods', 9, { stabilizationWindowSeconds: 60 }) } }),
      targetOf(2, 9),
      beginHistory(3, now - 50_000),
      3,
      { AbleToScale: 'True ScaleUpStabilized' },
    ],
    [
      'changes nothing within the tolerance of the direction',
      hpaOf({ behavior: { scaleUp: rules('Pods', 9, { tolerance: { string: '1' } }) } }),
      targetOf(2, 4),
      old(),
      2,
      inRange,
    ],
  ])('%s', (_title, hpa, target, history, replicas, conditions) => {
    const plan = decide(hpa, target, history);
    expect(plan.rescale?.to ?? target.replicas).toBe(replicas);
    expect(reasons(plan)).toMatchObject(conditions);
  });

  it.each<[string, ScalePlan, string | undefined]>([
    ['grows', decide(hpaOf(), targetOf(2, 4)), 'cpu resource utilization (percentage of request) above target'],
    ['shrinks', decide(hpaOf(), targetOf(4, 2)), 'All metrics below target'],
    ['is too large', decide(hpaOf({ maxReplicas: 2 }), targetOf(4, 2)), 'Current number of replicas above Spec.MaxReplicas'],
    ['is too small', decide(hpaOf({ minReplicas: 5 }), targetOf(4, 2)), 'Current number of replicas below Spec.MinReplicas'],
    ['stays', decide(hpaOf(), targetOf(4, 4)), undefined],
  ])('says why its target %s', (_title, { rescale }, reason) => {
    expect(rescale?.reason).toBe(reason);
  });

  it.each<[string, 'SelectorRequired' | 'InvalidSelector' | 'AmbiguousSelector', string]>([
    ['has no selector', 'SelectorRequired', 'InvalidSelector'],
    ['has a selector that is none', 'InvalidSelector', 'InvalidSelector'],
    ['has pods that another one scales', 'AmbiguousSelector', 'AmbiguousSelector'],
  ])('leaves a target that %s', (_title, reason, condition) => {
    const plan = decide(hpaOf(), { replicas: 3, selection: { problem: { reason, message: 'why' } } });
    expect(plan.rescale).toBeUndefined();
    expect(reasons(plan)).toMatchObject({ ScalingActive: `False ${condition}` });
    expect(plan.events).toMatchObject([{ reason }, { reason: 'FailedComputeMetricsReplicas' }]);
  });

  it('says what it has done, and that the server refused it', () => {
    const plan = decide(hpaOf(), targetOf(2, 4));
    const hpa = { ...hpaOf(), status: plan.status };
    const done = afterRescale(hpa, plan.rescale!, new Date(now));
    expect(done.events).toEqual([
      {
        type: 'Normal',
        reason: 'SuccessfulRescale',
        message: 'New size: 4; reason: cpu resource utilization (percentage of request) above target',
      },
    ]);
    expect(done.status).toMatchObject({ currentReplicas: 2, desiredReplicas: 4, lastScaleTime: { seconds: now / 1000 } });
    expect(reasons(done)).toMatchObject({ AbleToScale: 'True SucceededRescale' });
    const refused = afterRescale(hpa, plan.rescale!, new Date(now), 'no');
    expect(refused.events).toMatchObject([{ type: 'Warning', reason: 'FailedRescale' }]);
    expect(refused.status.lastScaleTime).toBeUndefined();
    expect(reasons(refused)).toMatchObject({ AbleToScale: 'False FailedUpdateScale' });
    expect(reasons(withoutScale(hpa, 'not found', new Date(now)))).toMatchObject({ AbleToScale: 'False FailedGetScale' });
  });
});

const rulesArbitrary = fc.record({
  stabilizationWindowSeconds: fc.integer({ min: 0, max: 120 }),
  selectPolicy: fc.constantFrom('Max', 'Min', 'Disabled'),
  policies: fc.array(
    fc.record({
      type: fc.constantFrom('Pods', 'Percent'),
      value: fc.integer({ min: 1, max: 100 }),
      periodSeconds: fc.integer({ min: 1, max: 90 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

interface Passed {
  readonly atMs: number;
  readonly wanted: number;
  readonly from: number;
  readonly to: number;
}

/** Syncs every 15 s while the load is as given, each from what the one before has left. */
function simulate(hpa: HorizontalPodAutoscaler, start: number, loads: readonly number[]): Passed[] {
  let [replicas, history] = [start, beginHistory(start, now)];
  return loads.map((wanted, i) => {
    const atMs = now + i * 15_000;
    const plan = decideScale(hpa, { target: targetOf(replicas, wanted), history, now: new Date(atMs) });
    history = plan.rescale ? withChange(plan.history, plan.rescale, atMs) : plan.history;
    const from = replicas;
    replicas = plan.rescale?.to ?? replicas;
    const recommended = plan.history.recommendations.at(-1);
    return { atMs, wanted: recommended?.atMs === atMs ? recommended.replicas : from, from, to: replicas };
  });
}

/** How many pods one policy lets a target of `before` pods have after its period. */
const allowed = (before: number, { type, value = 0 }: { type?: string; value?: number }, sign: 1 | -1): number =>
  before + sign * (type === 'Pods' ? value : Math.ceil((before * value) / 100));

describe('in any course of load an autoscaler', () => {
  const course = fc.record({
    behavior: fc.option(fc.record({ scaleUp: rulesArbitrary, scaleDown: rulesArbitrary }), { nil: undefined }),
    bounds: fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 0, max: 30 })),
    start: fc.integer({ min: 1, max: 60 }),
    loads: fc.array(fc.integer({ min: 1, max: 80 }), { minLength: 1, maxLength: 30 }),
  });
  const made = ({ behavior, bounds: [minReplicas, more] }: { behavior: unknown; bounds: [number, number] }) =>
    hpaOf({ minReplicas, maxReplicas: minReplicas + more, ...(behavior ? { behavior } : {}) });

  it('keeps its target within the bounds from the first sync on', () => {
    fc.assert(
      fc.property(course, (given) => {
        const hpa = made(given);
        const { minReplicas = 1, maxReplicas = 1 } = hpa.spec ?? {};
        for (const { to } of simulate(hpa, given.start, given.loads)) {
          expect(to).toBeGreaterThanOrEqual(minReplicas);
          expect(to).toBeLessThanOrEqual(maxReplicas);
        }
      }),
    );
  });

  it('grows and shrinks no faster than each policy lets it, where one direction and one policy count', () => {
    fc.assert(
      fc.property(course, fc.constantFrom<1 | -1>(1, -1), fc.constantFrom('Pods', 'Percent'), (given, sign, type) => {
        const policy = { type, value: given.bounds[0], periodSeconds: 60 };
        const free = { stabilizationWindowSeconds: 0, policies: [{ type: 'Percent', value: 100, periodSeconds: 1 }] };
        const held = { stabilizationWindowSeconds: 0, policies: [policy] };
        const hpa = hpaOf({
          minReplicas: 1,
          maxReplicas: 100,
          behavior:
            sign === 1
              ? { scaleUp: held, scaleDown: { ...free, selectPolicy: 'Disabled' } }
              : { scaleUp: { ...free, selectPolicy: 'Disabled' }, scaleDown: held },
        });
        const passed = simulate(hpa, given.start, given.loads);
        passed.forEach(({ atMs, to }) => {
          const before = passed.find((each) => each.atMs > atMs - 60_000)!.from;
          const bound = allowed(before, policy, sign);
          if (sign === 1) expect(to).toBeLessThanOrEqual(bound);
          else expect(to).toBeGreaterThanOrEqual(bound);
        });
      }),
    );
  });

  it('never shrinks below, nor grows above, what its metrics wanted all through the window', () => {
    fc.assert(
      fc.property(course, (given) => {
        const hpa = made(given);
        const { minReplicas = 1, maxReplicas = 1, behavior } = hpa.spec ?? {};
        const up = (behavior?.scaleUp?.stabilizationWindowSeconds ?? 0) * 1000;
        const down = (behavior?.scaleDown?.stabilizationWindowSeconds ?? 300) * 1000;
        const passed = simulate(hpa, given.start, given.loads);
        for (const { atMs, from, to } of passed) {
          if (from < minReplicas || from > maxReplicas) continue;
          const wantedIn = (ms: number) =>
            passed
              .filter((each) => each.atMs <= atMs && (each.atMs > atMs - ms || each.atMs === atMs))
              .map(({ wanted }) => wanted);
          if (to < from) expect(to).toBeGreaterThanOrEqual(Math.min(maxReplicas, Math.max(...wantedIn(down))));
          if (to > from) expect(to).toBeLessThanOrEqual(Math.max(minReplicas, Math.min(...wantedIn(up))));
        }
      }),
    );
  });

  it('comes to what a steady load needs, and stays there', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 30 }), (start, load) => {
        const passed = simulate(hpaOf({ maxReplicas: 40 }), start, Array<number>(40).fill(load));
        const last = passed.at(-1)!;
        expect(Math.abs(last.to - load)).toBeLessThanOrEqual(Math.ceil(load * 0.15));
        expect(passed.slice(-5).every(({ from, to }) => from === to)).toBe(true);
      }),
    );
  });
});
