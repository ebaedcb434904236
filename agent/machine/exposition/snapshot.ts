import { setImmediate as turn } from 'node:timers/promises';
import { type ObservedContainer, sandboxName } from '../../runtime/runtime.ts';
import type { ContainerReader } from '../cgroups/container-reader.ts';
import type { DeviceFigures } from '../cgroups/figures.ts';
import { type DiskUsage, type FolderSizes, logUsage } from '../disk-usage.ts';
import type { InterfaceCounters } from '../network.ts';
import { groupRunning, readPodInterfaces } from '../pod-network.ts';
import type { ReadSmallFile } from '../small-file.ts';
import { labelsText } from './page.ts';

/** A container as it was read for one page. */
export interface ContainerSnapshot {
  readonly container: ObservedContainer;
  /** By `figure`. */
  readonly values: Float64Array;
  readonly devices: readonly DeviceFigures[];
  /** Its cgroup. */
  readonly path: string;
  /** cAdvisor's labels. */
  readonly labels: string;
  readonly layer: DiskUsage | undefined;
  readonly log: DiskUsage | undefined;
}

export interface PodSnapshot {
  readonly namespace: string;
  readonly name: string;
  readonly containers: readonly ContainerSnapshot[];
  readonly interfaces: readonly InterfaceCounters[];
  /** cAdvisor's labels, of the sandbox: it has the network. */
  readonly labels: string;
}

export interface SnapshotSources {
  readonly root: string;
  readonly readFile: ReadSmallFile;
  readonly cgroups: ContainerReader;
  readonly layers: FolderSizes;
  /** Every figure, or only those of samples. */
  readonly all: boolean;
}

/** Pods between two looks at what else there is to do: a millisecond or two. */
const podsAtOnce = 10;

/** Everything of the pods that run. What ends meanwhile is left out. */
export async function readPods(sources: SnapshotSources, containers: readonly ObservedContainer[]): Promise<PodSnapshot[]> {
  const pods: PodSnapshot[] = [];
  let read = 0;
  for (const members of groupRunning(containers).values()) {
    if (++read % podsAtOnce === 0) await turn();
    pods.push(readPod(sources, members));
  }
  return pods;
}

function readPod(sources: SnapshotSources, members: readonly ObservedContainer[]): PodSnapshot {
  const sandbox = members.find(({ containerName }) => containerName === sandboxName);
  const others = members.filter((container) => container !== sandbox);
  const snapshots = others.map((container) => readContainer(sources, container)).filter((each) => each !== undefined);
  return {
    namespace: members[0]?.podNamespace ?? '',
    name: members[0]?.podName ?? '',
    containers: snapshots,
    interfaces: readPodInterfaces(sources.root, members, sources.readFile) ?? [],
    labels: sandbox === undefined ? '' : containerLabels(sandbox, pathBeside(sandbox, snapshots[0])),
  };
}

function readContainer({ cgroups, layers, all }: SnapshotSources, container: ObservedContainer): ContainerSnapshot | undefined {
  const reading = cgroups.read(container, all);
  if (reading === undefined) return undefined;
  const log = container.files?.log;
  return {
    container,
    values: reading.figures.values.slice(),
    devices: [...reading.figures.devices.values()],
    path: reading.path,
    labels: containerLabels(container, reading.path),
    layer: layers.get(container.id),
    log: log === undefined || !all ? undefined : logUsage(log),
  };
}

/** The sandbox's cgroup, which is not read, is named as those of the pod's containers are. */
function pathBeside({ id }: ObservedContainer, neighbour: ContainerSnapshot | undefined): string {
  return neighbour === undefined ? `/${id}` : neighbour.path.replace(neighbour.container.id, id);
}

/** As the kubelet has them: the sandbox has no container name, `name` is the engine's id, `id` the cgroup. */
function containerLabels(container: ObservedContainer, cgroup: string): string {
  const { containerName, id, image, podName, podNamespace } = container;
  const name = containerName === sandboxName ? '' : containerName;
  return labelsText({ container: name, id: cgroup, image, name: id, namespace: podNamespace, pod: podName });
}
