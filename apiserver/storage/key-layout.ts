/**
 * How keys are laid out. 1: "leases/default/l", by plurals alone, so that kinds of two groups could meet; 2:
 * "leases.coordination.k8s.io/default/l", by group resources. A store or backup of an older layout is brought to this
 * one before it is used, an older version refuses this one (`newer-format`).
 */
export const keyLayout = 2;

/**
 * The groups of the resources of layout 1; those of the core group have the same keys in both. Never changes: it says
 * what was.
 */
const groupsBefore: Readonly<Record<string, string>> = {
  certificatesigningrequests: 'certificates.k8s.io',
  clusterrolebindings: 'rbac.authorization.k8s.io',
  clusterroles: 'rbac.authorization.k8s.io',
  leases: 'coordination.k8s.io',
  nodemetrics: 'metrics.k8s.io',
  poddisruptionbudgets: 'policy',
  priorityclasses: 'scheduling.k8s.io',
  rolebindings: 'rbac.authorization.k8s.io',
  roles: 'rbac.authorization.k8s.io',
  runtimeclasses: 'node.k8s.io',
  storageclasses: 'storage.k8s.io',
};

/** A key of layout 1 in the present one. */
export function presentKey(key: string): string {
  const slash = key.indexOf('/');
  const plural = key.slice(0, Math.max(slash, 0));
  const group = Object.hasOwn(groupsBefore, plural) ? groupsBefore[plural] : undefined;
  return group === undefined ? key : `${plural}.${group}${key.slice(slash)}`;
}
