import type { LabelSelector, RuleWithOperations } from '../../../api/generated/types.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import { isKind } from '../../../api/kinds/index.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import { labelSelectorMatches } from '../../../api/meta/labels.ts';
import type { AdmissionAttributes } from '../dynamic.ts';
import { versionOf } from './request.ts';

type Labels = Readonly<Record<string, string>>;

/** Which requests a webhook is called for, but for its conditions. */
export interface Matched {
  readonly rules: readonly RuleWithOperations[];
  readonly matchesAnyVersion: boolean;
  readonly namespaceSelector: LabelSelector | undefined;
  readonly objectSelector: LabelSelector | undefined;
}

/**
 * The apiVersion by which a rule means the request: that of the request, or, for "Equivalent", another one that the
 * kind is served in. Undefined when no rule does.
 */
export function matchedVersion(
  { rules, matchesAnyVersion }: Matched,
  attributes: AdmissionAttributes,
  otherVersions: () => readonly string[],
): string | undefined {
  const { kind, requested } = attributes;
  const { apiVersion } = kind;
  if (rules.some((rule) => isMeant(rule, attributes, apiVersion))) return apiVersion;
  if (requested !== undefined && rules.some((rule) => isMeant(rule, attributes, requested))) return requested;
  if (!matchesAnyVersion || rules.length === 0) return undefined;
  return otherVersions().find((other) => rules.some((rule) => isMeant(rule, attributes, other)));
}

function isMeant(
  { operations = [], rule = {} }: RuleWithOperations,
  attributes: AdmissionAttributes,
  apiVersion: string,
): boolean {
  const { operation, kind, namespace, subresource } = attributes;
  const { apiGroups = [], apiVersions = [], resources = [], scope = '*' } = rule;
  const isNamespaced = namespace !== '' && !isKind(kind, 'Namespace');
  return (
    has(operations, operation) &&
    has(apiGroups, groupOf(apiVersion)) &&
    has(apiVersions, versionOf(apiVersion)) &&
    (scope === '*' || (scope === 'Namespaced') === isNamespaced) &&
    resources.some((text) => meansResource(text, kind.plural, subresource))
  );
}

const has = (words: readonly string[], word: string): boolean => words.includes('*') || words.includes(word);

function meansResource(text: string, plural: string, subresource: string): boolean {
  const slash = text.indexOf('/');
  const [resource, sub] = slash < 0 ? [text, ''] : [text.slice(0, slash), text.slice(slash + 1)];
  return (resource === '*' || resource === plural) && (sub === '*' || sub === subresource);
}

/** Whether the labels of the object, before or after the change, are those that are meant. */
export function matchesObject({ objectSelector }: Matched, { object, previous }: AdmissionAttributes): boolean {
  if (isEmpty(objectSelector)) return true;
  return [object, previous].some((each) => each !== undefined && labelSelectorMatches(objectSelector, labelsOf(each)));
}

/** The same of the object's namespace; what is in none always matches, but for namespaces themselves. */
export async function matchesNamespace(
  { namespaceSelector }: Matched,
  { kind, namespace, object, previous }: AdmissionAttributes,
  labelsOfNamespace: (name: string) => Promise<Labels | undefined>,
): Promise<boolean> {
  if (isEmpty(namespaceSelector)) return true;
  const own = object ?? previous;
  if (isKind(kind, 'Namespace')) return own === undefined || labelSelectorMatches(namespaceSelector, labelsOf(own));
  if (namespace === '') return true;
  return labelSelectorMatches(namespaceSelector, await labelsOfNamespace(namespace));
}

const isEmpty = (selector: LabelSelector | undefined): boolean =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;

const labelsOf = ({ metadata }: ApiObject): Labels => metadata?.labels ?? {};
