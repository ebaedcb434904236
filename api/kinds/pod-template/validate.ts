import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, required } from '../../errors/violations.ts';
import type { PodSpec, PodTemplate, PodTemplateSpec, Volume } from '../../generated/types.ts';
import type { Violations } from '../checks.ts';
import { validateAnnotations, validateLabels } from '../metadata.ts';
import { podNotes } from '../pod/notes.ts';
import { checkNoPodLimits, validatePod } from '../pod/validate.ts';
import { noEphemeral } from './fields.ts';

/**
 * The rules of a template at a path: those of a pod. Defaults have run. `claims` names volumes that the template need
 * not list, because its controller adds them.
 */
export function checkTemplate(
  out: Violations,
  at: string,
  template: PodTemplateSpec | undefined,
  claims: readonly string[] = [],
): void {
  if (!template) {
    out.push(required(at));
    return;
  }
  const { labels, annotations } = template.metadata ?? {};
  if (labels) out.push(...validateLabels(`${at}.metadata.labels`, labels));
  if (annotations) out.push(...validateAnnotations(`${at}.metadata.annotations`, annotations));
  if (template.spec?.ephemeralContainers?.length) out.push(forbidden(`${at}.spec.ephemeralContainers[0]`, noEphemeral));
  const pod = { metadata: template.metadata ?? {}, spec: asOfPod(template.spec ?? {}, claims) };
  for (const violation of [...validatePod(pod), ...checkNoPodLimits(pod)])
    out.push({ ...violation, field: `${at}.${violation.field}` });
}

/** The spec that the pods have, as far as it is judged. */
function asOfPod({ ephemeralContainers: _, ...spec }: PodSpec, claims: readonly string[]): PodSpec {
  const listed = new Set(spec.volumes?.map(({ name }) => name));
  const added = [...new Set(claims)].filter((name) => name !== '' && !listed.has(name)).map(claimVolume);
  return added.length === 0 ? spec : { ...spec, volumes: [...(spec.volumes ?? []), ...added] };
}

const claimVolume = (name: string): Volume => ({ name, volumeSource: { persistentVolumeClaim: { claimName: name } } });

export function validatePodTemplate({ template }: PodTemplate): FieldViolation[] {
  const out: Violations = [];
  checkTemplate(out, 'template', template);
  return out;
}

/** What a client should be told of an accepted template besides the fields that Berth does not act on. */
export function templateNotes(at: string, template: PodTemplateSpec | undefined): string[] {
  const { metadata, spec = {} } = template ?? {};
  return podNotes({ ...(metadata && { metadata }), spec }).map((note) => `${at}.${note}`);
}
