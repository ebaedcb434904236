import type { Container, PodStatus, ResourceRequirements } from '../../api/generated/types.ts';
import { equalResources } from '../../api/kinds/pod/resize.ts';
import { computeLimits } from '../config/container-config.ts';
import { containerId } from '../runtime/container-id.ts';
import type { ContainerLimits, ObservedContainer } from '../runtime/runtime.ts';
import type { PodRecord } from './pod-record.ts';

/** How a running container gets its new size. */
export type SizeChange = 'update' | 'restart';

/**
 * What a running container has, as far as it is known, when that is not what it was given. A size that limits it alike
 * is the same. Pure.
 */
export function otherSize(
  { pod, resize }: PodRecord,
  container: Container,
  running: ObservedContainer,
): ResourceRequirements | undefined {
  const has = resize.applied.get(running.id) ?? toldSize(pod?.status, container, running);
  if (has === undefined) return undefined;
  const wants = computeLimits(container);
  const isSame = equalLimits(computeLimits({ ...container, resources: has }), wants);
  return isSame || (running.limits !== undefined && equalLimits(running.limits, wants)) ? undefined : has;
}

function toldSize(
  status: PodStatus | undefined,
  { name }: Container,
  running: ObservedContainer,
): ResourceRequirements | undefined {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const told = statuses.find((each) => each.name === name);
  return told?.containerID === containerId(running) ? told.resources : undefined;
}

function equalLimits(a: ContainerLimits, b: ContainerLimits): boolean {
  return a.cpuShares === b.cpuShares && a.cpuQuota === b.cpuQuota && a.memoryBytes === b.memoryBytes;
}

/** Whether the container wants to be started anew for what changes. The request of memory limits nothing. */
export function needsRestart({ resizePolicy = [], resources }: Container, has: ResourceRequirements): boolean {
  return resizePolicy.some(({ resourceName, restartPolicy }) => {
    if (restartPolicy !== 'RestartContainer') return false;
    const only = (of: ResourceRequirements | undefined): ResourceRequirements =>
      resourceName === 'memory' ? part(of, ['limits'], 'memory') : part(of, ['limits', 'requests'], 'cpu');
    return !equalResources(only(resources), only(has));
  });
}

function part(
  resources: ResourceRequirements | undefined,
  kinds: readonly ('limits' | 'requests')[],
  name: 'cpu' | 'memory',
): ResourceRequirements {
  const found: ResourceRequirements = {};
  for (const kind of kinds) {
    const amount = resources?.[kind]?.[name];
    if (amount !== undefined) found[kind] = { [name]: amount };
  }
  return found;
}
