import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue } from '../../errors/violations.ts';
import type { CertificateSigningRequest, CertificateSigningRequestCondition } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { validateConditions } from '../conditions.ts';
import type { Subresource } from '../kind.ts';

/** The decision of an approver, a subresource. */
export const approvalTypes: readonly string[] = ['Approved', 'Denied'];
/** With the signer's: what has such a condition keeps it. */
const finalTypes: readonly string[] = [...approvalTypes, 'Failed'];
/** What each condition of a request must say. */
export const conditionsNeed = ['type', 'status'] as const;

const conditionsOf = ({ status }: CertificateSigningRequest) => status?.conditions ?? [];
const approvalsOf = (request: CertificateSigningRequest) =>
  conditionsOf(request).filter(({ type }) => approvalTypes.includes(type ?? ''));

/** Whether the request was approved, and not denied as well. */
export function isApproved(request: CertificateSigningRequest): boolean {
  return approvalsOf(request).length > 0 && approvalsOf(request).every(({ type }) => type === 'Approved');
}

/** The condition that says that it will come to nothing. */
export function refusalOf(request: CertificateSigningRequest): CertificateSigningRequestCondition | undefined {
  return conditionsOf(request).find(({ type }) => type === 'Denied' || type === 'Failed');
}

/**
 * The subresource that approves and denies requests: takes the conditions that are sent, of any type, and what clients
 * may change of the metadata.
 */
export const certificateApproval: Subresource<CertificateSigningRequest> = {
  method: 'UpdateApproval',
  takesMetadata: true,
  take(sent, previous) {
    return { ...previous, status: { ...previous.status, conditions: conditionsOf(sent) } };
  },
  validate: (next, previous) => [...validateConditions(next.status, conditionsNeed), ...checkKept(next, previous)],
};

/** What was approved, denied or has failed stays so, and is not both of the first two. */
function checkKept(next: CertificateSigningRequest, previous: CertificateSigningRequest): FieldViolation[] {
  const types = conditionsOf(next).map(({ type = '' }) => type);
  if (types.includes('Approved') && types.includes('Denied'))
    return [invalidValue('status.conditions', types.join(', '), 'a request cannot be approved and denied')];
  const lost = conditionsOf(previous).find(({ type = '' }) => finalTypes.includes(type) && !types.includes(type));
  return lost ? [forbidden('status.conditions', `the condition "${lost.type}" cannot be taken away`)] : [];
}

/** The status subresource approves nothing. */
export function checkApprovalsUnchanged(next: CertificateSigningRequest, previous: CertificateSigningRequest): FieldViolation[] {
  if (equalValues(approvalsOf(next), approvalsOf(previous))) return [];
  return [forbidden('status.conditions', 'requests are approved and denied through their subresource "approval"')];
}
