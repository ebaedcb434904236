import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { schemaOfMember } from './defaults.ts';
import { entry, member, type Place, placeText } from './paths.ts';
import type { SchemaNode } from './schema-node.ts';

/** Paths of removed fields that are reported; more of them help no reader. */
const REPORTED_PATHS = 100;

/** What every resource has, whatever its schema says. */
export const RESOURCE_MEMBERS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** All that the metadata of an embedded resource may have: that of the resource itself is read by its message. */
const METADATA_MEMBERS: ReadonlySet<string> = new Set([
  ...['name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion', 'generation', 'creationTimestamp'],
  ...['deletionTimestamp', 'deletionGracePeriodSeconds', 'labels', 'annotations', 'ownerReferences', 'finalizers'],
  'managedFields',
]);

/** Removes the members of a resource, in place, that its schema does not know. Returns their paths. */
export function prune(object: JsonObject, root: SchemaNode): string[] {
  const removed: string[] = [];
  pruneMembers({ object, node: root, isResource: true, place: undefined }, removed);
  return removed;
}

interface Pruned {
  readonly object: JsonObject;
  readonly node: SchemaNode;
  readonly isResource: boolean;
  readonly place: Place | undefined;
}

function pruneMembers({ object, node, isResource, place }: Pruned, removed: string[]): void {
  for (const name of Object.keys(object)) {
    if (isResource && RESOURCE_MEMBERS.has(name)) {
      if (name === 'metadata' && place !== undefined) pruneMetadata(object[name]!, member(place, name), removed);
      continue;
    }
    const inner = schemaOfMember(node, name);
    const isProperty = node.properties?.has(name) === true;
    const at = isProperty || inner === undefined ? member(place, name) : entry(place, name);
    if (inner !== undefined) pruneValue(object[name]!, inner, at, removed);
    else if (!node.preserveUnknownFields && node.additionalProperties !== true) drop(object, name, at, removed);
  }
}

/** As Kubernetes reads it, also where the resource keeps unknown fields. */
function pruneMetadata(metadata: Json, place: Place, removed: string[]): void {
  if (!isJsonObject(metadata)) return;
  for (const name of Object.keys(metadata)) if (!METADATA_MEMBERS.has(name)) drop(metadata, name, member(place, name), removed);
}

function drop(object: JsonObject, name: string, place: Place, removed: string[]): void {
  delete object[name];
  if (removed.length < REPORTED_PATHS) removed.push(placeText(place));
}

function pruneValue(value: Json, node: SchemaNode, place: Place, removed: string[]): void {
  if (isJsonObject(value)) pruneMembers({ object: value, node, isResource: node.embeddedResource, place }, removed);
  else if (Array.isArray(value) && node.items !== undefined)
    for (let at = 0; at < value.length; at++) pruneValue(value[at]!, node.items, entry(place, at), removed);
}
