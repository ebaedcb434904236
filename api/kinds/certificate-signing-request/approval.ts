import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, notSupported } from '../../errors/violations.ts';
import type { CertificateSigningRequest, CertificateSigningRequestCondition } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { validateConditions } from '../conditions.ts';
import type { Subresource } from '../kind.ts';

/** The decision of an approver, a subresource. */
export const approvalTypes: readonly string[] = ['Approved', 'Denied'];

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

/** The subresource that approves and denies requests: takes these conditions of what is sent, and nothing else. */
export const certificateApproval: Subresource<CertificateSigningRequest> = {
  method: 'UpdateApproval',
  take(sent, previous) {
    const others = conditionsOf(previous).filter(({ type }) => !approvalTypes.includes(type ?? ''));
    const conditions = [...others, ...conditionsOf(sent).filter(({ type }) => !others.some((other) => other.type === type))];
    return { ...previous, status: { ...previous.status, conditions } };
  },
  validate(next, previous) {
    const out = [...validateConditions(next.status), ...checkKept(next, previous)];
    const before = conditionsOf(previous);
    for (const [i, { type = '' }] of conditionsOf(next).entries()) {
      if (!approvalTypes.includes(type) && !before.some((other) => other.type === type))
        out.push(notSupported(`status.conditions[${i}].type`, type, approvalTypes));
    }
    return out;
  },
};

/** What was approved or denied stays so, and is not both. */
function checkKept(next: CertificateSigningRequest, previous: CertificateSigningRequest): FieldViolation[] {
  const [is, was] = [approvalsOf(next), approvalsOf(previous)];
  const types = is.map(({ type }) => type);
  if (types.includes('Approved') && types.includes('Denied'))
    return [invalidValue('status.conditions', types.join(', '), 'a request cannot be approved and denied')];
  const lost = was.find((old) => !is.some((each) => each.type === old.type));
  return lost ? [forbidden('status.conditions', `the condition "${lost.type}" cannot be taken away`)] : [];
}

/** The status subresource approves nothing. */
export function checkApprovalsUnchanged(next: CertificateSigningRequest, previous: CertificateSigningRequest): FieldViolation[] {
  if (equalValues(approvalsOf(next), approvalsOf(previous))) return [];
  return [forbidden('status.conditions', 'requests are approved and denied through their subresource "approval"')];
}
