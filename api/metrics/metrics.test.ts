import { describe, expect, it } from 'vitest';
import { formatMetrics, type MetricDefinition, MetricsRegistry } from './index.ts';

const calls: MetricDefinition = { name: 'calls_total', type: 'counter', help: 'Calls.', labels: ['method', 'code'] };
const seconds: MetricDefinition = { name: 'call_seconds', type: 'histogram', help: 'Time.', buckets: [0.1, 1, 2.5] };
const depth: MetricDefinition = { name: 'depth', type: 'gauge', help: 'Waiting\n"now" \\.' };

describe('MetricsRegistry', () => {
  it('shows counters by their labels, in the order of the names, with help and type', () => {
    const registry = new MetricsRegistry();
    registry.gauge(depth).with().set(3);
    const family = registry.counter(calls);
    family.with('Get', 'OK').inc();
    family.with('Get', 'OK').inc(2);
    family.with('Get', 'NOT_FOUND').inc();
    expect(formatMetrics(registry, 'prometheus')).toBe(
      [
        '# HELP calls_total Calls.',
        '# TYPE calls_total counter',
        'calls_total{method="Get",code="OK"} 3',
        'calls_total{method="Get",code="NOT_FOUND"} 1',
        '# HELP depth Waiting\\n"now" \\\\.',
        '# TYPE depth gauge',
        'depth 3',
        '',
      ].join('\n'),
    );
  });

  it('sums the buckets of a histogram up to each bound, the bound included', () => {
    const registry = new MetricsRegistry();
    const histogram = registry.histogram(seconds).with();
    for (const value of [0.05, 0.1, 0.2, 3]) histogram.observe(value);
    expect(formatMetrics(registry, 'prometheus').split('\n').slice(2, 8)).toEqual([
      'call_seconds_bucket{le="0.1"} 2',
      'call_seconds_bucket{le="1.0"} 3',
      'call_seconds_bucket{le="2.5"} 3',
      'call_seconds_bucket{le="+Inf"} 4',
      'call_seconds_sum 3.35',
      'call_seconds_count 4',
    ]);
  });

  it('speaks OpenMetrics: counters lose their ending in the head, and the page says where it ends', () => {
    const registry = new MetricsRegistry();
    registry.counter(calls).with('Get', 'OK').inc();
    expect(formatMetrics(registry, 'openmetrics')).toBe(
      '# HELP calls Calls.\n# TYPE calls counter\ncalls_total{method="Get",code="OK"} 1\n# EOF\n',
    );
  });

  it('escapes what label values may not hold', () => {
    const registry = new MetricsRegistry();
    registry.counter(calls).with('a"b\\c\nd', '').inc();
    expect(formatMetrics(registry, 'prometheus')).toContain('calls_total{method="a\\"b\\\\c\\nd",code=""} 1');
  });

  it('asks readers when metrics are read, several for one metric, until they leave', () => {
    const registry = new MetricsRegistry();
    const queue: MetricDefinition = { ...depth, name: 'queue', labels: ['name'] };
    const leave = registry.read(queue, () => [{ labels: ['a'], value: 1 }]);
    let value = 2;
    registry.read(queue, () => [{ labels: ['b'], value }]);
    value = 5;
    expect(registry.snapshot()[0]?.samples).toEqual([
      { labels: ['a'], value: 1 },
      { labels: ['b'], value: 5 },
    ]);
    leave();
    expect(registry.snapshot()[0]?.samples).toEqual([{ labels: ['b'], value: 5 }]);
  });

  it('is one metric for all who define the same name', () => {
    const registry = new MetricsRegistry();
    registry.counter(calls).with('Get', 'OK').inc();
    registry.counter(calls).with('Get', 'OK').inc();
    expect(registry.snapshot()[0]?.samples).toEqual([{ labels: ['Get', 'OK'], value: 2 }]);
  });

  it('counts further combinations of labels as "other" once there are too many', () => {
    const registry = new MetricsRegistry();
    const family = registry.counter(calls);
    for (let i = 0; i < 2_500; i++) family.with(`method-${i}`, 'OK').inc();
    const { samples } = registry.snapshot()[0]!;
    expect(samples.length).toBe(2_001);
    expect(samples.at(-1)).toEqual({ labels: ['other', 'other'], value: 500 });
  });

  it('refuses a wrong number of label values', () => {
    expect(() => new MetricsRegistry().counter(calls).with('Get')).toThrow('metric calls_total: give 2 label values, not 1');
  });

  it('shows a metric without labels from the start, at zero', () => {
    const registry = new MetricsRegistry();
    registry.counter({ ...calls, labels: [] });
    expect(formatMetrics(registry, 'prometheus')).toContain('\ncalls_total 0\n');
  });
});
