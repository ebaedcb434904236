import { describe, expect, it } from 'vitest';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HPAScalingRules,
  MetricSpec,
  MetricTarget,
} from '../../generated/types.ts';
import { kindNamed, kindOf } from '../index.ts';

const kind = kindNamed('HorizontalPodAutoscaler');
const web = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };

function autoscaler(spec: HorizontalPodAutoscalerSpec = {}): HorizontalPodAutoscaler {
  const built = { metadata: { name: 'web' }, spec: structuredClone({ scaleTargetRef: web, maxReplicas: 5, ...spec }) };
  kind.defaults(built);
  return built;
}

const refused = (spec: HorizontalPodAutoscalerSpec): string[] => kind.validate(autoscaler(spec)).map(({ field }) => field);
const quantity = (string: string) => ({ string });

describe('the defaults of an autoscaler', () => {
  it('are one pod at the least, CPU at 80 %, and no behaviour', () => {
    expect(autoscaler().spec).toEqual({
      scaleTargetRef: web,
      minReplicas: 1,
      maxReplicas: 5,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }],
    });
  });

  const up = {
    selectPolicy: 'Max',
    stabilizationWindowSeconds: 0,
    policies: [
      { type: 'Pods', value: 4, periodSeconds: 15 },
      { type: 'Percent', value: 100, periodSeconds: 15 },
    ],
  };
  const down = { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] };
  const tolerance = quantity('0.05');
  const policies = [{ type: 'Pods', value: 1, periodSeconds: 60 }];

  it.each<[string, { scaleUp?: HPAScalingRules; scaleDown?: HPAScalingRules }, object]>([
    ['both directions', {}, { scaleUp: up, scaleDown: down }],
    [
      'the other direction',
      { scaleUp: { selectPolicy: 'Disabled' } },
      { scaleUp: { ...up, selectPolicy: 'Disabled' }, scaleDown: down },
    ],
    ['what is not said', { scaleDown: { tolerance, policies } }, { scaleUp: up, scaleDown: { ...down, tolerance, policies } }],
    [
      'nothing that is said',
      { scaleDown: { stabilizationWindowSeconds: 60 } },
      { scaleUp: up, scaleDown: { ...down, stabilizationWindowSeconds: 60 } },
    ],
  ])('complete the behaviour in %s', (_title, behavior, expected) => {
    expect(autoscaler({ behavior }).spec?.behavior).toEqual(expected);
  });
});

describe('an autoscaler', () => {
  const external: MetricSpec = {
    type: 'External',
    external: { metric: { name: 'queue' }, target: { type: 'Value', value: quantity('30') } },
  };
  const window = (stabilizationWindowSeconds: number) => ({ behavior: { scaleDown: { stabilizationWindowSeconds } } });
  const policy = (type: string, value: number, periodSeconds: number) => ({
    behavior: { scaleUp: { policies: [{ type, value, periodSeconds }] } },
  });

  it.each<[string, HorizontalPodAutoscalerSpec, string[]]>([
    ['a target', {}, []],
    [
      'no target',
      { scaleTargetRef: {} },
      ['spec.scaleTargetRef.kind', 'spec.scaleTargetRef.name', 'spec.scaleTargetRef.apiVersion'],
    ],
    ['a DaemonSet as its target', { scaleTargetRef: { ...web, kind: 'DaemonSet' } }, ['spec.scaleTargetRef.kind']],
    [
      'a Job as its target',
      { scaleTargetRef: { apiVersion: 'batch/v1', kind: 'Job', name: 'web' } },
      ['spec.scaleTargetRef.kind'],
    ],
    ['a target whose name is none', { scaleTargetRef: { ...web, name: 'a/b' } }, ['spec.scaleTargetRef.name']],
    ['a target of no group', { scaleTargetRef: { kind: 'Deployment', name: 'web' } }, ['spec.scaleTargetRef.apiVersion']],
    ['a target of the core group', { scaleTargetRef: { apiVersion: 'v1', kind: 'ReplicationController', name: 'web' } }, []],
    ['a version with two slashes', { scaleTargetRef: { ...web, apiVersion: 'a/b/c' } }, ['spec.scaleTargetRef.apiVersion']],
    ['no most pods', { maxReplicas: 0 }, ['spec.maxReplicas']],
    ['more at the least than at the most', { minReplicas: 6 }, ['spec.maxReplicas']],
    ['a negative number of pods', { minReplicas: -1 }, ['spec.minReplicas']],
    ['no pods at the least, by CPU', { minReplicas: 0 }, ['spec.metrics']],
    ['no pods at the least, by a queue', { minReplicas: 0, metrics: [external] }, []],
    ['the longest window', window(3600), []],
    ['a window that is too long', window(3601), ['spec.behavior.scaleDown.stabilizationWindowSeconds']],
    ['a negative window', window(-1), ['spec.behavior.scaleDown.stabilizationWindowSeconds']],
    ['a choice that does not exist', { behavior: { scaleUp: { selectPolicy: 'Any' } } }, ['spec.behavior.scaleUp.selectPolicy']],
    ['a tolerance', { behavior: { scaleUp: { tolerance: quantity('0') } } }, []],
    ['a negative tolerance', { behavior: { scaleUp: { tolerance: quantity('-0.1') } } }, ['spec.behavior.scaleUp.tolerance']],
    ['a policy', policy('Percent', 10, 1800), []],
    ['a policy of no type', policy('', 1, 60), ['spec.behavior.scaleUp.policies[0].type']],
    ['a policy that changes nothing', policy('Pods', 0, 60), ['spec.behavior.scaleUp.policies[0].value']],
    ['a policy of no time', policy('Pods', 1, 0), ['spec.behavior.scaleUp.policies[0].periodSeconds']],
    ['a policy of a long time', policy('Pods', 1, 1801), ['spec.behavior.scaleUp.policies[0].periodSeconds']],
  ])('is judged when it has %s', (_title, spec, fields) => expect(refused(spec)).toEqual(fields));

  const cpu = (target: MetricTarget): MetricSpec => ({ type: 'Resource', resource: { name: 'cpu', target } });
  const percent: MetricTarget = { type: 'Utilization', averageUtilization: 50 };
  it.each<[string, MetricSpec, string[]]>([
    ['CPU in percent', cpu(percent), []],
    [
      'memory as an amount',
      { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: quantity('1Gi') } } },
      [],
    ],
    ['no type', {}, ['type']],
    ['a type that does not exist', { type: 'Mood' }, ['type']],
    ['a type without its field', { type: 'Pods' }, ['pods']],
    ['the field of another type', { ...cpu(percent), external: external.external! }, ['external']],
    ['a resource without a name', { type: 'Resource', resource: { target: percent } }, ['resource.name']],
    [
      'a resource without a target',
      { type: 'Resource', resource: { name: 'cpu' } },
      ['resource.target.type', 'resource.target.averageValue'],
    ],
    ['a target of an unknown type', cpu({ ...percent, type: 'Most' }), ['resource.target.type']],
    ['0 %', cpu({ type: 'Utilization', averageUtilization: 0 }), ['resource.target.averageUtilization']],
    ['percent and an amount', cpu({ ...percent, averageValue: quantity('1') }), ['resource.target.averageValue']],
    ['an amount of 0', cpu({ type: 'AverageValue', averageValue: quantity('0') }), ['resource.target.averageValue']],
    ['an amount that is none', cpu({ type: 'AverageValue', averageValue: quantity('much') }), ['resource.target.averageValue']],
    ['a container', { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'main', target: percent } }, []],
    [
      'no container',
      { type: 'ContainerResource', containerResource: { name: 'cpu', target: percent } },
      ['containerResource.container'],
    ],
    [
      'a metric of pods',
      { type: 'Pods', pods: { metric: { name: 'rps' }, target: { type: 'AverageValue', averageValue: quantity('1k') } } },
      [],
    ],
    [
      'a metric of pods as a whole',
      { type: 'Pods', pods: { metric: { name: 'rps' }, target: { type: 'Value', value: quantity('1k') } } },
      ['pods.target.averageValue'],
    ],
    [
      'a metric without a name',
      { type: 'External', external: { target: { type: 'Value', value: quantity('1') } } },
      ['external.metric.name'],
    ],
    [
      'a metric with a slash',
      { type: 'External', external: { metric: { name: 'a/b' }, target: { type: 'Value', value: quantity('1') } } },
      ['external.metric.name'],
    ],
    [
      'both targets from outside',
      {
        type: 'External',
        external: { metric: { name: 'a' }, target: { type: 'Value', value: quantity('1'), averageValue: quantity('1') } },
      },
      ['external.target.value'],
    ],
    [
      'an object that is not named',
      { type: 'Object', object: { metric: { name: 'rps' }, target: { type: 'Value', value: quantity('1') } } },
      ['object.describedObject.kind', 'object.describedObject.name'],
    ],
  ])('is judged when it measures %s', (_title, metric, fields) => {
    expect(refused({ metrics: [metric] })).toEqual(fields.map((field) => `spec.metrics[0].${field}`));
  });

  it('warns of what is not measured', () => {
    expect(kind.warnings?.(autoscaler({ metrics: [external] }))).toEqual([
      expect.stringMatching(/^spec\.metrics\[0\]\.external is not acted on/),
    ]);
    expect(kind.warnings?.(autoscaler())).toEqual([]);
  });

  it('has numbers of pods in its status', () => {
    const status = { currentReplicas: -1, desiredReplicas: -1 };
    const found = kind.validateStatusUpdate?.({ status }, {}).map(({ field }) => field);
    expect(found).toEqual(['status.currentReplicas', 'status.desiredReplicas']);
  });

  it('shows what kubectl shows', () => {
    expect(kindOf('hpa')).toBe(kind);
    const cells = (object: HorizontalPodAutoscaler) =>
      Object.fromEntries(kind.columns.map(({ name, cell }) => [name, cell(object, new Date())]));
    expect(cells(autoscaler())).toMatchObject({
      REFERENCE: 'Deployment/web',
      TARGETS: 'cpu: <unknown>/80%',
      MINPODS: '1',
      MAXPODS: '5',
      REPLICAS: '0',
    });
    const status = {
      currentReplicas: 3,
      currentMetrics: [
        { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 12, averageValue: quantity('12m') } } },
        { type: 'External', external: { current: { value: quantity('7') } } },
      ],
    };
    const shown = cells({ ...autoscaler({ metrics: [cpu(percent), external, cpu(percent)] }), status });
    expect(shown).toMatchObject({ TARGETS: 'cpu: 12%/50%, 7/30 + 1 more...', REPLICAS: '3' });
    const amount = autoscaler({ metrics: [cpu({ type: 'AverageValue', averageValue: quantity('100m') })] });
    expect(cells({ ...amount, status }).TARGETS).toBe('cpu: 12m/100m');
  });
});
