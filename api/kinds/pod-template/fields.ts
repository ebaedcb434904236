import { type FieldSupport, type FieldSupportTable, refused, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';
import { podFields } from '../pod/fields.ts';

const ownMetadata = ['labels', 'annotations', 'finalizers[]'];
const notTaken = warned('pods get the labels, annotations and finalizers of their template, and nothing else of its metadata');
export const noEphemeral = 'ephemeral containers not allowed in pod template';

/** Why the pods of a controller that keeps them running may have no deadline. */
export const noDeadline = (controller: string): string => `activeDeadlineSeconds in ${controller} is not Supported`;

/**
 * What Berth does with each field of a template at a path: what it does with those of a pod. `controller` is the kind
 * that keeps the pods running, if one does.
 */
export function templateFields(at: string, controller?: string): FieldSupportTable {
  const table: Record<string, FieldSupport> = {};
  for (const path of Object.keys(metadataFields)) {
    const name = path.replace('metadata.', '');
    table[`${at}.${path}`] = ownMetadata.includes(name) ? works : notTaken;
  }
  for (const [path, support] of Object.entries(podFields))
    if (path.startsWith('spec.') && !path.startsWith('spec.ephemeralContainers[]')) table[`${at}.${path}`] = support;
  table[`${at}.spec.ephemeralContainers[]`] = refused(noEphemeral);
  if (controller !== undefined) table[`${at}.spec.activeDeadlineSeconds`] = refused(noDeadline(controller));
  return table;
}

const podTemplateAt = 'template';

/** What Berth does with each field of a PodTemplate. */
export const podTemplateFields: FieldSupportTable = { ...metadataFields, ...templateFields(podTemplateAt) };
