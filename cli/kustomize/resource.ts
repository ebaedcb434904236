import { badRequest } from '../../api/errors/index.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import { kinds } from '../../api/kinds/index.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';

/** One object of a build. Transformers change `json` in place. */
export interface Resource {
  json: JsonObject;
  /** Where it comes from, for messages. */
  readonly origin: string;
  /** What it was called before names and namespaces were changed, the oldest first. */
  readonly former: ResourceName[];
  /** Whether its name gets the hash of its content at the end. */
  hashed: boolean;
}

export interface ResourceName {
  readonly name: string;
  readonly namespace: string;
}

export function kindOfResource({ json }: Resource): string {
  return String(json.kind);
}

export function groupOfResource({ json }: Resource): string {
  return groupOf(String(json.apiVersion));
}

export function metadataOf(json: JsonObject): JsonObject {
  if (!isJsonObject(json.metadata)) json.metadata = {};
  return json.metadata;
}

export function nameOf({ json }: Resource): ResourceName {
  const { name, namespace } = metadataOf(json);
  return { name: typeof name === 'string' ? name : '', namespace: typeof namespace === 'string' ? namespace : '' };
}

/** All names that it has had. */
export function namesOf(resource: Resource): ResourceName[] {
  return [...resource.former, nameOf(resource)];
}

export function describe(resource: Resource): string {
  const { name, namespace } = nameOf(resource);
  return `${kindOfResource(resource)} "${namespace && `${namespace}/`}${name}"`;
}

/** Which object it is: no two of a build have the same. */
export function idOf(resource: Resource): string {
  const { name, namespace } = nameOf(resource);
  return JSON.stringify([groupOfResource(resource), kindOfResource(resource), namespace, name]);
}

/** What Kubernetes keeps outside of namespaces, beside those that Berth knows. */
const clusterKinds = new Set([
  ...['APIService', 'CSIDriver', 'CSINode', 'CustomResourceDefinition', 'FlowSchema', 'IngressClass'],
  ...['MutatingWebhookConfiguration', 'PriorityLevelConfiguration', 'RuntimeClass', 'ValidatingAdmissionPolicy'],
  ...['ValidatingAdmissionPolicyBinding', 'ValidatingWebhookConfiguration', 'VolumeAttachment'],
]);

export function isNamespaced(resource: Resource): boolean {
  const name = kindOfResource(resource);
  return kinds.find(({ kind }) => kind === name)?.namespaced ?? !clusterKinds.has(name);
}

/** Reads an object; `where` is the file. Throws INVALID_ARGUMENT for what is none. */
export function readResource(value: unknown, where: string): Resource {
  if (!isJsonObject(value)) throw badRequest(`${where}: expected an object with apiVersion, kind and metadata`);
  const json = structuredClone(value);
  for (const field of ['apiVersion', 'kind'] as const)
    if (typeof json[field] !== 'string' || json[field] === '')
      throw badRequest(`${where}: ${field} is required in every resource`);
  const resource: Resource = { json, origin: where, former: [], hashed: false };
  if (nameOf(resource).name === '') throw badRequest(`${where}: metadata.name is required: the ${String(json.kind)} has none`);
  return resource;
}

type Visit = (parent: JsonObject, key: string) => void;

/**
 * Visits what stands at a path as "spec.containers[].image": with the object that holds the last step, also where the
 * last step itself is not there. `create`: objects on the way that are missing are made.
 */
export function visitPath(json: JsonObject, path: string, visit: Visit, create = false): void {
  visitSteps(json, path.split('.'), visit, create);
}

/** The same with the steps by themselves, which may hold dots. */
export function visitSteps(json: JsonObject, [step = '', ...rest]: readonly string[], visit: Visit, create: boolean): void {
  if (step.endsWith('[]')) {
    const items: Json | undefined = json[step.slice(0, -2)];
    if (Array.isArray(items)) for (const item of items) if (isJsonObject(item)) visitSteps(item, rest, visit, create);
    return;
  }
  if (rest.length === 0) {
    visit(json, step);
    return;
  }
  if (create && json[step] === undefined) json[step] = {};
  const inner = json[step];
  for (const each of Array.isArray(inner) ? inner : [inner]) if (isJsonObject(each)) visitSteps(each, rest, visit, create);
}
