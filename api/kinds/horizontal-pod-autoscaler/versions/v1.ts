import { ApiError } from '../../../errors/api-error.ts';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerBehavior,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerV1,
  MetricSpec,
  MetricStatus,
} from '../../../generated/types.ts';
import { equalValues } from '../../../meta/equal.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../meta/merge-patch.ts';
import { works } from '../../field-support.ts';
import { metadataFields } from '../../metadata-fields.ts';
import { olderVersion } from '../../older-version.ts';
import { horizontalPodAutoscaler } from '../kind.ts';
import { HeldReader, jsonOf, withHeld } from './annotations.ts';
import { newerSpec, newerStatus, olderSpec, olderStatus } from './metric-forms.ts';

const isCpu = ({ type, resource }: MetricSpec | MetricStatus): boolean => type === 'Resource' && resource?.name === 'cpu';

/** The CPU usage that autoscaling/v1 has a field for, and the other metrics in its form. */
interface OlderMetrics {
  readonly cpu: number | undefined;
  readonly others: readonly JsonObject[];
}

/** As Kubernetes: the first metric of CPU counts, if it says a part of what is requested. */
function olderMetrics(metrics: readonly MetricSpec[]): OlderMetrics {
  const utilization = ({ resource }: MetricSpec): number | undefined => resource?.target?.averageUtilization;
  const first = metrics.find(isCpu);
  const others = metrics.filter((metric) => !isCpu(metric) || utilization(metric) === undefined);
  return { cpu: first && utilization(first), others: others.map((metric) => olderSpec(jsonOf('MetricSpec', metric))) };
}

function newerMetrics({ cpu, others }: OlderMetrics, reader: HeldReader): MetricSpec[] {
  const found = reader.messages<MetricSpec>('metrics', 'MetricSpec', others.map(newerSpec));
  if (cpu === undefined) return found;
  return [...found, { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: cpu } } }];
}

function newerStatuses(cpu: number | undefined, listed: readonly JsonObject[] | undefined, reader: HeldReader): MetricStatus[] {
  if (listed) return reader.messages<MetricStatus>('currentMetrics', 'MetricStatus', listed.map(newerStatus));
  if (cpu === undefined) return [];
  return [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: cpu } } }];
}

/** The behavior has capital letters in its annotation, and null for what is not set: Kubernetes reads either form. */
function recased(value: Json, change: (letter: string) => string): Json {
  if (Array.isArray(value)) return value.map((item) => recased(item, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [change(name.charAt(0)) + name.slice(1), recased(inner, change)]),
  );
}

/** Reading makes errors about the annotations of this object, which are caught. */
const noReader = new HeldReader({});

/** Whether what was made of an older form is what there was. What was stored by an earlier server may be unreadable. */
function givesBack(read: () => readonly object[], wanted: readonly object[]): boolean {
  try {
    return equalValues(read(), wanted);
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

function fromStored({ metadata, spec, status }: HorizontalPodAutoscaler): HorizontalPodAutoscalerV1 {
  const { metrics = [], behavior, ...wanted } = spec ?? {};
  const { currentMetrics = [], conditions = [], ...observed } = status ?? {};
  const { cpu, others } = olderMetrics(metrics);
  const listed = currentMetrics.map((each) => olderStatus(jsonOf('MetricStatus', each)));
  const currentCpu = currentMetrics.find(isCpu)?.resource?.current?.averageUtilization;
  const isSame =
    givesBack(() => newerMetrics({ cpu, others }, noReader), metrics) &&
    givesBack(() => newerStatuses(undefined, listed, noReader), currentMetrics);
  const exact = {
    metrics: metrics.map((each) => jsonOf('MetricSpec', each)),
    currentMetrics: currentMetrics.map((each) => jsonOf('MetricStatus', each)),
  };
  const held = {
    metrics: others.length > 0 ? [...others] : undefined,
    currentMetrics: listed.length > 0 ? listed : undefined,
    conditions: conditions.length > 0 ? conditions.map((each) => jsonOf('HorizontalPodAutoscalerCondition', each)) : undefined,
    behavior: behavior && recased(jsonOf('HorizontalPodAutoscalerBehavior', behavior), (letter) => letter.toUpperCase()),
    exact: isSame ? undefined : exact,
  };
  const holdsNothing = Object.values(held).every((value) => value === undefined);
  return {
    ...((metadata || !holdsNothing) && { metadata: withHeld(metadata, held) }),
    ...(spec && { spec: { ...wanted, ...(cpu !== undefined && { targetCPUUtilizationPercentage: cpu }) } }),
    ...(status && { status: { ...observed, ...(currentCpu !== undefined && { currentCPUUtilizationPercentage: currentCpu }) } }),
  };
}

/** The exact metrics, as long as the fields and annotations of autoscaling/v1 still say what these come to there. */
function exactMetrics(reader: HeldReader, said: OlderMetrics): MetricSpec[] | undefined {
  const exact = reader.json('exact');
  if (!isJsonObject(exact)) return undefined;
  const metrics = reader.messages<MetricSpec>('exact', 'MetricSpec', reader.list('exact', exact.metrics) ?? []);
  return equalValues(olderMetrics(metrics), said) ? metrics : undefined;
}

function exactStatuses(reader: HeldReader, listed: readonly JsonObject[] | undefined): MetricStatus[] | undefined {
  const exact = reader.json('exact');
  if (!isJsonObject(exact)) return undefined;
  const objects = reader.list('exact', exact.currentMetrics) ?? [];
  const statuses = reader.messages<MetricStatus>('exact', 'MetricStatus', objects);
  return equalValues(objects.map(olderStatus), listed ?? []) ? statuses : undefined;
}

function toStored(older: HorizontalPodAutoscalerV1): HorizontalPodAutoscaler {
  const { metadata, spec, status } = older;
  const reader = new HeldReader(older);
  const { targetCPUUtilizationPercentage: cpu, ...wanted } = spec ?? {};
  const { currentCPUUtilizationPercentage: currentCpu, ...observed } = status ?? {};
  const said = { cpu, others: reader.list('metrics') ?? [] };
  const metrics = exactMetrics(reader, said) ?? newerMetrics(said, reader);
  const held = reader.json('behavior');
  const behavior =
    held === undefined || held === null
      ? undefined
      : reader.message<HorizontalPodAutoscalerBehavior>(
          'behavior',
          'HorizontalPodAutoscalerBehavior',
          recased(held, (letter) => letter.toLowerCase()),
        );
  const listed = reader.list('currentMetrics');
  const currentMetrics = exactStatuses(reader, listed) ?? newerStatuses(currentCpu, listed, reader);
  const conditions = reader.messages<HorizontalPodAutoscalerCondition>(
    'conditions',
    'HorizontalPodAutoscalerCondition',
    reader.list('conditions') ?? [],
  );
  const wantsMore = metrics.length > 0 || behavior !== undefined;
  const isMeasured = currentMetrics.length > 0 || conditions.length > 0;
  return {
    ...(metadata && { metadata: withHeld(metadata, {}) }),
    ...((spec || wantsMore) && { spec: { ...wanted, ...(metrics.length > 0 && { metrics }), ...(behavior && { behavior }) } }),
    ...((status || isMeasured) && {
      status: {
        ...observed,
        ...(currentMetrics.length > 0 && { currentMetrics }),
        ...(conditions.length > 0 && { conditions }),
      },
    }),
  };
}

/** CPU has a field; all else that autoscaling/v2 has is in annotations, as in Kubernetes. */
export const horizontalPodAutoscalerV1 = olderVersion<HorizontalPodAutoscaler, HorizontalPodAutoscalerV1>(
  horizontalPodAutoscaler,
  {
    apiVersion: 'autoscaling/v1',
    message: 'berth.autoscaling.v1.HorizontalPodAutoscaler',
    fields: { ...metadataFields, spec: works, status: works },
    toStored,
    fromStored,
  },
);
