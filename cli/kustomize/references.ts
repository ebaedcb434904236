import { badRequest } from '../../api/errors/index.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { describe, isNamespaced, kindOfResource, metadataOf, nameOf, namesOf, type Resource, visitPath } from './resource.ts';

/** Kinds with a pod template in spec.template. */
export const templated = ['Deployment', 'ReplicaSet', 'ReplicationController', 'DaemonSet', 'StatefulSet', 'Job'];

/** Where the pod's spec stands in the objects of a kind. */
export const podSpecs: Readonly<Record<string, string>> = {
  Pod: 'spec',
  PodTemplate: 'template.spec',
  ...Object.fromEntries(templated.map((kind) => [kind, 'spec.template.spec'])),
  CronJob: 'spec.jobTemplate.spec.template.spec',
};

const containers = ['containers[]', 'initContainers[]', 'ephemeralContainers[]'];
const inContainers = (path: string): string[] => containers.map((list) => `${list}.${path}`);

/** The fields of a pod's spec that name other objects, by the kind that they name. */
const podReferences: Readonly<Record<string, readonly string[]>> = {
  ConfigMap: [
    ...['volumes[].configMap.name', 'volumes[].projected.sources[].configMap.name'],
    ...inContainers('env[].valueFrom.configMapKeyRef.name'),
    ...inContainers('envFrom[].configMapRef.name'),
  ],
  Secret: [
    ...['volumes[].secret.secretName', 'volumes[].projected.sources[].secret.name', 'imagePullSecrets[].name'],
    ...inContainers('env[].valueFrom.secretKeyRef.name'),
    ...inContainers('envFrom[].secretRef.name'),
  ],
  ServiceAccount: ['serviceAccountName', 'serviceAccount'],
  PersistentVolumeClaim: ['volumes[].persistentVolumeClaim.claimName'],
  PriorityClass: ['priorityClassName'],
};

/** Fields of other objects: of which kind, where, and the kind that they name. */
const otherReferences: readonly (readonly [kind: string, path: string, names: string])[] = [
  ['StatefulSet', 'spec.serviceName', 'Service'],
  ['StatefulSet', 'spec.volumeClaimTemplates[].spec.storageClassName', 'StorageClass'],
  ['PersistentVolumeClaim', 'spec.volumeName', 'PersistentVolume'],
  ['PersistentVolumeClaim', 'spec.storageClassName', 'StorageClass'],
  ['PersistentVolume', 'spec.storageClassName', 'StorageClass'],
  ['ServiceAccount', 'imagePullSecrets[].name', 'Secret'],
  ['ServiceAccount', 'secrets[].name', 'Secret'],
  ['Ingress', 'spec.tls[].secretName', 'Secret'],
  ['Ingress', 'spec.rules[].http.paths[].backend.service.name', 'Service'],
  ['Ingress', 'spec.defaultBackend.service.name', 'Service'],
  ['Ingress', 'spec.ingressClassName', 'IngressClass'],
  ['ValidatingAdmissionPolicyBinding', 'spec.policyName', 'ValidatingAdmissionPolicy'],
];

/** Fields with an object that has kind and name, perhaps the namespace, of what it refers to: of some kinds only. */
const typedReferences: readonly (readonly [kind: string, path: string, only?: readonly string[]])[] = [
  ['HorizontalPodAutoscaler', 'spec.scaleTargetRef.name', ['Deployment', 'StatefulSet', 'ReplicaSet', 'ReplicationController']],
  ['RoleBinding', 'roleRef.name'],
  ['ClusterRoleBinding', 'roleRef.name'],
  ['RoleBinding', 'subjects[].name'],
  ['ClusterRoleBinding', 'subjects[].name'],
];

/** Fields with an object that has name and namespace of a Service. */
const serviceReferences: readonly (readonly [kind: string, path: string])[] = [
  ['ValidatingWebhookConfiguration', 'webhooks[].clientConfig.service.name'],
  ['MutatingWebhookConfiguration', 'webhooks[].clientConfig.service.name'],
  ['CustomResourceDefinition', 'spec.conversion.webhook.clientConfig.service.name'],
  ['APIService', 'spec.service.name'],
];

/** Resources of rules whose names are followed. */
const ruleKinds: Readonly<Record<string, string>> = {
  configmaps: 'ConfigMap',
  secrets: 'Secret',
  persistentvolumes: 'PersistentVolume',
};

/** Rewrites the names of renamed resources in all that refer to them. */
export function rewriteReferences(resources: readonly Resource[]): void {
  const renamed = new Map<string, Resource[]>();
  for (const resource of resources) {
    const kind = kindOfResource(resource);
    if (resource.former.length > 0) renamed.set(kind, [...(renamed.get(kind) ?? []), resource]);
  }
  if (renamed.size === 0) return;
  for (const resource of resources) new Rewriter(resource, resources, renamed).run();
}

interface Referred {
  readonly kind: Json | undefined;
  /** Whether the namespace stands beside the name, and is set with it. */
  readonly setsNamespace: boolean;
}

class Rewriter {
  readonly #from: Resource;
  readonly #all: readonly Resource[];
  readonly #renamed: ReadonlyMap<string, readonly Resource[]>;

  constructor(from: Resource, all: readonly Resource[], renamed: ReadonlyMap<string, readonly Resource[]>) {
    this.#from = from;
    this.#all = all;
    this.#renamed = renamed;
  }

  run(): void {
    const { json } = this.#from;
    const own = kindOfResource(this.#from);
    const podSpec = podSpecs[own];
    if (podSpec !== undefined)
      for (const [kind, paths] of Object.entries(podReferences))
        if (this.#renamed.has(kind))
          for (const path of paths) visitPath(json, `${podSpec}.${path}`, (parent, key) => this.#rewrite(parent, key, kind));
    for (const [of, path, kind] of otherReferences)
      if (of === own) visitPath(json, path, (parent, key) => this.#rewrite(parent, key, kind));
    for (const [of, path, only] of typedReferences)
      if (of === own)
        visitPath(json, path, (parent, key) => {
          if (only === undefined || only.includes(String(parent.kind)))
            this.#rewriteTyped(parent, key, { kind: parent.kind, setsNamespace: path.startsWith('subjects') });
        });
    for (const [of, path] of serviceReferences)
      if (of === own)
        visitPath(json, path, (parent, key) => this.#rewriteTyped(parent, key, { kind: 'Service', setsNamespace: true }));
    if (own === 'Role' || own === 'ClusterRole') this.#rewriteRules();
  }

  #rewrite(parent: JsonObject, key: string, kind: string): void {
    const name = parent[key];
    const found = typeof name === 'string' ? this.#find(kind, name, nameOf(this.#from).namespace) : undefined;
    if (found) parent[key] = nameOf(found).name;
  }

  #rewriteTyped(parent: JsonObject, key: string, { kind, setsNamespace }: Referred): void {
    const { namespace, [key]: name } = parent;
    if (typeof kind !== 'string' || typeof name !== 'string') return;
    const found = this.#find(kind, name, typeof namespace === 'string' ? namespace : nameOf(this.#from).namespace);
    if (!found) return;
    parent[key] = nameOf(found).name;
    const { namespace: next } = nameOf(found);
    if (setsNamespace && next !== '') parent.namespace = next;
  }

  #rewriteRules(): void {
    visitPath(this.#from.json, 'rules[].resourceNames', (rule, key) => {
      const { [key]: names, resources } = rule;
      if (!Array.isArray(names) || !Array.isArray(resources)) return;
      const kinds = resources.flatMap((resource) => ruleKinds[String(resource)] ?? []);
      rule[key] = names.map((name) => {
        const found = kinds.flatMap((kind) => this.#find(kind, String(name), nameOf(this.#from).namespace) ?? [])[0];
        return found ? nameOf(found).name : name;
      });
    });
  }

  /** What a name means; undefined: something outside of the build, or that was not renamed. */
  #find(kind: string, name: string, namespace: string): Resource | undefined {
    // Where the referring object was put into another namespace, its former one counts as well.
    const spaces = new Set([namespace, ...this.#from.former.map((each) => each.namespace)]);
    const isNear = (each: { namespace: string }, resource: Resource): boolean =>
      !isNamespaced(resource) || !isNamespaced(this.#from) || spaces.has(each.namespace);
    const isNow = (resource: Resource): boolean => {
      const now = nameOf(resource);
      return kindOfResource(resource) === kind && now.name === name && isNear(now, resource);
    };
    if (this.#all.some((resource) => isNow(resource) && resource.former.length === 0)) return undefined;
    const candidates = (this.#renamed.get(kind) ?? []).filter((resource) =>
      namesOf(resource).some((each) => each.name === name && isNear(each, resource)),
    );
    const current = candidates.filter(isNow);
    const [found, second] = current.length > 0 ? current : candidates;
    if (found && second && nameOf(found).name !== nameOf(second).name)
      throw badRequest(
        `${this.#from.origin}: ${describe(this.#from)} refers to the ${kind} "${name}", which may be ${describe(found)} or ${describe(second)}: use the new name`,
      );
    return found;
  }
}

/** Subjects that are the service account "default" follow the namespace, as kustomize has it. */
export function moveDefaultSubjects(resource: Resource, namespace: string): void {
  visitPath(resource.json, 'subjects[].namespace', (subject) => {
    if (subject.kind === 'ServiceAccount' && subject.name === 'default') subject.namespace = namespace;
  });
}

export function labelsOf(json: JsonObject): Record<string, string> {
  const { labels } = metadataOf(json);
  return isJsonObject(labels) ? (labels as Record<string, string>) : {};
}
