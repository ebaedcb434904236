import type { Container, Pod } from '../../api/generated/types.ts';
import { isAlive } from '../pod/observation.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import { sandboxName } from '../runtime/runtime.ts';

/** A container of the pod that may have hooks and probes: one of the containers, or of the init containers. */
export function specOf(pod: Pod | undefined, name: string): Container | undefined {
  const { containers = [], initContainers = [] } = pod?.spec ?? {};
  return containers.find((each) => each.name === name) ?? initContainers.find((each) => each.name === name);
}

/**
 * Where the pod's ports are reached from the machine: at its own address, or in the machine's network at the machine's.
 */
export function addressOf(record: PodRecord, pod: Pod, hostIP: string): string {
  if (pod.spec?.hostNetwork === true) return hostIP;
  for (const container of record.containers.values())
    if (container.containerName === sandboxName && container.ip !== undefined && isAlive(container)) return container.ip;
  return '';
}
