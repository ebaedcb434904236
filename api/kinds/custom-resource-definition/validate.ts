import type { FieldViolation } from '../../errors/api-error.ts';
import { duplicate, forbidden, invalidValue, required } from '../../errors/violations.ts';
import type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
} from '../../generated/types.ts';
import { parsePath } from '../../jsonpath/parse.ts';
import { labelNameError, subdomainNameError } from '../../meta/names.ts';
import { checkOneOf, checkRequired, checkRule, type Violations } from '../checks.ts';
import { plainPath } from '../custom/plain-path.ts';
import { checkFieldSupport, lazyFieldSupport } from '../field-support.ts';
import { checkClientConfig } from '../webhooks.ts';
import { customResourceDefinitionFields } from './fields.ts';
import { conversionReviewVersions as known } from './meaning.ts';

const support = lazyFieldSupport('berth.apiextensions.v1.CustomResourceDefinition', customResourceDefinitionFields);

/** Kubernetes' bounds. */
const mostSelectableFields = 8;
const columnTypes = ['integer', 'number', 'string', 'boolean', 'date'];
const columnFormats = ['int32', 'int64', 'float', 'double', 'byte', 'date', 'date-time', 'password'];
/** Names of versions by which Kubernetes orders them, and any other label. */
const versionRule = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

export function validateCustomResourceDefinition(definition: CustomResourceDefinition): FieldViolation[] {
  const out: Violations = [];
  const { metadata, spec = {} } = definition;
  const { group = '', names = {} } = spec;
  const wanted = `${names.plural ?? ''}.${group}`;
  if (metadata?.name && group && names.plural && metadata.name !== wanted)
    out.push(invalidValue('metadata.name', metadata.name, `must be spec.names.plural+"."+spec.group, which is "${wanted}"`));
  checkGroup(out, group);
  checkOneOf(out, 'spec', '.scope', spec.scope, ['Namespaced', 'Cluster']);
  checkNames(out, names);
  checkVersions(out, spec);
  checkConversion(out, spec.conversion);
  if (spec.preserveUnknownFields)
    out.push(
      invalidValue('spec.preserveUnknownFields', true, 'must be false: set x-kubernetes-preserve-unknown-fields in the schema'),
    );
  return [...out, ...checkFieldSupport(support(), definition).violations];
}

function checkConversion(out: Violations, { strategy, webhook }: CustomResourceConversion = {}): void {
  const at = 'spec.conversion';
  checkOneOf(out, at, '.strategy', strategy, ['None', 'Webhook']);
  if (strategy !== 'Webhook') {
    if (webhook) out.push(forbidden(`${at}.webhook`, 'should not be set when strategy is not set to Webhook'));
    return;
  }
  const { clientConfig, conversionReviewVersions = [] } = webhook ?? {};
  if (!clientConfig) out.push(required(`${at}.webhook.clientConfig`, 'required when strategy is set to Webhook'));
  else checkClientConfig(out, `${at}.webhook.clientConfig`, clientConfig);
  checkReviewVersions(out, `${at}.webhook.conversionReviewVersions`, conversionReviewVersions);
}

function checkReviewVersions(out: Violations, at: string, versions: readonly string[]): void {
  if (versions.length === 0) out.push(required(at, `one of ${known.join(', ')} at least`));
  for (const [i, version] of versions.entries()) {
    checkRule(out, at, `[${i}]`, version, labelNameError(version));
    if (versions.indexOf(version) < i) out.push(duplicate(`${at}[${i}]`, version));
  }
  if (versions.length > 0 && !versions.some((version) => known.includes(version)))
    out.push(invalidValue(at, versions.join(', '), `must include at least one of ${known.join(', ')}`));
}

function checkGroup(out: Violations, group: string): void {
  checkRequired(out, 'spec', '.group', group);
  if (!group) return;
  checkRule(out, 'spec', '.group', group, subdomainNameError(group));
  if (!group.includes('.')) out.push(invalidValue('spec.group', group, 'must be a domain with at least one dot'));
}

function checkNames(out: Violations, names: CustomResourceDefinitionNames): void {
  const at = 'spec.names';
  const { plural, singular, kind, listKind, shortNames = [], categories = [] } = names;
  for (const [field, name] of Object.entries({ plural, singular, kind, listKind })) {
    checkRequired(out, at, `.${field}`, name);
    if (name) checkRule(out, at, `.${field}`, name, labelNameError(field.endsWith('ind') ? name.toLowerCase() : name));
  }
  if (kind && kind === listKind) out.push(invalidValue(`${at}.listKind`, listKind, 'must not be the same as kind'));
  for (const [i, name] of shortNames.entries()) checkRule(out, at, `.shortNames[${i}]`, name, labelNameError(name));
  for (const [i, name] of categories.entries()) checkRule(out, at, `.categories[${i}]`, name, labelNameError(name));
}

function checkVersions(out: Violations, { versions = [] }: CustomResourceDefinitionSpec): void {
  if (versions.length === 0) out.push(required('spec.versions', 'at least one'));
  const stored = versions.filter(({ storage }) => storage).length;
  if (versions.length > 0 && stored !== 1)
    out.push(invalidValue('spec.versions', stored, 'exactly one version must have storage: true'));
  versions.forEach((version, i) => {
    const at = `spec.versions[${i}]`;
    const { name = '' } = version;
    const isUsable = versionRule.test(name) && name.length <= 63;
    checkRequired(out, at, '.name', name);
    if (name && !isUsable) out.push(invalidValue(`${at}.name`, name, 'must be a version as "v1", in small letters'));
    if (versions.findIndex((each) => each.name === name) < i) out.push(duplicate(`${at}.name`, name));
    checkVersion(out, at, version);
  });
}

function checkVersion(out: Violations, at: string, version: CustomResourceDefinitionVersion): void {
  const { schema, subresources, additionalPrinterColumns = [], deprecated, deprecationWarning } = version;
  if (!schema?.openAPIV3Schema?.raw) out.push(required(`${at}.schema.openAPIV3Schema`, 'schemas are required'));
  if (deprecationWarning !== undefined) checkDeprecation(out, at, deprecationWarning, deprecated);
  if (subresources?.scale) checkScale(out, `${at}.subresources.scale`, subresources.scale);
  additionalPrinterColumns.forEach(({ name, type, format, jsonPath = '' }, i) => {
    const column = `${at}.additionalPrinterColumns[${i}]`;
    checkRequired(out, column, '.name', name);
    checkOneOf(out, column, '.type', type, columnTypes);
    if (format) checkOneOf(out, column, '.format', format, columnFormats);
    checkRequired(out, column, '.jsonPath', jsonPath);
    if (jsonPath) checkRule(out, column, '.jsonPath', jsonPath, jsonPathError(jsonPath));
  });
  checkSelectable(out, `${at}.selectableFields`, version);
}

function checkDeprecation(out: Violations, at: string, text: string, deprecated: boolean | undefined): void {
  const field = `${at}.deprecationWarning`;
  if (!deprecated) out.push(invalidValue(field, text, 'can only be set for deprecated versions'));
  if (text === '' || Buffer.byteLength(text) > 256 || /\p{C}/u.test(text))
    out.push(invalidValue(field, text, 'must be 1 to 256 bytes of printable characters'));
}

function checkScale(out: Violations, at: string, scale: CustomResourceSubresourceScale): void {
  const paths = [
    ['specReplicasPath', ['spec']],
    ['statusReplicasPath', ['status']],
    ['labelSelectorPath', ['status', 'spec']],
  ] as const;
  for (const [name, below] of paths) {
    const path = scale[name];
    if (name !== 'labelSelectorPath') checkRequired(out, at, `.${name}`, path);
    if (typeof path !== 'string' || path === '') continue;
    const steps = plainPath(path);
    if (!steps || steps.length < 2 || !(below as readonly string[]).includes(steps[0] ?? ''))
      out.push(invalidValue(`${at}.${name}`, path, `must be a path of fields below .${below.join(' or .')}`));
  }
}

function checkSelectable(out: Violations, at: string, { selectableFields = [] }: CustomResourceDefinitionVersion): void {
  if (selectableFields.length > mostSelectableFields)
    out.push(invalidValue(at, selectableFields.length, `must have at most ${mostSelectableFields} items`));
  selectableFields.forEach(({ jsonPath = '' }, i) => {
    const field = `${at}[${i}].jsonPath`;
    const steps = plainPath(jsonPath);
    if (!jsonPath) out.push(required(field));
    else if (!steps) out.push(invalidValue(field, jsonPath, 'must be a path of plain fields, as ".spec.color"'));
    else if (steps[0] === 'metadata') out.push(invalidValue(field, jsonPath, 'must not point to fields in metadata'));
    if (selectableFields.findIndex((each) => each.jsonPath === jsonPath) < i) out.push(duplicate(field, jsonPath));
  });
}

function jsonPathError(path: string): string | undefined {
  try {
    parsePath(path);
    return undefined;
  } catch (error) {
    return `is no JSONPath: ${(error as Error).message}`;
  }
}
