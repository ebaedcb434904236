import type { Field, Type } from 'protobufjs';

// What of the messages is one value to server-side apply although it has parts: Kubernetes' structType and mapType
// "atomic", which the published field table does not say.

/** Messages that are replaced as a whole. */
const ATOMIC_MESSAGES: ReadonlySet<string> = new Set([
  '.berth.autoscaling.v2.CrossVersionObjectReference',
  '.berth.core.v1.ConfigMapKeySelector',
  '.berth.core.v1.EndpointAddress',
  '.berth.core.v1.EndpointPort',
  '.berth.core.v1.FileKeySelector',
  '.berth.core.v1.LocalObjectReference',
  '.berth.core.v1.NodeSelector',
  '.berth.core.v1.NodeSelectorTerm',
  '.berth.core.v1.ObjectFieldSelector',
  '.berth.core.v1.ObjectReference',
  '.berth.core.v1.ResourceFieldSelector',
  '.berth.core.v1.ScopeSelector',
  '.berth.core.v1.ScopedResourceSelectorRequirement',
  '.berth.core.v1.SecretKeySelector',
  '.berth.core.v1.SecretReference',
  '.berth.core.v1.TopologySelectorTerm',
  '.berth.core.v1.TypedLocalObjectReference',
  '.berth.discovery.v1.EndpointPort',
  '.berth.meta.v1.LabelSelector',
  '.berth.meta.v1.OwnerReference',
  '.berth.rbac.v1.RoleRef',
  '.berth.rbac.v1.Subject',
]);

/** Fields that differ from their type: true for a map that is one value, false for a message that is none here. */
const EXCEPTIONS: Readonly<Record<string, boolean>> = {
  '.berth.core.v1.PersistentVolumeSpec.claimRef': false,
  '.berth.core.v1.PodSpec.nodeSelector': true,
  '.berth.core.v1.ReplicationControllerSpec.selector': true,
  '.berth.core.v1.ServiceSpec.selector': true,
  '.berth.node.v1.Scheduling.nodeSelector': true,
};

/** What a key of a list means that an item does not say, by the field that holds it. */
const KEY_DEFAULTS: Readonly<Record<string, string>> = {
  '.berth.core.v1.ContainerPort.protocol': 'TCP',
  '.berth.core.v1.ServicePort.protocol': 'TCP',
  '.berth.core.v1.LocalObjectReference.name': '',
};

/** Whether a field, or each item of it, is one value, as far as it has parts. */
export function isAtomicField(field: Field): boolean {
  const exception = EXCEPTIONS[field.fullName];
  if (exception !== undefined) return exception;
  return !field.map && ATOMIC_MESSAGES.has(field.resolve().resolvedType?.fullName ?? '');
}

/** The defaults of the keys of a list's items. */
export function keyDefaults(item: Type, keys: readonly string[]): Record<string, string> {
  const found = keys.map((key) => [key, KEY_DEFAULTS[`${item.fullName}.${key}`]] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** The names of all messages and fields above, which must exist. */
export const atomicNames: readonly string[] = [...ATOMIC_MESSAGES, ...Object.keys(EXCEPTIONS), ...Object.keys(KEY_DEFAULTS)];
