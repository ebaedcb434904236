import type { SubjectRulesReviewStatus } from '../../api/generated/types.ts';
import { plainTable } from '../printers/plain-table.ts';

const list = (values: readonly string[] = []): string => `[${values.join(' ')}]`;

/** The rules of a user, a line for each resource or path: rules about the same are one line. */
export function rulesTable({ resourceRules = [], nonResourceRules = [] }: SubjectRulesReviewStatus): string {
  const verbs = new Map<string, { readonly cells: readonly [string, string, string]; readonly verbs: Set<string> }>();
  const add = (cells: readonly [string, string, string], more: readonly string[] = []): void => {
    const key = cells.join('\0');
    const known = verbs.get(key) ?? { cells, verbs: new Set<string>() };
    for (const verb of more) known.verbs.add(verb);
    verbs.set(key, known);
  };
  for (const rule of resourceRules) {
    for (const group of rule.apiGroups ?? [])
      for (const resource of rule.resources ?? []) add([nameOf(resource, group), list(), list(rule.resourceNames)], rule.verbs);
  }
  for (const rule of nonResourceRules) for (const path of rule.nonResourceURLs ?? []) add(['', list([path]), list()], rule.verbs);
  const rows = [...verbs.values()].map(({ cells, verbs: all }) => [...cells, list([...all])]);
  rows.sort((a, b) => (a[0] === '' ? 1 : 0) - (b[0] === '' ? 1 : 0) || (a[0]! < b[0]! ? -1 : a[0]! > b[0]! ? 1 : 0));
  return plainTable(['RESOURCES', 'NON-RESOURCE URLS', 'RESOURCE NAMES', 'VERBS'], rows);
}

/** "leases.coordination.k8s.io", and "pods/log" without a group. */
function nameOf(resource: string, group: string): string {
  if (group === '') return resource;
  const slash = resource.indexOf('/');
  return slash < 0 ? `${resource}.${group}` : `${resource.slice(0, slash)}.${group}${resource.slice(slash)}`;
}
