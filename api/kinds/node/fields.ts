import { type FieldSupportTable, refused, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/**
 * What Berth does with each field of a Node that a client may send. Warnings are worked out on the object as the client
 * sent it, before defaults. Status is kept as the agent writes it. test/conformance/proto-fields.test.ts holds the
 * table to the proto.
 */
export const nodeFields: FieldSupportTable = {
  ...metadataFields,
  'spec.unschedulable': works,
  'spec.taints[]': works,
  'spec.podCIDR': works,
  'spec.podCIDRs[]': works,
  'spec.providerID': warned('no cloud is asked about its machines; the identifier is only kept'),
  'spec.externalID': warned('nothing reads it; Kubernetes no longer does either'),
  'spec.configSource': refused('an agent takes its settings from its command line, never from a ConfigMap'),
  status: works,
};
