import { type FieldSupportTable, warnedInPart, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of a Service: nodes with the routed network carry it. */
export const serviceFields: FieldSupportTable = {
  ...metadataFields,
  spec: warnedInPart(
    "nodes with --pod-network routed carry a Service's connections and answer its name; nodes with the engine's network " +
      'do not',
  ),
  status: works,
};
