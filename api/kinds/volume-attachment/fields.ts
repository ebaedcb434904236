import { type FieldSupportTable, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a VolumeAttachment, which it only stores. */
export const volumeAttachmentFields: FieldSupportTable = {
  ...metadataFields,
  spec: warned('agents attach no volumes; those that they mount are folders of nodes'),
  status: works,
};
