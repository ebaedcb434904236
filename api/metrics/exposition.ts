import type { MetricDefinition } from './definition.ts';
import { Histogram } from './instruments.ts';
import type { MetricsRegistry } from './registry.ts';

/** Prometheus' text format 0.0.4, or OpenMetrics 1.0. */
export type Format = 'prometheus' | 'openmetrics';

export const contentTypes: Readonly<Record<Format, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** OpenMetrics for those who accept it, as Prometheus does. */
export const formatFor = (accept = ''): Format =>
  accept.includes('application/openmetrics-text') ? 'openmetrics' : 'prometheus';

/** Everything that a registry holds, as a page that Prometheus reads. */
export function formatMetrics(registry: MetricsRegistry, format: Format): string {
  const lines: string[] = [];
  for (const { definition, samples } of registry.snapshot()) {
    // OpenMetrics names a counter without the ending that its samples have.
    const name =
      format === 'openmetrics' && definition.type === 'counter' ? definition.name.replace(/_total$/, '') : definition.name;
    lines.push(`# HELP ${name} ${escaped(definition.help, format === 'openmetrics')}`, `# TYPE ${name} ${definition.type}`);
    for (const { labels, value } of samples) {
      if (value instanceof Histogram) lines.push(...histogramLines(definition, labels, value));
      else lines.push(`${definition.name}${labelsText(definition.labels ?? [], labels)} ${numberText(value)}`);
    }
  }
  if (format === 'openmetrics') lines.push('# EOF');
  return `${lines.join('\n')}\n`;
}

function histogramLines(definition: MetricDefinition, labels: readonly string[], { bounds, counts, sum }: Histogram): string[] {
  const { name, labels: names = [] } = definition;
  let total = 0;
  const buckets = counts.map((count, i) => {
    total += count;
    const bound = i < bounds.length ? boundText(bounds[i]!) : '+Inf';
    return `${name}_bucket${labelsText([...names, 'le'], [...labels, bound])} ${total}`;
  });
  const own = labelsText(names, labels);
  return [...buckets, `${name}_sum${own} ${numberText(sum)}`, `${name}_count${own} ${total}`];
}

function labelsText(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return '';
  return `{${names.map((name, i) => `${name}="${escaped(values[i] ?? '', true)}"`).join(',')}}`;
}

function escaped(text: string, quotes: boolean): string {
  const bare = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return quotes ? bare.replaceAll('"', '\\"') : bare;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

/** OpenMetrics wants 1 as 1.0; the older format takes both. */
function boundText(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}
