import { type FieldSupportTable, warned } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of an IngressClass. Which class is the default one stands in its annotations. */
export const ingressClassFields: FieldSupportTable = {
  ...metadataFields,
  spec: warned('Berth has no ingress controller, it takes one that runs in the cluster'),
};
