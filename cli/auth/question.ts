import { badRequest } from '../../api/errors/index.ts';
import type { SelfSubjectAccessReviewSpec } from '../../api/generated/types.ts';
import { kindOf } from '../../api/kinds/index.ts';

/** What `auth can-i` is asked. */
export interface QuestionWords {
  readonly verb: string;
  /** TYPE, TYPE/NAME, or a path that begins with "/". */
  readonly target: string;
  readonly subresource?: string | undefined;
  /** "": in all namespaces. */
  readonly namespace: string;
}

export interface Question {
  readonly spec: SelfSubjectAccessReviewSpec;
  /** What the user may not have meant, in sentences. */
  readonly warnings: readonly string[];
}

/** Kubernetes' verbs; others can be asked about, and are mostly mistakes. */
const VERBS = [
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
  ...['bind', 'escalate', 'impersonate', 'use', '*'],
];

/** The words as a question to the server. Throws INVALID_ARGUMENT. */
export function parseQuestion({ verb, target, subresource, namespace }: QuestionWords): Question {
  const warnings = VERBS.includes(verb) ? [] : [`"${verb}" is no verb that rules usually have: ${VERBS.join(', ')}`];
  if (target.startsWith('/')) {
    if (subresource) throw badRequest('a path has no subresource');
    return { spec: { nonResourceAttributes: { verb, path: target } }, warnings };
  }
  const slash = target.indexOf('/');
  const type = slash < 0 ? target : target.slice(0, slash);
  const name = slash < 0 ? '' : target.slice(slash + 1);
  if (type === '' || (slash >= 0 && name === '')) throw badRequest(`name a resource, RESOURCE/NAME or a path, not "${target}"`);
  const { group, resource, namespaced, isKnown } = resourceOf(type);
  if (!isKnown) warnings.push(`the server has no resource "${type}"`);
  if (['log', 'exec', 'attach', 'portforward', 'status', 'eviction', 'binding'].includes(name))
    warnings.push(`"${name}" is taken for a name; ask about the part of that name with --subresource=${name}`);
  const where = namespaced ? namespace : '';
  return {
    spec: { resourceAttributes: { verb, group, resource, namespace: where, name, subresource: subresource ?? '' } },
    warnings,
  };
}

/** "po", "pods", "leases.coordination.k8s.io", "*". What is not known is asked about as it stands. */
function resourceOf(type: string) {
  if (type === '*') return { group: '*', resource: '*', namespaced: true, isKnown: true };
  const dot = type.indexOf('.');
  const kind = kindOf(dot < 0 ? type : type.slice(0, dot));
  const slash = kind?.apiVersion.indexOf('/') ?? -1;
  const group = kind && slash > 0 ? kind.apiVersion.slice(0, slash) : '';
  if (kind && (dot < 0 || type.slice(dot + 1) === group))
    return { group, resource: kind.plural, namespaced: kind.namespaced, isKnown: true };
  const [resource = '', ...rest] = type.split('.');
  return { group: rest.join('.'), resource, namespaced: true, isKnown: ['users', 'groups', 'serviceaccounts'].includes(type) };
}
