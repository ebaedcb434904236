import { groupOf, resourceOf } from '../api/kinds/identity.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import type { ScalableKind } from '../client/index.ts';

/** What a reference to an object says of its kind. */
export interface KindReference {
  readonly apiVersion?: string;
  readonly kind?: string;
}

/** The kind that a reference means: its group and name count, and not which version of the group it names. */
export function kindReferred(
  kinds: Iterable<{ readonly kind: Kind }>,
  { apiVersion = '', kind: name }: KindReference,
): Kind | undefined {
  for (const { kind } of kinds) if (kind.kind === name && groupOf(kind.apiVersion) === groupOf(apiVersion)) return kind;
  return undefined;
}

export function isScalable(kind: Kind): kind is ScalableKind<ApiObject> {
  return kind.scale !== undefined;
}

/** Of these kinds Kubernetes' server names a missing scale, of all others the object. */
const scaleResources: Readonly<Record<string, string>> = {
  'deployments.apps': 'deployments/scale.apps',
  'replicasets.apps': 'replicasets/scale.apps',
  replicationcontrollers: 'replicationcontrollers/scale.autoscaling',
};

/** Kubernetes' words for a target that is not there. */
export function noTargetMessage(kind: Kind, name: string): string {
  const resource = resourceOf(kind);
  return `${scaleResources[resource] ?? resource} "${name}" not found`;
}

/** Kubernetes' words for a kind that the server has in no version. */
export function noKindMessage({ apiVersion = '', kind = '' }: KindReference): string {
  return `no matches for kind "${kind}" in group "${groupOf(apiVersion)}"`;
}

/** Kubernetes' words for a kind that the server does not have in this version. */
export function noMatchesMessage({ apiVersion = '', kind = '' }: KindReference): string {
  return `no matches for kind "${kind}" in version "${apiVersion}"`;
}
