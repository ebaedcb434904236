import type { Pod, Quantity } from '../../api/generated/types.ts';
import { podLimits, podRequests, resourceAmount } from '../../api/kinds/pod/resources.ts';
import { formatCpu, formatMemory, quantityValue } from '../../api/meta/quantity.ts';

/** What a node has for pods and what is in use, by resource name. */
export interface NodeAmounts {
  readonly allocatable: Readonly<Record<string, Quantity>>;
  /** As its agent measured it; absent where it has not. */
  readonly used: Readonly<Record<string, Quantity | undefined>>;
}

/** A row of the table of what pods reserve on a node: resource, requests, limits, and what the machine really uses. */
export type ResourceRow = readonly [resource: string, requests: string, limits: string, inUse: string];

/** Those that a reader looks for, whether or not a pod asks for them. */
const always = ['cpu', 'memory', 'ephemeral-storage'];

/** The pods that hold something of a node: those that have not ended. */
export function livePods(pods: readonly Pod[]): Pod[] {
  return pods.filter((pod) => pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed');
}

/** Sums over the pods of a node, each as a part of what the node has for pods. Pure. */
export function computeResourceRows(pods: readonly Pod[], { allocatable, used }: NodeAmounts): ResourceRow[] {
  const requests = sum(pods.map(podRequests));
  const limits = sum(pods.map(podLimits));
  const names = new Set([...always, ...Object.keys(requests), ...Object.keys(limits)]);
  const rows = [...names].map((name): ResourceRow => {
    const total = resourceAmount(name, allocatable[name]);
    const inUse = used[name];
    return [
      name,
      amountText(name, requests[name] ?? 0, total),
      amountText(name, limits[name] ?? 0, total),
      inUse === undefined ? '' : amountText(name, measured(name, resourceAmount(name, inUse)), total),
    ];
  });
  return [...rows, ['pods', amountText('pods', pods.length, quantityValue(allocatable.pods)), '', '']];
}

/** What one pod reserves: requests and limits of cpu, then of memory. */
export function podReserve(pod: Pod, allocatable: NodeAmounts['allocatable']): string[] {
  const [requests, limits] = [podRequests(pod), podLimits(pod)];
  return ['cpu', 'memory'].flatMap((name) => {
    const total = resourceAmount(name, allocatable[name]);
    return [amountText(name, requests[name] ?? 0, total), amountText(name, limits[name] ?? 0, total)];
  });
}

function sum(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const amounts of all) for (const name in amounts) total[name] = (total[name] ?? 0) + amounts[name]!;
  return total;
}

/** "250m (6%)"; the percentage is rounded down, and left out where the node has none of the resource. */
function amountText(name: string, amount: number, total: number): string {
  const shown = name === 'cpu' ? formatCpu(amount) : isBytes(name) ? formatMemory(amount) : String(amount);
  return total > 0 ? `${shown} (${Math.floor((amount * 100) / total)}%)` : shown;
}

/** Measured bytes are rounded. */
function measured(name: string, amount: number): number {
  return isBytes(name) && amount >= mib ? Math.round(amount / mib) * mib : amount;
}

const mib = 1024 * 1024;

function isBytes(name: string): boolean {
  return name === 'memory' || name === 'ephemeral-storage' || name.startsWith('hugepages-');
}
