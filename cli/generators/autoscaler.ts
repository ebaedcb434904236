import { badRequest } from '../../api/errors/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { isQuantity } from '../../api/meta/quantity.ts';
import { wholeNumber } from './numbers.ts';

export interface AutoscalerFlags {
  readonly min?: string;
  readonly max: string;
  readonly cpu?: string;
  readonly memory?: string;
  /** The older way to say a percentage of CPU. */
  readonly cpuPercent?: string;
  readonly name?: string;
}

/** What is scaled. */
export interface ScaleTarget {
  readonly kind: Pick<Kind, 'apiVersion' | 'kind'>;
  readonly name: string;
}

/** What `autoscale` makes: without metrics the server takes 80 % of the requested CPU. */
export function autoscalerObject(flags: AutoscalerFlags): (target: ScaleTarget) => JsonObject {
  const maxReplicas = wholeNumber('--max', flags.max, { least: 1 });
  // As in kubectl, a negative number is none.
  const min = flags.min === undefined ? -1 : wholeNumber('--min', flags.min, { least: -1 });
  if (min > maxReplicas) throw badRequest(`--max must be larger or equal to --min: ${maxReplicas} is less than ${min}`);
  const metrics = metricsOf(flags);
  return ({ kind, name }) => ({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: flags.name ?? name },
    spec: {
      scaleTargetRef: { apiVersion: kind.apiVersion, kind: kind.kind, name },
      ...(min > 0 && { minReplicas: min }),
      maxReplicas,
      ...(metrics.length > 0 && { metrics }),
    },
  });
}

function metricsOf({ cpu, cpuPercent, memory }: AutoscalerFlags): JsonObject[] {
  if (cpu !== undefined && cpuPercent !== undefined) throw badRequest('--cpu-percent and --cpu are mutually exclusive');
  const percent = cpuPercent === undefined ? -1 : wholeNumber('--cpu-percent', cpuPercent, { least: -1 });
  const cpuText = percent > 0 ? `${percent}%` : cpu;
  return [
    ...(cpuText === undefined ? [] : [metric('cpu', '--cpu', cpuText, 'm')]),
    ...(memory === undefined ? [] : [metric('memory', '--memory', memory, 'Mi')]),
  ];
}

/** "70%" of what the pods request, or an amount for each pod on average; a bare number has the usual unit. */
function metric(name: string, flag: string, text: string, unit: string): JsonObject {
  const bad = (): Error =>
    badRequest(`${flag} takes a percentage or an amount, e.g. 70% or ${unit === 'm' ? '500m' : '200Mi'}, not "${text}"`);
  const [, percent] = /^(\d+)%$/.exec(text) ?? [];
  if (percent !== undefined) {
    const target = { type: 'Utilization', averageUtilization: wholeNumber(flag, percent, { least: 1 }) };
    return { type: 'Resource', resource: { name, target } };
  }
  const amount = /^\d+(\.\d+)?$/.test(text) ? `${text}${unit}` : text;
  if (!isQuantity(amount) || amount.startsWith('-')) throw bad();
  return { type: 'Resource', resource: { name, target: { type: 'AverageValue', averageValue: amount } } };
}
