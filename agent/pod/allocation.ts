import type { Container, Pod, ResourceRequirements } from '../../api/generated/types.ts';
import { equalResources, resizableResources } from '../../api/kinds/pod/resize.ts';
import { type Amounts, podRequests } from '../../api/kinds/pod/resources.ts';

/**
 * What the node has given to a pod's containers, by name: the resources of their spec, as they were when the node last
 * agreed to them.
 */
export type Allocation = ReadonlyMap<string, ResourceRequirements>;

/** Why a new size has to wait, or will never be: Kubernetes' reason and message. */
export interface PendingResize {
  readonly reason: 'Infeasible' | 'Deferred';
  readonly message: string;
}

/** The resources in the spec. */
export function allocationOf(pod: Pod): Allocation {
  return new Map(allContainers(pod).map(({ name = '', resources = {} }) => [name, resources]));
}

/**
 * What an agent before this one gave, as the status tells it; of what it does not tell, what the spec asks for. A size
 * that the agent gave and did not get to write down is found to fit once more.
 */
export function allocationFromStatus(pod: Pod): Allocation {
  const told = new Map(
    [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])].map((each) => [each.name, each]),
  );
  const given = ({ name = '', resources = {} }: Container): ResourceRequirements => {
    const status = told.get(name);
    if (status?.allocatedResources === undefined && status?.resources === undefined) return resources;
    const requests = status.allocatedResources ?? status.resources?.requests;
    return { ...resources, ...status.resources, ...(requests && { requests }) };
  };
  return new Map(allContainers(pod).map((container) => [container.name ?? '', given(container)]));
}

function allContainers({ spec }: Pod): Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

/** Whether a pod's requested CPU or memory differs from the allocated. */
export function asksForOther(pod: Pod, allocation: Allocation): boolean {
  return allContainers(pod).some(({ name = '', resources }) => !equalResources(resources, allocation.get(name) ?? resources));
}

/** The pod with its allocated resources; the pod itself if they equal the spec. */
export function withAllocation(pod: Pod, allocation: Allocation | undefined): Pod {
  if (allocation === undefined || !asksForOther(pod, allocation)) return pod;
  const given = (container: Container): Container => {
    const resources = allocation.get(container.name ?? '');
    return resources === undefined || equalResources(container.resources, resources) ? container : { ...container, resources };
  };
  const { containers, initContainers } = pod.spec ?? {};
  const spec = { ...pod.spec };
  if (containers) spec.containers = containers.map(given);
  if (initContainers) spec.initContainers = initContainers.map(given);
  return { ...pod, spec };
}

export interface ResizeInput {
  /** The pod with requested and with allocated resources. */
  readonly pod: Pod;
  readonly before: Pod;
  /** The other pods of the node, with what they were given. */
  readonly others: readonly Pod[];
  /** cpu in thousandths, the rest in whole units. */
  readonly allocatable: Readonly<Amounts>;
}

/**
 * Whether a pod fits on this node with another size; undefined: it does. What it asks no more of than before always
 * fits. Pure.
 */
export function decideResize({ pod, before, others, allocatable }: ResizeInput): PendingResize | undefined {
  const [wanted, has] = [podRequests(withoutStatus(pod)), podRequests(withoutStatus(before))];
  const used = others.map((other) => podRequests(withoutStatus(other)));
  const more = resizableResources.flatMap((name) => {
    const [requested, capacity] = [wanted[name], allocatable[name]];
    if (capacity === undefined || requested <= has[name]) return [];
    return [{ name, requested, capacity, taken: used.reduce((sum, each) => sum + each[name], 0) }];
  });
  const never = more.find(({ requested, capacity }) => requested > capacity);
  if (never !== undefined) {
    const message = `Node didn't have enough capacity: ${never.name}, requested: ${never.requested}, capacity: ${never.capacity}`;
    return { reason: 'Infeasible', message };
  }
  const short = more.find(({ requested, capacity, taken }) => taken + requested > capacity);
  if (short === undefined) return undefined;
  const { name, requested, taken, capacity } = short;
  const message = `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${taken}, capacity: ${capacity}`;
  return { reason: 'Deferred', message };
}

/** A pod by what its spec says alone: the status tells of the time before. */
export function withoutStatus({ status: _, ...pod }: Pod): Pod {
  return pod;
}
