import { forbidden } from '../../errors/violations.ts';
import type { PodTemplateSpec } from '../../generated/types.ts';
import type { Violations } from '../checks.ts';
import { type FieldSupportTable, refused, warned, works } from '../field-support.ts';
import { validateAnnotations, validateLabels } from '../metadata.ts';
import { metadataFields } from '../metadata-fields.ts';
import { defaultPodSpec } from '../pod/defaults.ts';
import { podFields } from '../pod/fields.ts';
import { checkNoPodLimits, podValueWarnings, validatePod } from '../pod/validate.ts';

// What all kinds do alike that hold a template of pods. `path` is where it stands: "spec.template".

/** The defaults of a pod's spec, without those that only a pod gets. */
export function defaultTemplate(template: PodTemplateSpec): void {
  template.spec ??= {};
  defaultPodSpec(template.spec);
}

const noEphemeral = 'ephemeral containers are not allowed in a template';

/** The rules of pods. Defaults have run. */
export function checkTemplate(out: Violations, path: string, template: PodTemplateSpec | undefined): void {
  const { metadata = {}, spec = {} } = template ?? {};
  if (metadata.labels) out.push(...validateLabels(`${path}.metadata.labels`, metadata.labels));
  if (metadata.annotations) out.push(...validateAnnotations(`${path}.metadata.annotations`, metadata.annotations));
  for (const violation of [...validatePod({ spec }), ...checkNoPodLimits({ spec })])
    out.push({ ...violation, field: `${path}.${violation.field}` });
  spec.ephemeralContainers?.forEach((_, i) => {
    out.push(forbidden(`${path}.spec.ephemeralContainers[${i}]`, noEphemeral));
  });
}

/** The warnings of pods that a field table cannot give. */
export function templateWarnings(path: string, template: PodTemplateSpec | undefined): string[] {
  const { spec } = template ?? {};
  return spec ? podValueWarnings({ spec }).map((warning) => `${path}.${warning}`) : [];
}

const COPIED = ['labels', 'annotations', 'finalizers[]'];

/** What Berth does with the fields of the metadata of a template, of which only some are copied. */
export function templateMetadataFields(path: string, names: readonly string[] = COPIED): FieldSupportTable {
  const copied = names.map((name) => `metadata.${name}`);
  const notCopied = warned(`what is made from a template has metadata of its own; copied are ${names.join(', ')}`);
  const fields = Object.keys(metadataFields).map((field) => [field, copied.includes(field) ? works : notCopied] as const);
  return Object.fromEntries(fields.map(([field, support]) => [`${path}.${field}`, support]));
}

/** What Berth does with the fields of a template: what it does with those of a pod. */
export function templateFields(path: string): FieldSupportTable {
  const ephemeral = 'spec.ephemeralContainers[]';
  const ofPods = Object.entries(podFields).filter(([field]) => field.startsWith('spec.') && !field.startsWith(ephemeral));
  return {
    ...templateMetadataFields(path),
    ...Object.fromEntries(ofPods.map(([field, support]) => [`${path}.${field}`, support])),
    [`${path}.${ephemeral}`]: refused(noEphemeral),
  };
}
