import type { LabelSelector, MatchResources } from '../../../api/generated/types.ts';
import { isKind } from '../../../api/kinds/index.ts';
import { labelSelectorMatches } from '../../../api/meta/labels.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { labelsOf } from '../../watch/entry.ts';
import type { AdmissionAttributes } from '../dynamic.ts';
import { type MatchPolicy, namedRuleVersion, requestedVersion, type ServedVersions } from './rules.ts';

/** Gives the labels of a namespace by its name; undefined for one that is not there. */
export type NamespaceLabels = (name: string) => Readonly<Record<string, string>> | undefined;

/** What matching asks of the cluster. */
export interface ServedCluster {
  readonly labelsOfNamespace: NamespaceLabels;
  readonly versionsOf: ServedVersions;
}

/** The labels of namespaces as the server's cache has them. */
export function namespaceLabels(store: KindStore): NamespaceLabels {
  return (name) => {
    const entry = store.cache.get(store.key({ namespace: '', name }));
    return entry && labelsOf(entry);
  };
}

/** Whether a request is one of those that `match` means; absent or without rules: all but those that it excludes. */
export function resourcesMatch(
  match: MatchResources | undefined,
  attributes: AdmissionAttributes,
  served: ServedCluster,
): boolean {
  return versionMeant(match, attributes, served) !== undefined;
}

/** The apiVersion in which `match` means the request; undefined when it does not. */
export function versionMeant(
  match: MatchResources | undefined,
  attributes: AdmissionAttributes,
  { labelsOfNamespace, versionsOf }: ServedCluster,
): string | undefined {
  const own = requestedVersion(attributes);
  if (!match) return own;
  const { resourceRules = [], excludeResourceRules = [] } = match;
  const policy: MatchPolicy = match.matchPolicy === 'Exact' ? 'Exact' : 'Equivalent';
  if (excludeResourceRules.some((each) => namedRuleVersion(each, attributes, policy, versionsOf) !== undefined)) return undefined;
  const versions = resourceRules.map((each) => namedRuleVersion(each, attributes, policy, versionsOf));
  const version = resourceRules.length === 0 || versions.includes(own) ? own : versions.find((each) => each !== undefined);
  if (version === undefined || !namespaceMatches(match.namespaceSelector, attributes, labelsOfNamespace)) return undefined;
  return objectMatches(match.objectSelector, attributes) ? version : undefined;
}

/**
 * Whether the labels of the request's namespace match. A Namespace counts as in itself; other objects of the cluster
 * always match.
 */
export function namespaceMatches(
  selector: LabelSelector | undefined,
  attributes: AdmissionAttributes,
  labelsOfNamespace: NamespaceLabels,
): boolean {
  if (selectsAll(selector)) return true;
  const { kind, object, previous, namespace, operation } = attributes;
  if (isKind(kind, 'Namespace') && attributes.subresource === '') {
    const itself = operation === 'DELETE' ? previous : object;
    return labelSelectorMatches(selector, itself?.metadata?.labels);
  }
  if (!kind.namespaced && !isKind(kind, 'Namespace')) return true;
  const name = kind.namespaced ? namespace : attributes.name;
  return labelSelectorMatches(selector, labelsOfNamespace(name));
}

/** Whether the labels of the object match, as it was or as it will be: a change of labels leads around no rule. */
export function objectMatches(
  selector: LabelSelector | undefined,
  { object, previous, operation }: AdmissionAttributes,
): boolean {
  if (selectsAll(selector)) return true;
  // Options of a connection have no labels.
  if (operation === 'CONNECT') return false;
  return [object, previous].some((each) => each !== undefined && labelSelectorMatches(selector, each.metadata?.labels));
}

/** Whether a selector, absent or empty, selects everything. */
export function selectsAll(selector: LabelSelector | undefined): boolean {
  return !selector || (Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions?.length ?? 0) === 0);
}
