import type { Container, Pod, PodSpec, Quantity, ResourceRequirements } from '../../generated/types.ts';
import { formatCpu, formatMemory, isQuantity, quantityMilli, quantityValue } from '../../meta/quantity.ts';

/**
 * Amounts by resource name: cpu in thousandths of a core, everything else in whole units (bytes, devices), rounded up.
 */
export type Amounts = Record<string, number>;

/** What a pod asks of a node. Always has cpu and memory. */
export interface PodRequests extends Amounts {
  cpu: number;
  memory: number;
}

/** One amount in the unit of its resource. */
export function resourceAmount(name: string, quantity: Quantity | undefined): number {
  return name === 'cpu' ? quantityMilli(quantity) : quantityValue(quantity);
}

/** A list of quantities in the units of their resources. */
export function resourceAmounts(quantities: Readonly<Record<string, Quantity>> | undefined): Amounts {
  const amounts: Amounts = {};
  for (const name in quantities) amounts[name] = resourceAmount(name, quantities[name]);
  return amounts;
}

function add(to: Amounts, more: Readonly<Amounts>): void {
  for (const name in more) to[name] = (to[name] ?? 0) + more[name]!;
}

function raise(to: Amounts, least: Readonly<Amounts>): void {
  for (const name in least) to[name] = Math.max(to[name] ?? 0, least[name]!);
}

type Part = 'requests' | 'limits';

/**
 * What a pod asks of its node, as Kubernetes counts it: all containers and sidecars together, or what the hungriest
 * init container needs beside the sidecars started before it, if that is more; amounts of the pod as a whole replace
 * that; the overhead comes on top. While its CPU or memory is being changed a container counts with the most of what it
 * wants, was given and has; with what it wants only when the node has not said that it can never have it.
 */
export function podRequests(pod: Pod): PodRequests {
  return withOverhead(pod, podAmounts(pod, 'requests', heldRequests(pod)));
}

/** What the agent says that containers were given or have, by name; nothing of pods that never ran. */
function heldRequests({ spec, status }: Pod): (container: Container) => Amounts {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const held = statuses.filter(({ allocatedResources, resources }) => allocatedResources ?? resources?.requests);
  if (held.length === 0) return ownRequests;
  const byName = new Map(held.map((each) => [each.name, each]));
  const infeasible = status?.conditions?.some(
    ({ type, status: value, reason }) => type === 'PodResizePending' && value === 'True' && reason === 'Infeasible',
  );
  const counted = new Set([...(spec?.containers ?? []), ...(spec?.initContainers ?? []).filter(isSidecar)]);
  return (container) => {
    const known = counted.has(container) ? byName.get(container.name ?? '') : undefined;
    const own = ownRequests(container);
    if (!known) return own;
    const most: Amounts = {};
    raise(most, readableAmounts(known.allocatedResources));
    raise(most, readableAmounts(known.resources?.requests));
    if (!infeasible) raise(most, own);
    // Only CPU and memory are said in a status for sure; the rest does not change.
    return { ...own, ...most };
  };
}

/** A status is not judged as a spec is: what is no quantity there counts as nothing. */
function readableAmounts(quantities: Readonly<Record<string, Quantity>> = {}): Amounts {
  return resourceAmounts(Object.fromEntries(Object.entries(quantities).filter(([, { string = '' }]) => isQuantity(string))));
}

const ownRequests = (container: Container): Amounts => resourceAmounts(container.resources?.requests);

const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

/** The same sum over limits; a resource is absent when some container has no limit of it. */
export function podLimits(pod: Pod): Amounts {
  const limits = podAmounts(pod, 'limits', (container) => resourceAmounts(container.resources?.limits));
  const every = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const own = pod.spec?.resources?.limits;
  for (const name of Object.keys(limits)) {
    if (own?.[name] === undefined && every.some((container) => container.resources?.limits?.[name] === undefined))
      delete limits[name];
  }
  for (const name in pod.spec?.overhead) if (name in limits) limits[name]! += resourceAmount(name, pod.spec.overhead[name]);
  return limits;
}

/**
 * What the spec alone says that a pod requests, or may use, without its overhead: containers without a limit add
 * nothing to the sum of limits. As Kubernetes' limit ranges and quotas count.
 */
export function specAmounts(spec: PodSpec | undefined, part: Part): Amounts {
  return { ...containerAmounts(spec, ({ resources }) => resourceAmounts(resources?.[part])), ...podLevel(spec?.resources, part) };
}

/**
 * The bytes of ephemeral-storage that the pod's containers may use together; undefined when none of them has a limit.
 */
export function storageLimit({ spec }: Pod): number | undefined {
  return containerAmounts(spec, ({ resources }) => resourceAmounts(resources?.limits))['ephemeral-storage'];
}

function withOverhead(pod: Pod, amounts: Amounts): PodRequests {
  const total: PodRequests = { cpu: 0, memory: 0 };
  add(total, amounts);
  if (pod.spec?.overhead) add(total, resourceAmounts(pod.spec.overhead));
  return total;
}

type AmountsOf = (container: Container) => Amounts;

function podAmounts(pod: Pod, part: Part, amountsOf: AmountsOf): Amounts {
  return { ...containerAmounts(pod.spec, amountsOf), ...podLevel(pod.spec?.resources, part) };
}

function containerAmounts(spec: PodSpec | undefined, amountsOf: AmountsOf): Amounts {
  const running: Amounts = {};
  for (const container of spec?.containers ?? []) add(running, amountsOf(container));
  const peak = initPeak(spec?.initContainers ?? [], amountsOf, running);
  raise(running, peak);
  return running;
}

/**
 * Fills in what a pod with limits of its own requests as a whole, as Kubernetes does: what its containers request
 * together, and the limit only of what none of them requests. Huge pages cannot be shared: their request is the limit.
 * Containers keep what they request. Runs before the pod is validated.
 */
export function defaultPodLevelRequests(spec: PodSpec): void {
  const { limits, requests } = spec.resources ?? {};
  if (!spec.resources || !limits || Object.keys(limits).length === 0) return;
  const together = containerAmounts(spec, (container) => readableAmounts(container.resources?.requests));
  const complete = { ...requests };
  for (const name in together) {
    if (!isPodLevel(name) || name.startsWith('hugepages-')) continue;
    complete[name] ??= { string: name === 'cpu' ? formatCpu(together[name]!) : formatMemory(together[name]!) };
  }
  for (const name in limits) if (isPodLevel(name)) complete[name] ??= limits[name]!;
  spec.resources.requests = complete;
}

/** Adds the sidecars to `running`; gives what initializing needs at its worst moment. */
function initPeak(containers: readonly Container[], amountsOf: AmountsOf, running: Amounts): Amounts {
  const [peak, sidecars]: [Amounts, Amounts] = [{}, {}];
  for (const container of containers) {
    const own = { ...amountsOf(container) };
    if (isSidecar(container)) {
      add(sidecars, own);
      add(running, own);
      raise(peak, sidecars);
    } else {
      add(own, sidecars);
      raise(peak, own);
    }
  }
  return peak;
}

/** Only cpu, memory and huge pages can be given to a pod as a whole. */
const isPodLevel = (name: string): boolean => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');

function podLevel(resources: ResourceRequirements | undefined, part: Part): Amounts {
  const amounts: Amounts = {};
  for (const [name, amount] of Object.entries(resourceAmounts(resources?.[part]))) {
    if (isPodLevel(name)) amounts[name] = amount;
  }
  return amounts;
}
