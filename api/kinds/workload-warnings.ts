import type { PodTemplateSpec } from '../generated/types.ts';
import { type FieldSupportTable, fieldWarnings } from './field-support.ts';
import { templateNotes } from './pod-template/validate.ts';

interface Workload {
  spec?: { readonly template?: PodTemplateSpec };
}

/** The warnings of a kind that keeps pods running: of its own fields, and of those of its template. */
export function workloadWarnings(messageName: string, table: FieldSupportTable): (object: Workload) => string[] {
  const fieldsNotActedOn = fieldWarnings(messageName, table);
  return (object) => [...fieldsNotActedOn(object), ...templateNotes('spec.template', object.spec?.template)];
}
