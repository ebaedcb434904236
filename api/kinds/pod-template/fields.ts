import { type FieldSupport, type FieldSupportTable, refused, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';
import { podFields } from '../pod/fields.ts';

const copiedToPods = ['labels', 'annotations', 'finalizers[]'];
export const noEphemeral = 'ephemeral containers not allowed in pod template';

/** Why the pods of a controller that keeps them running may have no deadline. */
export const noDeadline = (controller: string): string => `activeDeadlineSeconds in ${controller} is not Supported`;

/** What Berth does with the fields of the metadata of a template at a path, of which only some are copied. */
export function templateMetadataFields(at: string, copied: readonly string[] = copiedToPods): FieldSupportTable {
  const names = copied.map((name) => name.replace('[]', '')).join(', ');
  const notCopied = warned(`what is made from a template has metadata of its own; copied are ${names}`);
  return Object.fromEntries(
    Object.keys(metadataFields).map((path) => [
      `${at}.${path}`,
      copied.includes(path.replace('metadata.', '')) ? works : notCopied,
    ]),
  );
}

/**
 * What Berth does with each field of a template at a path: what it does with those of a pod. `controller` is the kind
 * that keeps the pods running, if one does.
 */
export function templateFields(at: string, controller?: string): FieldSupportTable {
  const table: Record<string, FieldSupport> = { ...templateMetadataFields(at) };
  for (const [path, support] of Object.entries(podFields))
    if (path.startsWith('spec.') && !path.startsWith('spec.ephemeralContainers[]')) table[`${at}.${path}`] = support;
  table[`${at}.spec.ephemeralContainers[]`] = refused(noEphemeral);
  if (controller !== undefined) table[`${at}.spec.activeDeadlineSeconds`] = refused(noDeadline(controller));
  return table;
}

const podTemplateAt = 'template';

/** What Berth does with each field of a PodTemplate. */
export const podTemplateFields: FieldSupportTable = { ...metadataFields, ...templateFields(podTemplateAt) };
