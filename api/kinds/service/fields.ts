import { type FieldSupportTable, warnedInPart, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a Service: it gives addresses and ports, and keeps endpoints. */
export const serviceFields: FieldSupportTable = {
  ...metadataFields,
  spec: warnedInPart(
    'a Service has its address, node ports and endpoints, but nothing answers at the address yet, and its name does not ' +
      'resolve: a later version carries its connections',
  ),
  status: works,
};
