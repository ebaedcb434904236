import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromJson, toJson } from '../../../codec/json.ts';
import type { HorizontalPodAutoscaler, HorizontalPodAutoscalerV1 } from '../../../generated/types.ts';
import type { JsonObject } from '../../../meta/merge-patch.ts';
import { horizontalPodAutoscaler } from '../kind.ts';
import { horizontalPodAutoscalerV1 as v1 } from './v1.ts';

const { toStored, fromStored } = v1.conversion!;
const names = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  current: 'autoscaling.alpha.kubernetes.io/current-metrics',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
};
const stored = (json: object): HorizontalPodAutoscaler => fromJson(horizontalPodAutoscaler, json);
const older = (json: object): HorizontalPodAutoscalerV1 => fromJson(v1, json);
const toNewest = (json: object): JsonObject => toJson(horizontalPodAutoscaler, toStored(older(json)));
const toOlder = (json: object): JsonObject => toJson(v1, fromStored(stored(json)));

const cpu = (averageUtilization: number) => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});
const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };

describe('autoscaling/v1', () => {
  it('has the CPU usage as a field, as in the example of the documentation', () => {
    const spec = { scaleTargetRef: reference, minReplicas: 1, maxReplicas: 10 };
    const metadata = { name: 'php-apache' };
    const old = { apiVersion: 'autoscaling/v1', metadata, spec: { ...spec, targetCPUUtilizationPercentage: 50 } };
    const newest = { apiVersion: 'autoscaling/v2', metadata, spec: { ...spec, metrics: [cpu(50)] } };
    expect(toNewest(old)).toEqual({ ...newest, kind: 'HorizontalPodAutoscaler' });
    expect(toOlder(newest)).toEqual({ ...old, kind: 'HorizontalPodAutoscaler' });
  });

  it.each<[string, JsonObject, JsonObject]>([
    [
      'resource',
      { name: 'memory', targetAverageValue: '1Gi' },
      { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
    ],
    [
      'containerResource',
      { name: 'cpu', container: 'main', targetAverageUtilization: 60 },
      { name: 'cpu', container: 'main', target: { type: 'Utilization', averageUtilization: 60 } },
    ],
    [
      'pods',
      { metricName: 'rps', targetAverageValue: '1k' },
      { metric: { name: 'rps' }, target: { type: 'AverageValue', averageValue: '1k' } },
    ],
    [
      'object',
      { target: { ...reference }, metricName: 'rps', targetValue: '2k', selector: { matchLabels: { verb: 'GET' } } },
      {
        describedObject: { ...reference },
        metric: { name: 'rps', selector: { matchLabels: { verb: 'GET' } } },
        target: { type: 'Value', value: '2k' },
      },
    ],
    [
      'external',
      { metricName: 'queue', metricSelector: { matchLabels: { a: 'b' } }, targetAverageValue: '30' },
      {
        metric: { name: 'queue', selector: { matchLabels: { a: 'b' } } },
        target: { type: 'AverageValue', averageValue: '30' },
      },
    ],
  ])('has a metric of the type %s in its annotation', (member, old, newest) => {
    const type = member.charAt(0).toUpperCase() + member.slice(1);
    const annotated = toOlder({ spec: { metrics: [{ type, [member]: newest }] } });
    const { annotations } = annotated.metadata as { annotations: Record<string, string> };
    expect(Object.keys(annotations)).toEqual([names.metrics]);
    expect(JSON.parse(annotations[names.metrics]!)).toEqual([{ type, [member]: old }]);
    expect(toNewest(annotated)).toMatchObject({ spec: { metrics: [{ type, [member]: newest }] } });
  });

  it('reads the annotations that Kubernetes writes, where amounts that are not set are 0 or null', () => {
    const object = { target: reference, metricName: 'rps', targetValue: '0', averageValue: '5' };
    const annotations = {
      [names.metrics]: JSON.stringify([{ type: 'Object', object }]),
      [names.behavior]:
        '{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":60,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":15}],"Tolerance":null}}',
      [names.conditions]: '[{"type":"AbleToScale","status":"True","lastTransitionTime":null}]',
      'example.com/kept': 'yes',
    };
    expect(toNewest({ metadata: { annotations }, spec: { targetCPUUtilizationPercentage: 70 } })).toMatchObject({
      metadata: { annotations: { 'example.com/kept': 'yes' } },
      spec: {
        metrics: [
          { type: 'Object', object: { metric: { name: 'rps' }, target: { type: 'AverageValue', averageValue: '5' } } },
          cpu(70),
        ],
        behavior: {
          scaleDown: {
            stabilizationWindowSeconds: 60,
            selectPolicy: 'Max',
            policies: [{ type: 'Pods', value: 1, periodSeconds: 15 }],
          },
        },
      },
      status: { conditions: [{ type: 'AbleToScale', status: 'True' }] },
    });
  });

  it.each([
    [names.metrics, '{', 'it is no JSON'],
    [names.metrics, '{}', 'it is no list of objects'],
    [names.metrics, '[{"type":"Pods","pods":{"metricNam":"x"}}]', 'metricNam'],
    [names.metrics, `${'['.repeat(200)}${']'.repeat(200)}`, 'it is nested too deeply'],
    [names.behavior, '{"ScaleSideways":{}}', 'scaleSideways'],
  ])('refuses the annotation %s that is %s', (name, text, why) => {
    const read = () => toStored(older({ metadata: { name: 'a', annotations: { [name]: text } } }));
    expect(read).toThrow(`metadata.annotations[${name}]`);
    expect(read).toThrow(why);
  });

  it('writes the behavior with capital letters, as Kubernetes does', () => {
    const behavior = { scaleDown: { stabilizationWindowSeconds: 60 } };
    const { annotations } = toOlder({ spec: { behavior } }).metadata as { annotations: Record<string, string> };
    expect(annotations[names.behavior]).toBe('{"ScaleDown":{"StabilizationWindowSeconds":60}}');
  });

  it.each([
    ['more characters than annotations may have', `[${' '.repeat(262_144)}]`, 'more than 262144 characters'],
    ['more values than an object may have', `[${'{},'.repeat(20_000)}{}]`, 'more than 10000 objects'],
  ])('refuses %s at once', (_, text, why) => {
    const metadata = { annotations: { 'autoscaling.alpha.kubernetes.io/metrics': text } };
    expect(() => toStored(older({ metadata }))).toThrow(why);
  });

  it('follows a change of its CPU usage, also where the metrics of autoscaling/v2 were in another order', () => {
    const memory = { type: 'Resource', resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 9 } } };
    const read = toOlder({ spec: { metrics: [cpu(50), memory] } });
    expect(toNewest(read)).toMatchObject({ spec: { metrics: [cpu(50), memory] } });
    const changed = { ...read, spec: { targetCPUUtilizationPercentage: 60 } };
    expect(toNewest(changed)).toMatchObject({ spec: { metrics: [memory, cpu(60)] } });
  });
});

describe('there and back', () => {
  const some = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }, requiredKeys: (keyof T)[] = []) =>
    fc.record(model, { requiredKeys: requiredKeys as never, noNullPrototype: true });
  const amount = fc.constantFrom('0', '1', '100m', '2Gi');
  const name = fc.constantFrom('cpu', 'memory', 'rps');
  const percent = fc.integer({ min: 1, max: 100 });
  const selector = fc.constantFrom({ matchLabels: { a: 'b' } }, { matchExpressions: [{ key: 'a', operator: 'Exists' }] });
  const metric = some({ name, selector }, ['name']);
  const target = some({
    type: fc.constantFrom('Utilization', 'Value', 'AverageValue'),
    value: amount,
    averageValue: amount,
    averageUtilization: percent,
  });
  const current = some({ value: amount, averageValue: amount, averageUtilization: percent });
  const source = (values: Record<string, fc.Arbitrary<unknown>>) =>
    fc.oneof(
      some({ type: fc.constant('Resource'), resource: some({ name, ...values }) }),
      some({ type: fc.constant('ContainerResource'), containerResource: some({ name, container: name, ...values }) }),
      some({ type: fc.constant('Pods'), pods: some({ metric, ...values }) }),
      some({ type: fc.constant('Object'), object: some({ metric, describedObject: fc.constant(reference), ...values }) }),
      some({ type: fc.constant('External'), external: some({ metric, ...values }) }),
    );
  const rules = some({
    stabilizationWindowSeconds: fc.nat(3600),
    selectPolicy: fc.constantFrom('Max', 'Min', 'Disabled'),
    policies: fc.array(some({ type: fc.constantFrom('Pods', 'Percent'), value: percent, periodSeconds: percent }), {
      minLength: 1,
      maxLength: 2,
    }),
    tolerance: amount,
  });
  const annotations = fc.dictionary(fc.constantFrom('a', 'b'), fc.string({ maxLength: 3 }), {
    minKeys: 1,
    noNullPrototype: true,
  });
  const metadata = some({ name, annotations });
  const bounds = { scaleTargetRef: fc.constant(reference), minReplicas: percent, maxReplicas: percent };
  const observed = {
    observedGeneration: fc.nat(9),
    currentReplicas: fc.nat(9),
    lastScaleTime: fc.constant('2026-01-01T00:00:00Z'),
  };
  const conditions = fc.array(some({ type: name, status: fc.constantFrom('True', 'False'), reason: name }), { maxLength: 2 });

  it('an object of autoscaling/v2 is what it was', () => {
    const model = {
      metadata,
      spec: some({
        ...bounds,
        metrics: fc.array(source({ target }), { maxLength: 3 }),
        behavior: some({ scaleUp: rules, scaleDown: rules }),
      }),
      status: some({ ...observed, currentMetrics: fc.array(source({ current }), { maxLength: 3 }), conditions }),
    };
    fc.assert(
      fc.property(some(model, ['metadata', 'spec']), (json) => {
        const object = stored(json);
        const sent = older(toJson(v1, fromStored(object)));
        expect(toJson(horizontalPodAutoscaler, toStored(sent))).toEqual(toJson(horizontalPodAutoscaler, object));
      }),
      { seed: 18, numRuns: 500 },
    );
  });

  it('an object of autoscaling/v1 comes back unchanged, with annotations for the measured metrics', () => {
    const any = some({
      metadata,
      spec: some({ ...bounds, targetCPUUtilizationPercentage: percent }),
      status: some({ ...observed, currentCPUUtilizationPercentage: percent }),
    });
    fc.assert(
      fc.property(any, (json) => {
        expect(toJson(v1, fromStored(toStored(older(json))))).toMatchObject(toJson(v1, older(json)));
      }),
      { seed: 18 },
    );
  });
});
