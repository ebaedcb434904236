import { expect, it } from 'vitest';
import { formatMetrics, MetricsRegistry } from '../api/metrics/index.ts';
import { measurePorts, measureWorkers, relistMeter } from './metrics.ts';
import type { AgentPorts } from './ports.ts';
import type { ObservedContainer } from './runtime/runtime.ts';

const lines = (metrics: MetricsRegistry): string[] => formatMetrics(metrics, 'prometheus').split('\n');

it('counts calls of the engine and of its images, those that fail too, and passes answers and errors on', async () => {
  const metrics = new MetricsRegistry();
  const runtime = {
    list: async (podUid?: string) => [podUid],
    stop: async () => {
      throw new Error('no engine');
    },
  };
  const images = { list: async () => ['image'] };
  const ports = measurePorts({ runtime, images } as unknown as AgentPorts, metrics);
  expect(await ports.runtime.list('uid')).toEqual(['uid']);
  expect(await ports.images.list()).toEqual(['image']);
  await expect(ports.runtime.stop('id', 1)).rejects.toThrow('no engine');
  expect(lines(metrics)).toEqual(
    expect.arrayContaining([
      'kubelet_runtime_operations_total{operation_type="list_containers"} 1',
      'kubelet_runtime_operations_total{operation_type="list_images"} 1',
      'kubelet_runtime_operations_total{operation_type="stop_container"} 1',
      'kubelet_runtime_operations_errors_total{operation_type="stop_container"} 1',
      'kubelet_runtime_operations_errors_total{operation_type="list_containers"} 0',
      'kubelet_runtime_operations_duration_seconds_count{operation_type="stop_container"} 1',
    ]),
  );
});

it('counts pods by their sandboxes, and the other containers by state', () => {
  const metrics = new MetricsRegistry();
  const container = (containerName: string, state: string): ObservedContainer =>
    ({ containerName, state }) as unknown as ObservedContainer;
  const record = (...all: ObservedContainer[]) => ({ containers: new Map(all.map((each, i) => [String(i), each])) });
  measureWorkers(metrics, () => [
    record(container('POD', 'running'), container('web', 'running'), container('side', 'exited')),
    record(container('POD', 'exited'), container('web', 'dead')),
    record(),
  ]);
  expect(lines(metrics)).toEqual(
    expect.arrayContaining([
      'berth_agent_pods 3',
      'kubelet_running_pods 1',
      'kubelet_running_containers{container_state="running"} 1',
      'kubelet_running_containers{container_state="exited"} 1',
      'kubelet_running_containers{container_state="dead"} 1',
    ]),
  );
});

it('tells how long a list of all containers took and when the last was', () => {
  const metrics = new MetricsRegistry();
  relistMeter(metrics).done(5_000, 5_250);
  expect(lines(metrics)).toEqual(
    expect.arrayContaining(['kubelet_pleg_last_seen_seconds 5.25', 'kubelet_pleg_relist_duration_seconds_sum 0.25']),
  );
});
