import { resourceOf } from '../identity.ts';
import type { Kind } from '../kind.ts';

// Which names in a quota concern which kind. Kubernetes' evaluators, as tables.

const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
const POD_NAMES: ReadonlySet<string> = new Set([
  'pods',
  ...COMPUTE.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);
/** A pod's containers must say how much of these they want where a quota bounds it. */
export const REQUIRED_NAMES = ['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'] as const;
const SERVICE_NAMES: ReadonlySet<string> = new Set(['services', 'services.nodeports', 'services.loadbalancers']);
const CLAIM_NAMES: ReadonlySet<string> = new Set(['persistentvolumeclaims', 'requests.storage']);
const OF_CLASS = /\.storageclass\.storage\.k8s\.io\/(persistentvolumeclaims|requests\.storage)$/;
/** Kinds that are counted by their plain plural, too; of others than pods, services and claims. */
const PLAIN_COUNTS: ReadonlySet<string> = new Set(['secrets', 'configmaps', 'replicationcontrollers', 'resourcequotas']);
/** What happens all the time is not counted, as in Kubernetes. */
const UNCOUNTED: ReadonlySet<string> = new Set(['events', 'events.events.k8s.io']);

/** Whether objects of the kind count against any quota. */
export function isCounted(kind: Kind): boolean {
  return kind.namespaced && !UNCOUNTED.has(resourceOf(kind));
}

/** Kinds whose objects may take more, or less, after a change; all others count once, as long as they are there. */
const CHANGING: ReadonlySet<string> = new Set(['pods', 'services', 'persistentvolumeclaims']);

/** Whether what an object of the kind takes may change while it is there. */
export function isChanging(kind: Kind): boolean {
  return CHANGING.has(resourceOf(kind));
}

/** The name that counts all objects of a kind: "count/pods", "count/jobs.batch". */
export function countName(kind: Pick<Kind, 'plural' | 'apiVersion'>): string {
  return `count/${resourceOf(kind)}`;
}

/** The amount by class of a claim: "gold.storageclass.storage.k8s.io/requests.storage". */
export function ofClass(storageClass: string, name: string): string {
  return `${storageClass}.storageclass.storage.k8s.io/${name}`;
}

/** Whether the name in a quota bounds something that objects of the kind take. */
export function concerns(kind: Kind, name: string): boolean {
  if (!isCounted(kind)) return false;
  if (name === countName(kind)) return true;
  switch (resourceOf(kind)) {
    case 'pods':
      return POD_NAMES.has(name) || /^(requests\.)?hugepages-/.test(name) || isExtendedRequest(name);
    case 'services':
      return SERVICE_NAMES.has(name);
    case 'persistentvolumeclaims':
      return CLAIM_NAMES.has(name) || OF_CLASS.test(name);
    default:
      return PLAIN_COUNTS.has(name) && name === resourceOf(kind);
  }
}

/** What containers request of a resource of others, e.g. "requests.example.com/gpu". */
function isExtendedRequest(name: string): boolean {
  return name.startsWith('requests.') && name.includes('/') && !isNative(name.slice('requests.'.length));
}

/** Whether a resource is Kubernetes' own: it has no domain, or that of Kubernetes. */
export function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}
