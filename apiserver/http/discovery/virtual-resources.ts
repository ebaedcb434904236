// Resources that keep no objects: what is sent to them is answered, or done.

/** Such a resource, as discovery names it. */
export interface VirtualResource {
  /** "authorization.k8s.io/v1". */
  readonly apiVersion: string;
  /** The plural: "subjectaccessreviews". */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
}

const AUTHORIZATION = 'authorization.k8s.io/v1';
const AUTHENTICATION = 'authentication.k8s.io/v1';
const METRICS = 'metrics.k8s.io/v1beta1';

const question = (apiVersion: string, kind: string, namespaced = false): VirtualResource => ({
  ...{ apiVersion, kind, namespaced, resource: `${kind.toLowerCase()}s`, singular: kind.toLowerCase(), verbs: ['create'] },
});

export const virtualResources: readonly VirtualResource[] = [
  question('v1', 'Binding', true),
  question(AUTHORIZATION, 'SelfSubjectAccessReview'),
  question(AUTHORIZATION, 'SubjectAccessReview'),
  question(AUTHORIZATION, 'SelfSubjectRulesReview'),
  question(AUTHORIZATION, 'LocalSubjectAccessReview', true),
  question(AUTHENTICATION, 'TokenReview'),
  question(AUTHENTICATION, 'SelfSubjectReview'),
  // What `kubectl auth whoami` of 1.27 asks; the same as v1.
  question('authentication.k8s.io/v1beta1', 'SelfSubjectReview'),
  {
    ...{ apiVersion: 'v1', resource: 'componentstatuses', singular: 'componentstatus', kind: 'ComponentStatus' },
    ...{ namespaced: false, verbs: ['get', 'list'], shortNames: ['cs'] },
  },
  // Without a singular clients take the kind's name, as metrics-server has it: `kubectl get podmetrics`.
  { apiVersion: METRICS, resource: 'nodes', singular: '', kind: 'NodeMetrics', namespaced: false, verbs: ['get', 'list'] },
  { apiVersion: METRICS, resource: 'pods', singular: '', kind: 'PodMetrics', namespaced: true, verbs: ['get', 'list'] },
];

/** The virtual resource that a path names, if any. */
export function findVirtual(group: string, version: string, resource: string): VirtualResource | undefined {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return virtualResources.find((each) => each.apiVersion === apiVersion && each.resource === resource);
}
