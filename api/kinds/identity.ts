import type { Kind } from './kind.ts';

/** "apps" of "apps/v1", "" of "v1". */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

/** The group resource of a kind, which no other kind has: "pods", "leases.coordination.k8s.io". */
export function resourceOf({ plural, apiVersion }: Pick<Kind, 'plural' | 'apiVersion'>): string {
  return withGroup(plural, apiVersion);
}

/** The group kind, which no other kind has: "Pod", "Lease.coordination.k8s.io". */
export function groupKindOf({ kind, apiVersion }: Pick<Kind, 'kind' | 'apiVersion'>): string {
  return withGroup(kind, apiVersion);
}

/** What the storage keys of a kind begin with: "pods/", "leases.coordination.k8s.io/". */
export function keyPrefixOf(kind: Pick<Kind, 'plural' | 'apiVersion'>): string {
  return `${resourceOf(kind)}/`;
}

function withGroup(name: string, apiVersion: string): string {
  const group = groupOf(apiVersion);
  return group === '' ? name : `${name}.${group}`;
}
