import type { Pod } from '../../api/generated/types.ts';
import { hostPortKey, hostPorts, isSameHostPort } from '../../api/kinds/pod/host-ports.ts';
import { type Amounts, podRequests } from '../../api/kinds/pod/resources.ts';

/** Why a pod will not run here, in Kubernetes' words. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/**
 * Whether a pod that was bound to this node fits beside those that were admitted before it: the last line against two schedulers, or
 * somebody who sets nodeName by hand. `allocatable` has cpu in thousandths, the rest in whole units; what it does not name is not
 * looked at. Pure.
 */
export function decideAdmission(pod: Pod, admitted: readonly Pod[], allocatable: Readonly<Amounts>): Refusal | undefined {
  return portConflict(pod, admitted) ?? shortage(pod, admitted, allocatable);
}

function portConflict(pod: Pod, admitted: readonly Pod[]): Refusal | undefined {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return undefined;
  const taken = admitted.flatMap(hostPorts);
  const clash = wanted.find((port) => taken.some((other) => isSameHostPort(port, other)));
  if (clash === undefined) return undefined;
  const message = `Pod was rejected: host port ${hostPortKey(clash)} is taken by another pod of this node`;
  return { reason: 'NodePorts', message };
}

function shortage(pod: Pod, admitted: readonly Pod[], allocatable: Readonly<Amounts>): Refusal | undefined {
  const requests = podRequests(pod);
  const used: Amounts = {};
  for (const other of admitted)
    for (const [name, amount] of Object.entries(podRequests(other))) used[name] = (used[name] ?? 0) + amount;
  for (const [name, amount] of Object.entries({ ...requests, pods: 1 })) {
    const capacity = allocatable[name];
    const taken = name === 'pods' ? admitted.length : (used[name] ?? 0);
    if (capacity === undefined || amount === 0 || taken + amount <= capacity) continue;
    const message = `Pod was rejected: Node didn't have enough resource: ${name}, requested: ${amount}, used: ${taken}, capacity: ${capacity}`;
    return { reason: `OutOf${name}`, message };
  }
  return undefined;
}
