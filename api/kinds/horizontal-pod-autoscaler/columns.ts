import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn, textColumn, UNKNOWN } from '../cells.ts';
import type { Column } from '../kind.ts';

/** So many metrics are shown, and how many more there are. */
const SHOWN_METRICS = 2;

/** "cpu: 12%/80%, 4k/10k (avg) + 1 more...": each metric as it is, and as it should be. */
function targetsCell({ spec, status }: HorizontalPodAutoscaler): string {
  const all = (spec?.metrics ?? []).map((metric, i) => metricCell(metric, status?.currentMetrics?.[i]));
  if (all.length === 0) return NONE;
  const shown = all.slice(0, SHOWN_METRICS).join(', ');
  return all.length > SHOWN_METRICS ? `${shown} + ${all.length - SHOWN_METRICS} more...` : shown;
}

function metricCell(metric: MetricSpec, status: MetricStatus | undefined): string {
  const { type, object, pods, resource, containerResource, external } = metric;
  if (type === 'Resource') return `${resource?.name}: ${ofRequests(resource?.target, status?.resource?.current)}`;
  if (type === 'ContainerResource')
    return `${containerResource?.name}: ${ofRequests(containerResource?.target, status?.containerResource?.current)}`;
  if (type === 'Pods') return average(pods?.target, status?.pods?.current);
  if (type === 'Object') return whole(object?.target, status?.object?.current);
  return type === 'External' ? whole(external?.target, status?.external?.current) : '<unknown type>';
}

function average(target: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  return `${current?.averageValue?.string ?? UNKNOWN}/${target?.averageValue?.string ?? ''}`;
}

function ofRequests(target: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  if (target?.averageValue) return average(target, current);
  const percent = (value: number | undefined, none: string): string => (value === undefined ? none : `${value}%`);
  return `${percent(current?.averageUtilization, UNKNOWN)}/${percent(target?.averageUtilization, '<auto>')}`;
}

function whole(target: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  if (target?.averageValue) return `${average(target, current)} (avg)`;
  return `${current?.value?.string ?? UNKNOWN}/${target?.value?.string ?? ''}`;
}

export const horizontalPodAutoscalerColumns: readonly Column<HorizontalPodAutoscaler>[] = [
  nameColumn,
  textColumn('REFERENCE', ({ spec }) => `${spec?.scaleTargetRef?.kind ?? ''}/${spec?.scaleTargetRef?.name ?? ''}`),
  textColumn('TARGETS', targetsCell),
  textColumn('MINPODS', ({ spec }) => String(spec?.minReplicas ?? '<unset>')),
  { name: 'MAXPODS', type: 'integer', priority: 0, cell: ({ spec }) => String(spec?.maxReplicas ?? 0) },
  { name: 'REPLICAS', type: 'integer', priority: 0, cell: ({ status }) => String(status?.currentReplicas ?? 0) },
  ageColumn,
];
