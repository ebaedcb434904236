import type { MetricSpec, MetricStatus, MetricTarget, MetricValueStatus, Pod } from '../../api/generated/types.ts';
import { canonicalQuantity, quantityMilli } from '../../api/meta/quantity.ts';
import { type Need, replicasForAverage, replicasForUtilization, type Tolerances } from './replicas-for-usage.ts';
import { type FigureName, figuresOf, type PodUsages } from './usage.ts';

/** What one metric says. */
export type Proposal =
  | { readonly replicas: number; readonly name: string; readonly status: MetricStatus }
  | { readonly failure: MetricFailure; readonly status: MetricStatus };

export interface MetricFailure {
  /** Of the event and the condition, with the message. */
  readonly reason: string;
  readonly message: string;
  /** What failed, for the message about all metrics. */
  readonly summary: string;
}

export interface MetricInput {
  readonly namespace: string;
  readonly pods: readonly Pod[];
  readonly usages: PodUsages;
  readonly current: number;
  readonly tolerances: Tolerances;
}

/** How many pods a metric wants, or in Kubernetes' words why it cannot be told. */
export function proposeReplicas(metric: MetricSpec, input: MetricInput): Proposal {
  const { type = '', resource, containerResource, pods, object, external } = metric;
  const unmeasured = (reason: string, message: string, summary: string): Proposal => ({
    status: { type },
    failure: { reason, message, summary: `${summary}: ${message}` },
  });
  const custom = (name = '') =>
    `unable to get metric ${name}: unable to fetch metrics from custom metrics API: ${noneRegistered('custom')}`;
  if (type === 'Resource') return proposeByResource(resource?.name ?? '', resource?.target ?? {}, input);
  if (type === 'ContainerResource') {
    const { name = '', target = {}, container = '' } = containerResource ?? {};
    return proposeByResource(name, target, input, container);
  }
  if (type === 'Pods') return unmeasured('FailedGetPodsMetric', custom(pods?.metric?.name), 'failed to get pods metric value');
  if (type === 'Object')
    return unmeasured('FailedGetObjectMetric', custom(object?.metric?.name), 'failed to get object metric value');
  if (type === 'External') {
    const name = external?.metric?.name ?? '';
    const cause = `unable to fetch metrics from external metrics API: ${noneRegistered('external')}`;
    const message = `unable to get external metric ${input.namespace}/${name}: ${cause}`;
    return unmeasured('FailedGetExternalMetric', message, `failed to get ${name} external metric value`);
  }
  return unmeasured('InvalidMetricSourceType', `unknown metric source type "${type}"`, 'invalid metric source type');
}

/** Berth measures CPU and memory of pods, and has no server of other metrics. */
const noneRegistered = (which: 'custom' | 'external') => `no ${which} metrics API (${which}.metrics.k8s.io) registered`;

function proposeByResource(resource: string, target: MetricTarget, input: MetricInput, container?: string): Proposal {
  const figure: FigureName = { resource, ...(container !== undefined && { container }) };
  const [type, kind, reason] =
    container === undefined
      ? (['Resource', 'resource', 'FailedGetResourceMetric'] as const)
      : (['ContainerResource', 'container', 'FailedGetContainerResourceMetric'] as const);
  const { averageValue, averageUtilization } = target;
  const part = container === undefined ? 'resource' : 'container resource';
  try {
    if (averageValue) {
      const need = attempt(`failed to get ${resource} usage`, () =>
        replicasForAverage({ ...input, figure, figures: measured(input, figure) }, quantityMilli(averageValue)),
      );
      return { replicas: need.replicas, name: `${resource} ${part}`, status: statusOf(type, figure, need) };
    }
    if (averageUtilization === undefined)
      throw new Error(
        'invalid resource metric source: neither an average utilization target nor an average value (usage) target was set',
      );
    const need = attempt(`failed to get ${resource} utilization`, () =>
      replicasForUtilization({ ...input, figure, figures: measured(input, figure) }, averageUtilization),
    );
    const name = `${resource} ${part} utilization (percentage of request)`;
    return { replicas: need.replicas, name, status: statusOf(type, figure, need) };
  } catch (error) {
    const message = messageOf(error);
    const summary = `failed to get ${resource} ${kind} metric value: ${message}`;
    return { status: { type }, failure: { reason, message, summary } };
  }
}

const measured = ({ pods, usages }: MetricInput, figure: FigureName) =>
  attempt(`unable to get metrics for resource ${figure.resource}`, () => figuresOf(pods, usages, figure));

/** What fails says besides what it was for. */
function attempt<T>(purpose: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Error(`${purpose}: ${messageOf(error)}`, { cause: error });
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function statusOf(type: 'Resource' | 'ContainerResource', { resource, container }: FigureName, need: Need): MetricStatus {
  const current: MetricValueStatus = {
    averageValue: { string: canonicalQuantity(`${need.averageMilli}m`) },
    ...(need.utilization !== undefined && { averageUtilization: need.utilization }),
  };
  if (type === 'Resource') return { type, resource: { name: resource, current } };
  return { type, containerResource: { name: resource, container: container ?? '', current } };
}
