import type { Node, Pod } from '../../api/generated/types.ts';
import { requiredNodes } from '../../api/kinds/node/selector.ts';
import { tolerates } from '../../api/kinds/node/tolerations.ts';
import { hostPortKey, hostPorts, isSameHostPort } from '../../api/kinds/pod/host-ports.ts';
import { type Amounts, podRequests } from '../../api/kinds/pod/resources.ts';
import { isStatic } from '../../api/kinds/pod/static-pods.ts';

/** Why a pod will not run here, in Kubernetes' words. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** What a pod has to fit. */
export interface Room {
  /** The pods that were admitted before it. */
  readonly admitted: readonly Pod[];
  /** cpu in thousandths, the rest in whole units; what it does not name is not looked at. */
  readonly allocatable: Readonly<Amounts>;
  /** Undefined while it is not known: then it is not looked at. */
  readonly node: Node | undefined;
}

/**
 * Whether a pod that was bound to this node fits here: the last line against two schedulers, or a nodeName that was set
 * by hand. Pure.
 */
export function decideAdmission(pod: Pod, { admitted, allocatable, node }: Room): Refusal | undefined {
  return shortage(pod, admitted, allocatable) ?? misplacement(pod, node) ?? portConflict(pod, admitted);
}

/** Whether the node itself is against it: its labels and taints, which people change. */
export function misplacement(pod: Pod, node: Node | undefined): Refusal | undefined {
  if (node === undefined) return undefined;
  if (requiredNodes(pod)?.(node) === false) {
    return {
      reason: 'NodeAffinity',
      message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    };
  }
  // Taints are for the scheduler and for users; who puts a file on the machine means this machine.
  if (isStatic(pod)) return undefined;
  const taint = node.spec?.taints?.find((each) => each.effect === 'NoExecute' && !tolerates(pod.spec?.tolerations ?? [], each));
  if (taint === undefined) return undefined;
  return {
    reason: 'TaintToleration',
    message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  };
}

function portConflict(pod: Pod, admitted: readonly Pod[]): Refusal | undefined {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return undefined;
  const taken = admitted.flatMap(hostPorts);
  const clash = wanted.find((port) => taken.some((other) => isSameHostPort(port, other)));
  if (clash === undefined) return undefined;
  return { reason: 'NodePorts', message: `host port ${hostPortKey(clash)} is taken by another pod of this node` };
}

function shortage(pod: Pod, admitted: readonly Pod[], allocatable: Readonly<Amounts>): Refusal | undefined {
  const requests = podRequests(pod);
  const used: Amounts = {};
  for (const other of admitted)
    for (const [name, amount] of Object.entries(podRequests(other))) used[name] = (used[name] ?? 0) + amount;
  for (const [name, amount] of Object.entries({ pods: 1, ...requests })) {
    const capacity = allocatable[name];
    const taken = name === 'pods' ? admitted.length : (used[name] ?? 0);
    if (capacity === undefined || amount === 0 || taken + amount <= capacity) continue;
    const message = `Node didn't have enough resource: ${name}, requested: ${amount}, used: ${taken}, capacity: ${capacity}`;
    return { reason: `OutOf${name}`, message };
  }
  return undefined;
}
