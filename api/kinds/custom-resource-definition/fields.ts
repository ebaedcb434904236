import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a CustomResourceDefinition. */
export const customResourceDefinitionFields: FieldSupportTable = {
  ...metadataFields,
  'spec.group': works,
  'spec.names': works,
  'spec.scope': works,
  'spec.versions[]': works,
  'spec.conversion.strategy': works,
  'spec.conversion.webhook': works,
  'spec.preserveUnknownFields': works,
  status: works,
};
