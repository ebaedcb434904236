import { afterEach, describe, expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { measureProcess, processMetrics } from './process.ts';

let end = (): void => {};
afterEach(() => end());

function measure(): { value(name: string): number; names(): string[] } {
  const registry = new MetricsRegistry();
  end = measureProcess(registry, { component: 'server', version: '1.2.3' });
  return {
    value: (name) =>
      Number(registry.snapshot().find(({ definition }) => definition.name === name)?.samples[0]?.value ?? Number.NaN),
    names: () => registry.snapshot().map(({ definition }) => definition.name),
  };
}

describe('the metrics of a process', () => {
  it('has every metric of its table', () => {
    expect(measure().names()).toEqual(
      Object.values(processMetrics)
        .map(({ name }) => name)
        .sort(),
    );
  });

  it('tells processor time, memory, files and heap as the kernel and V8 know them', () => {
    const { value } = measure();
    expect(value('process_cpu_seconds_total')).toBeGreaterThan(0);
    expect(value('process_start_time_seconds')).toBeLessThanOrEqual(Date.now() / 1000 + 1);
    const resident = value('process_resident_memory_bytes');
    expect(resident).toBeGreaterThan(10_000_000);
    expect(value('process_virtual_memory_bytes')).toBeGreaterThan(resident);
    expect(value('nodejs_heap_size_total_bytes')).toBeGreaterThanOrEqual(value('nodejs_heap_size_used_bytes') * 0.5);
    expect(value('process_open_fds')).toBeGreaterThan(3);
    expect(value('process_max_fds')).toBeGreaterThan(value('process_open_fds'));
  });

  it('measures from the first look on how late the event loop is', async () => {
    const { value } = measure();
    expect(value('nodejs_eventloop_lag_max_seconds')).toBe(0);
    const blockedUntil = performance.now() + 200;
    // The timer that measures has to be due before and late after.
    await new Promise((resolve) => setTimeout(resolve, 50));
    while (performance.now() < blockedUntil + 50);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(value('nodejs_eventloop_lag_max_seconds')).toBeGreaterThan(0.1);
  });
});
