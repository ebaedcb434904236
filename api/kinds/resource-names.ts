import { qualifiedNameError } from '../meta/names.ts';
import { isQuantity, quantityMilli } from '../meta/quantity.ts';

// Names of resources that are not a container's own: what quotas count, and what limit ranges bound.

const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
const COUNTED = [
  'pods',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];
const quotaNames = new Set([
  ...COMPUTE,
  ...COUNTED,
  ...[...COMPUTE, 'storage'].map((name) => `requests.${name}`),
  ...COMPUTE.map((name) => `limits.${name}`),
]);

/** Whether Kubernetes itself knows the name as one that quotas count; names with a domain are others' own. */
export function isStandardQuotaName(name: string): boolean {
  return quotaNames.has(name) || /^(requests\.)?hugepages-/.test(name);
}

/** A name in a quota: one that is known, or one with a domain, as "count/jobs.batch" or "requests.example.com/gpu". */
export function quotaNameError(name: string): string | undefined {
  const rule = qualifiedNameError(name);
  if (rule) return rule;
  if (name.includes('/') || isStandardQuotaName(name)) return undefined;
  return 'must be a resource that quotas know, such as "pods", "requests.cpu" or "limits.memory", or as "count/jobs.batch"';
}

/** A name in a limit range for anything but containers and pods. */
export function limitedNameError(name: string): string | undefined {
  const rule = qualifiedNameError(name);
  if (rule) return rule;
  if (name.includes('/') || name === 'storage' || isStandardQuotaName(name)) return undefined;
  return 'must be a resource such as "storage", or a name with a domain such as example.com/gpu';
}

/** Whether containers may have a limit above their request: not of what comes whole. */
export function mayOvercommit(name: string): boolean {
  return (!name.includes('/') || name.includes('kubernetes.io/')) && !name.startsWith('hugepages-');
}

/** Why an amount of the resource cannot be: negative, or a part of what comes whole. Undefined when it can. */
export function resourceAmountError(name: string, text = '0'): string | undefined {
  if (!isQuantity(text)) return 'must be a quantity such as "100m", "1.5" or "2Gi"';
  const milli = quantityMilli(text);
  if (milli < 0) return 'must not be negative';
  return comesWhole(name) && milli % 1000 !== 0 ? 'must be an integer' : undefined;
}

function comesWhole(name: string): boolean {
  if (COUNTED.includes(name)) return true;
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}
