import { figure, workingSetOf } from '../cgroups/figures.ts';
import type { MachineFigures } from '../machine-usage.ts';
import { ExpositionPage, labelsText } from './page.ts';
import { resourceMetrics as metrics } from './resource-metrics.ts';
import type { ContainerSnapshot, PodSnapshot } from './snapshot.ts';

/** The page /metrics/resource. Pure. */
export function resourcePage(machine: MachineFigures, pods: readonly PodSnapshot[]): string {
  const page = new ExpositionPage();
  const containers = pods.flatMap((pod) => pod.containers.map((snapshot) => ({ snapshot, labels: shortLabels(snapshot) })));
  const ofContainers = (read: (snapshot: ContainerSnapshot) => number) =>
    containers.map(({ snapshot, labels }) => [labels, read(snapshot)] as const);
  const ofPods = (read: (snapshot: ContainerSnapshot) => number) =>
    pods.map(({ namespace, name: pod, containers: members }) => {
      const known = members.map(read).filter((value) => !Number.isNaN(value));
      const sum = known.length === 0 ? Number.NaN : known.reduce((total, value) => total + value, 0);
      return [labelsText({ namespace, pod }), sum] as const;
    });
  const cpu = ({ values }: ContainerSnapshot): number => values[figure.cpuSeconds]!;
  const swap = ({ values }: ContainerSnapshot): number => values[figure.memorySwap]!;
  const { memory, cpuBusySeconds = Number.NaN } = machine;
  page.family(metrics.containerCpu, ofContainers(cpu));
  page.family(metrics.containerMemory, ofContainers(workingSetOf));
  page.family(
    metrics.containerStart,
    ofContainers(({ container }) => (container.startedAt?.getTime() ?? Number.NaN) / 1000),
  );
  page.family(metrics.containerSwap, ofContainers(swap));
  page.family(metrics.nodeCpu, [['', cpuBusySeconds]]);
  page.family(metrics.nodeMemory, [['', memory === undefined ? Number.NaN : memory.total - memory.available]]);
  page.family(metrics.nodeSwap, [['', memory === undefined ? Number.NaN : memory.swapTotal - memory.swapFree]]);
  page.family(metrics.podCpu, ofPods(cpu));
  page.family(metrics.podMemory, ofPods(workingSetOf));
  page.family(metrics.podSwap, ofPods(swap));
  page.family(metrics.errors, [['', memory === undefined || Number.isNaN(cpuBusySeconds) ? 1 : 0]]);
  return page.text();
}

function shortLabels({ container: { containerName, podNamespace, podName } }: ContainerSnapshot): string {
  return labelsText({ container: containerName, namespace: podNamespace, pod: podName });
}
