import type { Condition, ObjectMeta } from '../../generated/types.ts';
import { type FieldSupportTable, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** The name of the one that the API server makes of its own range. */
export const ownServiceCidr = 'kubernetes';

const oneRange = `Services get addresses of the server's --service-cidr alone, which is the ServiceCIDR "${ownServiceCidr}"`;

/** Whether Services get addresses of the range, as the condition that it has from its creation on. */
export function readyCondition({ name, creationTimestamp }: ObjectMeta = {}): Condition {
  const said =
    name === ownServiceCidr
      ? { status: 'True', reason: 'InUse', message: 'Services get addresses of this range' }
      : { status: 'False', reason: 'NotInUse', message: oneRange };
  return { type: 'Ready', ...said, ...(creationTimestamp && { lastTransitionTime: creationTimestamp }) };
}

/** What Berth does with each field of a ServiceCIDR. */
export const serviceCidrFields: FieldSupportTable = {
  ...metadataFields,
  spec: warned(oneRange),
  status: works,
};
