import type { Affinity, PodAffinityTerm, ResourceQuota, ScopedResourceSelectorRequirement } from '../../generated/types.ts';

/** What the scopes of quotas ask about an object. */
export type ScopeFacts =
  | {
      readonly isPod: true;
      readonly isTerminating: boolean;
      readonly isBestEffort: boolean;
      /** One, or none. */
      readonly priorityClasses: readonly string[];
      readonly crossesNamespaces: boolean;
    }
  | { readonly isPod: false; readonly attributesClasses: readonly string[] };

/** One scope of a quota; an object counts when all fit it. */
export type Scope = ScopedResourceSelectorRequirement;

/** The scopes of a quota, whichever way they are written. */
export function scopesOf({ spec = {} }: ResourceQuota): readonly Scope[] {
  const plain = (spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' }));
  return [...plain, ...(spec.scopeSelector?.matchExpressions ?? [])];
}

/** Whether an object counts against a quota of these scopes. Without any everything does. */
export function fitsScopes(scopes: readonly Scope[], facts: ScopeFacts | undefined): boolean {
  return scopes.every((scope) => facts !== undefined && fits(scope, facts));
}

function fits(scope: Scope, facts: ScopeFacts): boolean {
  if (!facts.isPod) return scope.scopeName === 'VolumeAttributesClass' && selects(scope, facts.attributesClasses);
  switch (scope.scopeName) {
    case 'Terminating':
      return facts.isTerminating;
    case 'NotTerminating':
      return !facts.isTerminating;
    case 'BestEffort':
      return facts.isBestEffort;
    case 'NotBestEffort':
      return !facts.isBestEffort;
    case 'PriorityClass':
      return selects(scope, facts.priorityClasses);
    case 'CrossNamespacePodAffinity':
      return facts.crossesNamespaces;
    default:
      return false;
  }
}

/** Kubernetes' label selectors over the classes of an object: with none, only what asks for absence fits. */
function selects({ operator, values = [] }: Scope, classes: readonly string[]): boolean {
  switch (operator) {
    case 'Exists':
      return classes.length > 0;
    case 'DoesNotExist':
      return classes.length === 0;
    case 'In':
      return classes.some((name) => values.includes(name));
    case 'NotIn':
      return classes.length === 0 || classes.some((name) => !values.includes(name));
    default:
      return false;
  }
}

/** Whether a pod's affinity looks at pods of other namespaces. */
export function crossesNamespaces(affinity: Affinity | undefined): boolean {
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some((rules) => {
    const preferred = rules?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    const terms = [
      ...(rules?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...preferred.flatMap(({ podAffinityTerm }) => podAffinityTerm ?? []),
    ];
    return terms.some(looksElsewhere);
  });
}

const looksElsewhere = ({ namespaces = [], namespaceSelector }: PodAffinityTerm): boolean =>
  namespaces.length > 0 || namespaceSelector !== undefined;
