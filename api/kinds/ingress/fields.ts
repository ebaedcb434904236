import { type FieldSupportTable, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** What Berth does with each field of an Ingress. */
export const ingressFields: FieldSupportTable = {
  ...metadataFields,
  spec: warned(
    'Berth has no ingress controller, it takes one that runs in the cluster; a Service of type NodePort works without ' +
      'one, and of type LoadBalancer with --load-balancer-addresses',
  ),
  status: works,
};
