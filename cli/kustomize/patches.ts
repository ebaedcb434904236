import type { Type } from 'protobufjs';
import { messageType } from '../../api/codec/descriptors.ts';
import { fieldsTo } from '../../api/codec/message-fields.ts';
import { innerType, mergeKey, ORDER, strategicMerge } from '../../api/codec/strategic-merge.ts';
import { badRequest } from '../../api/errors/index.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import { kinds } from '../../api/kinds/index.ts';
import { applyJsonPatch, parseJsonPatch } from '../../api/meta/json-patch.ts';
import { parseLabelSelector } from '../../api/meta/labels.ts';
import { isJsonObject, type Json, type JsonObject, mergePatch, setMember } from '../../api/meta/merge-patch.ts';
import { checkMembers, type Kustomization, parseObjects, readText, textIn } from './kustomization.ts';
import { labelsOf } from './references.ts';
import { describe, groupOfResource, kindOfResource, metadataOf, namesOf, type Resource } from './resource.ts';

type Refuse = (why: string) => Error;
const targetMembers = ['group', 'version', 'kind', 'name', 'namespace', 'labelSelector', 'annotationSelector'];

/** `patchesStrategicMerge` and `patches`, in this order, before names and labels are changed. */
export function patchResources(kustomization: Kustomization, resources: Resource[]): void {
  for (const [i, entry] of kustomization.strings('patchesStrategicMerge').entries()) {
    const refuse = (why: string): Error => kustomization.refuse(`patchesStrategicMerge[${i}]: ${why}`);
    const text = entry.includes('\n') ? entry : readText(kustomization.fileAt(entry));
    applyText(resources, { text, target: undefined, options: {}, refuse });
  }
  for (const { item, path } of kustomization.objects('patches')) {
    const refuse = (why: string): Error => kustomization.refuse(`${path}: ${why}`);
    checkMembers(item, ['path', 'patch', 'target', 'options'], refuse);
    const { target, options = {} } = item;
    if (!isJsonObject(options)) throw refuse('options: expected an object');
    checkMembers(options, ['allowNameChange', 'allowKindChange'], (why) => refuse(`options: ${why}`));
    applyText(resources, { text: textOf(kustomization, item, refuse), target: readTarget(target, refuse), options, refuse });
  }
}

/** `patchesJson6902`, after names and labels were changed. */
export function patchJson6902(kustomization: Kustomization, resources: Resource[]): void {
  for (const { item, path } of kustomization.objects('patchesJson6902')) {
    const refuse = (why: string): Error => kustomization.refuse(`${path}: ${why}`);
    checkMembers(item, ['path', 'patch', 'target'], refuse);
    const target = readTarget(item.target, refuse);
    if (!target) throw refuse('target is required');
    applyText(resources, { text: textOf(kustomization, item, refuse), target, options: {}, refuse });
  }
}

function textOf(kustomization: Kustomization, item: JsonObject, refuse: Refuse): string {
  const [path, patch] = [textIn(item, 'path', refuse), textIn(item, 'patch', refuse)];
  if ((path === undefined) === (patch === undefined)) throw refuse('give the patch with path or with patch');
  return patch ?? readText(kustomization.fileAt(path!));
}

interface Patch {
  readonly text: string;
  readonly target: ((resource: Resource) => boolean) | undefined;
  readonly options: JsonObject;
  readonly refuse: Refuse;
}

function applyText(resources: Resource[], patch: Patch): void {
  const { target, refuse } = patch;
  const documents = parseObjects(patch.text, 'the patch') as Json[];
  if (documents.length === 0) throw refuse('the patch is empty');
  for (const document of documents) {
    if (!Array.isArray(document) && !isJsonObject(document))
      throw refuse('a patch is an object, or a list of JSON 6902 operations');
    if (Array.isArray(document) && !target) throw refuse('a list of JSON 6902 operations needs a target');
    const found = resources.filter(target ?? namedBy(document as JsonObject, refuse));
    if (found.length === 0 && !target) throw refuse(`there is no ${nameIn(document as JsonObject)} to patch`);
    for (const resource of found) {
      const next = patched(resource, document, patch);
      if (next) resource.json = next;
      else resources.splice(resources.indexOf(resource), 1);
    }
  }
}

/** Undefined: the patch deletes the resource. */
function patched(resource: Resource, patch: Json, { options, refuse }: Patch): JsonObject | undefined {
  const before = resource.json;
  if (isJsonObject(patch) && patch.$patch === 'delete') return undefined;
  const after = Array.isArray(patch)
    ? patchedBy6902(before, patch, resource, refuse)
    : merged(resource, patch as JsonObject, refuse);
  // A patch for several resources has a name of its own.
  if (options.allowKindChange !== true && !Array.isArray(patch))
    Object.assign(after, { apiVersion: before.apiVersion, kind: before.kind });
  if (options.allowNameChange !== true && !Array.isArray(patch)) {
    const { name, namespace } = metadataOf(before);
    const metadata = metadataOf(after);
    metadata.name = name!;
    if (namespace === undefined) delete metadata.namespace;
    else metadata.namespace = namespace;
  }
  return after;
}

function patchedBy6902(before: JsonObject, patch: Json, resource: Resource, refuse: Refuse): JsonObject {
  const after = told(() => applyJsonPatch(before, parseJsonPatch(patch)), resource, refuse);
  if (!isJsonObject(after)) throw refuse(`the result is no object for ${describe(resource)}`);
  return after;
}

function merged(resource: Resource, patch: JsonObject, refuse: Refuse): JsonObject {
  const name = kindOfResource(resource);
  const kind = kinds.find((each) => each.kind === name && groupOf(each.apiVersion) === groupOfResource(resource));
  // Of a kind that Berth does not know, no list has a key.
  const { json } = resource;
  return structuredClone(
    told(
      () =>
        kind ? strategicMerge(kind.message, json, withOrder(messageType(kind.message), json, patch)) : mergePatch(json, patch),
      resource,
      refuse,
    ),
  ) as JsonObject;
}

/**
 * The patch with the order of each list that it merges: kustomize puts the items that a patch names before all others,
 * where Kubernetes leaves the others between them.
 */
function withOrder(type: Type | undefined, target: JsonObject, patch: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const [name, value] of Object.entries(patch)) {
    const [field, before] = [type && fieldsTo(type, name)?.at(-1), Object.hasOwn(target, name) ? target[name] : undefined];
    const [inner, key] = [innerType(field), mergeKey(field)];
    let next = value;
    if (isJsonObject(value) && isJsonObject(before)) next = withOrder(inner, before, value);
    if (Array.isArray(value) && Array.isArray(before) && key !== undefined) {
      const nameOf = (item: Json): Json | undefined => (key === '' ? item : isJsonObject(item) ? item[key] : undefined);
      next = value.map((item) => {
        const present = before.find((each) => nameOf(each) === nameOf(item));
        return isJsonObject(item) && isJsonObject(present) ? withOrder(inner, present, item) : item;
      });
      const kept = value.filter(isKept);
      const names = [...new Set([...kept, ...before].map(nameOf))].filter((each) => each !== undefined);
      const ports = mergedPorts(before, value, key);
      if (ports) next = [{ $patch: 'replace' }, ...ports];
      else setMember(result, `${ORDER}${name}`, key === '' ? names : names.map((each) => ({ [key]: each })));
    }
    setMember(result, name, next);
  }
  return result;
}

const isKept = (item: Json): boolean => !isJsonObject(item) || item.$patch === undefined || item.$patch === 'merge';

/**
 * kustomize tells ports apart by number and protocol, where a strategic merge patch looks at the number alone.
 * Undefined where not all of them say their protocol, or one replaces the list.
 */
function mergedPorts(before: readonly Json[], patch: readonly Json[], key: string): JsonObject[] | undefined {
  const all = [...before, ...patch];
  const isPort = (item: Json): item is JsonObject => isJsonObject(item) && item[key] !== undefined && item.protocol !== undefined;
  if ((key !== 'containerPort' && key !== 'port') || !all.every(isPort) || all.some(({ $patch: how }) => how === 'replace'))
    return undefined;
  const isSame = (a: JsonObject, b: JsonObject): boolean => a[key] === b[key] && a.protocol === b.protocol;
  const [present, wanted] = [before as JsonObject[], patch as JsonObject[]];
  const changed = (item: JsonObject, by: JsonObject | undefined): JsonObject =>
    by ? (mergePatch(item, by) as JsonObject) : item;
  const named = (port: JsonObject, list: readonly JsonObject[]): JsonObject | undefined =>
    list.find((each) => isSame(each, port));
  return [
    ...wanted.filter((item) => isKept(item) && !named(item, present)),
    ...present.flatMap((port) => {
      const by = named(port, wanted);
      return by && !isKept(by) ? [] : [changed(port, by)];
    }),
  ];
}

function told<T>(run: () => T, resource: Resource, refuse: Refuse): T {
  try {
    return run();
  } catch (error) {
    throw refuse(`${describe(resource)}: ${(error as Error).message}`);
  }
}

/** The resources that a patch without target means: by kind, name and namespace, also those that they had before. */
function namedBy(patch: JsonObject, refuse: Refuse): (resource: Resource) => boolean {
  const { name, namespace } = metadataOf(structuredClone(patch));
  if (typeof patch.kind !== 'string' || typeof name !== 'string' || typeof patch.apiVersion !== 'string')
    throw refuse('the patch needs apiVersion, kind and metadata.name, or a target');
  return (resource) =>
    kindOfResource(resource) === patch.kind &&
    groupOfResource(resource) === groupOf(String(patch.apiVersion)) &&
    namesOf(resource).some((known) => known.name === name && (namespace === undefined || known.namespace === namespace));
}

function nameIn({ kind, metadata }: JsonObject): string {
  return `${String(kind)} "${String((metadata as JsonObject).name)}"`;
}

function readTarget(target: Json | undefined, refuse: Refuse): ((resource: Resource) => boolean) | undefined {
  if (target === undefined || target === null) return undefined;
  if (!isJsonObject(target)) throw refuse('target: expected an object');
  const told: Refuse = (why) => refuse(`target: ${why}`);
  checkMembers(target, targetMembers, told);
  const [group, version, kind, name, namespace] = ['group', 'version', 'kind', 'name', 'namespace'].map((key) =>
    pattern(textIn(target, key, told), key, told),
  );
  const [labels, annotations] = ['labelSelector', 'annotationSelector'].map((key) =>
    selector(textIn(target, key, told), key, told),
  );
  return (resource) => {
    const apiVersion = String(resource.json.apiVersion);
    const of = metadataOf(resource.json).annotations;
    return (
      group!(groupOf(apiVersion)) &&
      version!(apiVersion.slice(apiVersion.indexOf('/') + 1)) &&
      kind!(kindOfResource(resource)) &&
      namesOf(resource).some((known) => name!(known.name) && namespace!(known.namespace)) &&
      labels!(labelsOf(resource.json)) &&
      annotations!(isJsonObject(of) ? (of as Record<string, string>) : {})
    );
  };
}

/** Longer ones are no names, and could run long. */
const longestPattern = 253;
const mostRepeats = 3;

/** Regular expressions that have to match as a whole. */
function pattern(text: string | undefined, key: string, refuse: Refuse): (value: string) => boolean {
  if (text === undefined || text === '') return () => true;
  // Of an expression, only what names need: repeated groups, and many repeats in a row, could take for ever.
  if (text.length > longestPattern || /\)[*+?{]|\\\d|\(\?/.test(text) || text.split(/[*+?{]/).length > mostRepeats + 1)
    throw refuse(`${key}: "${text.slice(0, longestPattern)}" is no simple pattern: use letters, ".", "*", "|" and "[...]"`);
  try {
    const expression = new RegExp(`^(?:${text})$`);
    return (value) => expression.test(value);
  } catch (error) {
    throw refuse(`${key}: ${(error as Error).message}`);
  }
}

function selector(text: string | undefined, key: string, refuse: Refuse): (labels: Record<string, string>) => boolean {
  if (text === undefined) return () => true;
  try {
    const matcher = parseLabelSelector(text);
    return (labels) => matcher.matches(labels);
  } catch (error) {
    throw badRequest(refuse(`${key}: ${(error as Error).message}`).message);
  }
}
