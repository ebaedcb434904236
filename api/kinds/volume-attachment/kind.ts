import type { VolumeAttachment } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { startsWith } from '../first-status.ts';
import { defineKind } from '../kind.ts';
import { volumeAttachmentColumns } from './columns.ts';
import { volumeAttachmentFields } from './fields.ts';
import { validateVolumeAttachment, validateVolumeAttachmentStatus, validateVolumeAttachmentUpdate } from './validate.ts';

export const volumeAttachment = defineKind<VolumeAttachment>()({
  kind: 'VolumeAttachment',
  apiVersion: 'storage.k8s.io/v1',
  plural: 'volumeattachments',
  singular: 'volumeattachment',
  shortNames: [],
  namespaced: false,
  message: 'berth.storage.v1.VolumeAttachment',
  service: 'berth.storage.v1.VolumeAttachments',
  durability: 'synced',
  updateNeedsVersion: true,
  hasStatus: true,
  generation: 'nothing',
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateVolumeAttachment,
  validateUpdate: validateVolumeAttachmentUpdate,
  validateStatusUpdate: validateVolumeAttachmentStatus,
  warnings: fieldWarnings('berth.storage.v1.VolumeAttachment', volumeAttachmentFields),
  fields: volumeAttachmentFields,
  selectableFields: {},
  columns: volumeAttachmentColumns,
  lifecycle: { prepareForCreate: startsWith<VolumeAttachment>({ attached: false }) },
});
