import { type FieldSupportTable, warned } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a CSINode, which it only stores. */
export const csiNodeFields: FieldSupportTable = {
  ...metadataFields,
  spec: warned('agents call no CSI drivers; volumes are folders of nodes, or made by a provisioner of your own'),
};
