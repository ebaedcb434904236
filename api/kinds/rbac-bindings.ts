import type { FieldViolation } from '../errors/api-error.ts';
import { invalidValue, notSupported, required } from '../errors/violations.ts';
import type { ClusterRoleBinding, RoleBinding, Subject } from '../generated/types.ts';
import { labelNameError, pathNameError, subdomainNameError } from '../meta/names.ts';
import { ageColumn, nameColumn } from './cells.ts';
import { checkRequired, checkRule, type Violations } from './checks.ts';
import type { Column } from './kind.ts';
import { rbacGroup } from './rbac-roles.ts';

type Binding = RoleBinding | ClusterRoleBinding;

/** Groups need not be said: users, groups and roles are of one only. */
export function defaultBinding(binding: Binding): void {
  if (binding.roleRef) binding.roleRef.apiGroup ||= rbacGroup;
  for (const subject of binding.subjects ?? []) if (isPerson(subject)) subject.apiGroup ||= rbacGroup;
}

const isPerson = ({ kind }: Subject): boolean => kind === 'User' || kind === 'Group';

export function validateRoleBinding(binding: RoleBinding): FieldViolation[] {
  return validateBinding(binding, ['Role', 'ClusterRole'], true);
}

export function validateClusterRoleBinding(binding: ClusterRoleBinding): FieldViolation[] {
  return validateBinding(binding, ['ClusterRole'], false);
}

function validateBinding({ roleRef, subjects = [] }: Binding, kinds: readonly string[], isNamespaced: boolean): FieldViolation[] {
  const out: Violations = [];
  const { apiGroup = '', kind = '', name = '' } = roleRef ?? {};
  if (apiGroup !== '' && apiGroup !== rbacGroup) out.push(notSupported('roleRef.apiGroup', apiGroup, [rbacGroup]));
  if (!kinds.includes(kind)) out.push(notSupported('roleRef.kind', kind, kinds));
  checkRequired(out, '', 'roleRef.name', name);
  if (name) checkRule(out, '', 'roleRef.name', name, pathNameError(name));
  for (const [i, subject] of subjects.entries()) checkSubject(out, `subjects[${i}]`, subject, isNamespaced);
  return out;
}

function checkSubject(out: Violations, at: string, subject: Subject, isNamespaced: boolean): void {
  const { kind = '', apiGroup = '', name = '', namespace = '' } = subject;
  checkRequired(out, at, '.name', name);
  if (kind === 'ServiceAccount') {
    if (name) checkRule(out, at, '.name', name, subdomainNameError(name));
    if (apiGroup !== '') out.push(notSupported(`${at}.apiGroup`, apiGroup, ['']));
    if (namespace) checkRule(out, at, '.namespace', namespace, labelNameError(namespace));
    else if (!isNamespaced) out.push(required(`${at}.namespace`, 'a service account lives in one'));
  } else if (!isPerson(subject)) {
    out.push(notSupported(`${at}.kind`, kind, ['User', 'Group', 'ServiceAccount']));
  } else {
    if (apiGroup !== '' && apiGroup !== rbacGroup) out.push(notSupported(`${at}.apiGroup`, apiGroup, [rbacGroup]));
    if (namespace) out.push(invalidValue(`${at}.namespace`, namespace, `a ${kind.toLowerCase()} belongs to no namespace`));
  }
}

/** The role of a binding is immutable: subjects get another one only by a new binding. */
export function validateBindingUpdate({ roleRef = {} }: Binding, previous: Binding): FieldViolation[] {
  const { apiGroup, kind, name } = previous.roleRef ?? {};
  if (roleRef.apiGroup === apiGroup && roleRef.kind === kind && roleRef.name === name) return [];
  return [
    invalidValue('roleRef', `${roleRef.kind}/${roleRef.name}`, `cannot change; it is "${kind}/${name}": make another binding`),
  ];
}

const subjectsOf =
  (wanted: string) =>
  ({ subjects = [] }: Binding): string =>
    subjects
      .filter(({ kind }) => kind === wanted)
      .map(({ namespace, name }) => (namespace ? `${namespace}/${name}` : name))
      .join(', ');

const wide = (name: string, cell: (binding: Binding) => string): Column<Binding> => ({ name, type: 'string', priority: 1, cell });

/** The columns of both sorts of bindings, as kubectl shows them. */
export const bindingColumns: readonly Column<Binding>[] = [
  nameColumn,
  { name: 'ROLE', type: 'string', priority: 0, cell: ({ roleRef }) => `${roleRef?.kind ?? ''}/${roleRef?.name ?? ''}` },
  ageColumn,
  wide('USERS', subjectsOf('User')),
  wide('GROUPS', subjectsOf('Group')),
  wide('SERVICEACCOUNTS', subjectsOf('ServiceAccount')),
];
