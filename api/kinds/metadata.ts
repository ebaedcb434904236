import { openMessage } from '../codec/open-message.ts';
import type { FieldViolation } from '../errors/api-error.ts';
import { forbidden, invalidValue, required, tooLong } from '../errors/violations.ts';
import type { ObjectMeta } from '../generated/types.ts';
import {
  ipNameError,
  labelNameError,
  labelValueError,
  pathNameError,
  qualifiedNameError,
  subdomainNameError,
} from '../meta/names.ts';
import { finalizers } from '../meta/well-known.ts';
import type { Kind } from './kind.ts';

/** All annotations of an object together, as in Kubernetes. */
const ANNOTATIONS_MAX_BYTES = 256 * 1024;

const nameRules = {
  label: labelNameError,
  subdomain: subdomainNameError,
  path: pathNameError,
  ip: ipNameError,
} satisfies Record<Kind['nameRule'], (name: string) => string | undefined>;

/** Whether a name may be an object's name by the kind's rule; undefined when it may, else the rule. */
export function nameError(kind: Pick<Kind, 'nameRule'>, name: string): string | undefined {
  return nameRules[kind.nameRule](name);
}

/** Every rule that an object's metadata breaks, after generateName was resolved. For the registry, of all kinds. */
export function validateMetadata(
  kind: Pick<Kind, 'nameRule' | 'namespaced'> & Partial<Pick<Kind, 'message'>>,
  meta: ObjectMeta | undefined,
): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const { name, namespace, labels, annotations } = meta ?? {};
  const prefixRule = meta?.generateName ? generateNameError(kind, meta.generateName) : undefined;
  if (prefixRule) violations.push(invalidValue('metadata.generateName', meta?.generateName, prefixRule));
  else if (!name) violations.push(required('metadata.name', 'name or generateName must be given'));
  else pushRule(violations, 'metadata.name', name, nameError(kind, name));
  if (kind.namespaced && !namespace) violations.push(required('metadata.namespace'));
  else if (namespace && !kind.namespaced) violations.push(forbidden('metadata.namespace', 'the kind has no namespaces'));
  else if (namespace) pushRule(violations, 'metadata.namespace', namespace, labelNameError(namespace));
  if (labels) violations.push(...validateLabels('metadata.labels', labels));
  if (annotations) violations.push(...validateAnnotations('metadata.annotations', annotations));
  if (meta?.ownerReferences) violations.push(...validateOwners(meta));
  const ownedBy = kind.message === openMessage ? 'anything' : 'domains';
  if (meta?.finalizers) violations.push(...validateFinalizers('metadata.finalizers', meta.finalizers, ownedBy));
  return violations;
}

/** A prefix may end with a dash: what is drawn comes behind it. */
function generateNameError(kind: Pick<Kind, 'nameRule'>, prefix: string): string | undefined {
  if (kind.nameRule === 'ip') return 'names of this kind are addresses, which are not generated: give metadata.name';
  return nameError(kind, prefix.replace(/-$/, 'a'));
}

/** What those finalizers are called that Kubernetes itself knows; all others say whose they are by a domain. */
const KNOWN_FINALIZERS: readonly string[] = Object.values(finalizers);

const isWithoutOwner = (finalizer: string): boolean => !finalizer.includes('/') && !KNOWN_FINALIZERS.includes(finalizer);

/**
 * The rules of finalizers, in the metadata of any kind and in the spec of a namespace. As in Kubernetes those of custom
 * objects may say no domain ("anything"): many operators' do not.
 */
export function validateFinalizers(
  field: string,
  names: readonly string[],
  ownedBy: 'domains' | 'anything' = 'domains',
): FieldViolation[] {
  const violations: FieldViolation[] = [];
  names.forEach((name, i) => {
    const rule = qualifiedNameError(name);
    if (rule) violations.push(invalidValue(`${field}[${i}]`, name, rule));
    else if (ownedBy === 'domains' && isWithoutOwner(name))
      violations.push(invalidValue(`${field}[${i}]`, name, 'must begin with the domain of its owner, as "example.com/name"'));
  });
  if (names.includes(finalizers.orphan) && names.includes(finalizers.foregroundDeletion))
    violations.push(invalidValue(field, names.join(', '), 'dependents are orphaned or waited for, not both'));
  return violations;
}

/** Warnings about the finalizers of a custom object that is created. */
export function finalizerWarnings({ finalizers: names = [] }: ObjectMeta = {}): string[] {
  const why =
    'prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers';
  return names.filter(isWithoutOwner).map((name) => `metadata.finalizers: ${JSON.stringify(name)}: ${why}`);
}

function pushRule(violations: FieldViolation[], field: string, value: string, rule: string | undefined): void {
  if (rule) violations.push(invalidValue(field, value, rule));
}

/** Keys and values of labels, wherever they stand. */
export function validateLabels(field: string, labels: Readonly<Record<string, string>>): FieldViolation[] {
  const violations: FieldViolation[] = [];
  for (const key of Object.keys(labels)) {
    pushRule(violations, `${field}[${key}]`, key, qualifiedNameError(key));
    pushRule(violations, `${field}[${key}]`, labels[key]!, labelValueError(labels[key]!));
  }
  return violations;
}

/** Keys and size of annotations, wherever they stand. */
export function validateAnnotations(field: string, annotations: Readonly<Record<string, string>>): FieldViolation[] {
  const violations: FieldViolation[] = [];
  let bytes = 0;
  for (const key of Object.keys(annotations)) {
    pushRule(violations, `${field}[${key}]`, key, qualifiedNameError(key.toLowerCase()));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key]!);
  }
  if (bytes > ANNOTATIONS_MAX_BYTES) violations.push(tooLong(field, ANNOTATIONS_MAX_BYTES, 'bytes'));
  return violations;
}

function validateOwners(meta: ObjectMeta): FieldViolation[] {
  const violations: FieldViolation[] = [];
  let controllers = 0;
  meta.ownerReferences?.forEach((owner, i) => {
    const at = `metadata.ownerReferences[${i}]`;
    for (const name of ['apiVersion', 'kind', 'name', 'uid'] as const)
      if (!owner[name]) violations.push(required(`${at}.${name}`));
    if (owner.kind === 'Event') violations.push(invalidValue(`${at}.kind`, owner.kind, 'an event owns nothing'));
    if (owner.controller && ++controllers === 2)
      violations.push(invalidValue(`${at}.controller`, true, 'only one owner may be the controller'));
  });
  return violations;
}
