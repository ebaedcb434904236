import type { FieldViolation } from '../../api/errors/index.ts';
import { saysIntOrString } from './read-rules.ts';
import type { NestedRules, SchemaNode, ValueRules } from './schema-node.ts';
import { forbiddenAt, invalidAt, requiredAt } from './schema-violations.ts';

const ALTERNATIVES = ['allOf', 'anyOf', 'oneOf'] as const;

/** Checks what makes a schema structural, as Kubernetes defines it: of each level, and of how levels go together. */
export function checkStructure(root: SchemaNode, path: string): FieldViolation[] {
  const violations: FieldViolation[] = [];
  if (root.type === undefined) violations.push(requiredAt(`${path}.type`, 'must not be empty at the root'));
  else if (root.type !== 'object') violations.push(invalidAt(`${path}.type`, root.type, 'must be object at the root'));
  if (root.nullable) violations.push(forbiddenAt(`${path}.nullable`, 'nullable cannot be true at the root'));
  if (root.additionalProperties !== undefined)
    violations.push(forbiddenAt(`${path}.additionalProperties`, 'must not be used at the root: list the properties'));
  checkLevel(root, path, { violations, isResource: true, where: 'at the root' });
  return violations;
}

interface Checked {
  readonly violations: FieldViolation[];
  /** The level is a resource: the object itself, or an embedded one. */
  readonly isResource: boolean;
  readonly where: string;
}

function checkLevel(node: SchemaNode, path: string, { violations, isResource, where }: Checked): void {
  checkType(node, path, violations, where);
  if (node.embeddedResource) checkEmbedded(node, path, violations);
  if (isResource || node.embeddedResource) checkMetadata(node, path, violations);
  checkListType(node, path, violations);
  if (node.mapType !== undefined && node.type !== 'object')
    violations.push(invalidAt(`${path}.type`, node.type ?? '', 'must be object if x-kubernetes-map-type is specified'));
  checkNested(node, node, path, violations);
  for (const [name, inner] of node.properties ?? [])
    checkLevel(inner, `${path}.properties[${name}]`, {
      violations,
      isResource: false,
      where: 'for specified object fields',
    });
  const { additionalProperties: values, items } = node;
  if (values !== undefined && values !== true)
    checkLevel(values, `${path}.additionalProperties`, { violations, isResource: false, where: 'for specified object fields' });
  if (items !== undefined)
    checkLevel(items, `${path}.items`, { violations, isResource: false, where: 'for specified array items' });
}

function checkType(node: SchemaNode, path: string, violations: FieldViolation[], where: string): void {
  const { type } = node;
  if (node.intOrString) {
    if (type !== undefined)
      violations.push(invalidAt(`${path}.type`, type, 'must be empty if x-kubernetes-int-or-string is true'));
  } else if (type === undefined && !node.preserveUnknownFields && where !== 'at the root')
    violations.push(requiredAt(`${path}.type`, `must not be empty ${where}`));
  if (type === 'array' && node.items === undefined) violations.push(requiredAt(`${path}.items`, 'must be specified'));
}

function checkEmbedded(node: SchemaNode, path: string, violations: FieldViolation[]): void {
  if (node.type !== 'object')
    violations.push(invalidAt(`${path}.type`, node.type ?? '', 'must be object if x-kubernetes-embedded-resource is true'));
  if (!node.properties?.size && !node.preserveUnknownFields) {
    const why = 'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    violations.push(requiredAt(`${path}.properties`, why));
  }
  if (node.additionalProperties !== undefined)
    violations.push(forbiddenAt(`${path}.additionalProperties`, 'must not be used if x-kubernetes-embedded-resource is set'));
}

const METADATA_MEMBERS = new Set(['name', 'generateName']);

function checkMetadata(node: SchemaNode, path: string, violations: FieldViolation[]): void {
  for (const name of ['apiVersion', 'kind']) {
    const at = `${path}.properties[${name}]`;
    const type = node.properties?.get(name)?.type;
    if (type !== undefined && type !== 'string') violations.push(invalidAt(`${at}.type`, type, 'must be string'));
  }
  const metadata = node.properties?.get('metadata');
  if (metadata === undefined) return;
  const at = `${path}.properties[metadata]`;
  if (metadata.type !== undefined && metadata.type !== 'object')
    violations.push(invalidAt(`${at}.type`, metadata.type, 'must be object'));
  const others = [...(metadata.properties?.keys() ?? [])].filter((name) => !METADATA_MEMBERS.has(name));
  if (others.length > 0 || metadata.additionalProperties !== undefined || metadata.preserveUnknownFields)
    violations.push(
      forbiddenAt(at, 'must not specify anything other than name and generateName, but metadata is implicitly specified'),
    );
  for (const inner of [metadata, ...(metadata.properties?.values() ?? [])])
    if (inner.default !== undefined) violations.push(forbiddenAt(`${at}.default`, 'must not be set inside of metadata'));
}

function checkListType(node: SchemaNode, path: string, violations: FieldViolation[]): void {
  const { listType, listMapKeys: keys, items } = node;
  const at = `${path}.x-kubernetes-list-map-keys`;
  if (keys !== undefined && listType !== 'map')
    violations.push(forbiddenAt(at, 'must be specified only if x-kubernetes-list-type is map'));
  if (listType === undefined) return;
  if (node.type !== 'array')
    violations.push(invalidAt(`${path}.type`, node.type ?? '', 'must be array if x-kubernetes-list-type is specified'));
  if (listType === 'set' && items !== undefined) checkSetItems(items, `${path}.items`, violations);
  if (listType !== 'map') return;
  if (!keys?.length) violations.push(requiredAt(at, 'must not be empty if x-kubernetes-list-type is map'));
  if (keys !== undefined && new Set(keys).size < keys.length) violations.push(invalidAt(at, keys, 'must not name a key twice'));
  if (items?.type !== 'object') {
    violations.push(invalidAt(`${path}.items.type`, items?.type ?? '', 'must be object if parent x-kubernetes-list-type is map'));
    return;
  }
  if (items.nullable)
    violations.push(forbiddenAt(`${path}.items.nullable`, 'cannot be nullable when x-kubernetes-list-type is map'));
  for (const key of keys ?? []) checkMapKey(items, key, `${path}.items`, violations);
}

function checkSetItems(items: SchemaNode, path: string, violations: FieldViolation[]): void {
  if (items.nullable) violations.push(forbiddenAt(`${path}.nullable`, 'cannot be nullable when x-kubernetes-list-type is set'));
  if (items.type === 'object' && items.mapType !== 'atomic')
    violations.push(
      invalidAt(
        `${path}.x-kubernetes-map-type`,
        items.mapType ?? '',
        'must be atomic as item of a list with x-kubernetes-list-type=set',
      ),
    );
  if (items.type === 'array' && items.listType !== undefined && items.listType !== 'atomic')
    violations.push(
      invalidAt(
        `${path}.x-kubernetes-list-type`,
        items.listType,
        'must be atomic as item of a list with x-kubernetes-list-type=set',
      ),
    );
}

function checkMapKey(items: SchemaNode, key: string, path: string, violations: FieldViolation[]): void {
  const property = items.properties?.get(key);
  const at = `${path}.properties[${key}]`;
  if (property === undefined) {
    violations.push(invalidAt(`${path}.properties`, key, `must have the property "${key}" of x-kubernetes-list-map-keys`));
    return;
  }
  if (property.type === 'object' || property.type === 'array')
    violations.push(
      invalidAt(`${at}.type`, property.type, 'must be a scalar type if parent array\'s x-kubernetes-list-type is "map"'),
    );
  if (property.nullable)
    violations.push(forbiddenAt(`${at}.nullable`, 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable'));
  if (property.default === undefined && !items.required?.includes(key)) {
    const why = 'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
    violations.push(requiredAt(`${at}.default`, why));
  }
}

/** Within allOf and so on: no types, and nothing about parts that the structure does not have. */
function checkNested(rules: ValueRules, node: SchemaNode, path: string, violations: FieldViolation[]): void {
  const mayType = rules === node && node.intOrString && saysIntOrString(node);
  for (const name of ALTERNATIVES)
    for (const [at, inner] of (rules[name] ?? []).entries())
      checkNestedLevel(inner, node, { path: `${path}.${name}[${at}]`, mayType, violations });
  if (rules.not !== undefined) checkNestedLevel(rules.not, node, { path: `${path}.not`, mayType: false, violations });
}

interface NestedLevel {
  readonly path: string;
  readonly mayType: boolean;
  readonly violations: FieldViolation[];
}

function checkNestedLevel(rules: NestedRules, node: SchemaNode, { path, mayType, violations }: NestedLevel): void {
  if (rules.type !== undefined && !mayType)
    violations.push(forbiddenAt(`${path}.type`, 'must be empty to be structural: move it out of allOf, anyOf, oneOf, not'));
  const of = (part: string) => `is used in ${path}, so it must be specified in the structure, too: ${part}`;
  for (const [name, inner] of rules.properties ?? []) {
    const matching = node.properties?.get(name) ?? (node.additionalProperties === true ? undefined : node.additionalProperties);
    const at = `${path}.properties[${name}]`;
    if (matching !== undefined) checkNestedLevel(inner, matching, { path: at, mayType: false, violations });
    else violations.push(requiredAt(at, of(`give "${name}" a schema in properties`)));
  }
  if (rules.items !== undefined) {
    if (node.items !== undefined)
      checkNestedLevel(rules.items, node.items, { path: `${path}.items`, mayType: false, violations });
    else violations.push(requiredAt(`${path}.items`, of('give items a schema')));
  }
  if (mayType && rules.anyOf !== undefined) {
    // allOf: [{ anyOf: [{ type: integer }, { type: string }] }], as Kubernetes lets generators write it.
    checkNested({ ...rules, anyOf: [] }, node, path, violations);
    return;
  }
  checkNested(rules, node, path, violations);
}
